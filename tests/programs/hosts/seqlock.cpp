/* A table under a sequence lock. BUG 1: data is not written back; 2: no fence; 3: the reader drops the number and not the data; 4: the even
 * number is not written back. */
#include "hosts.h"
#include <atomic>
struct Table {
    alignas(64) std::atomic<uint64_t> seq;
    alignas(64) uint64_t data[8];
};
static void write(Table &t, uint64_t n) {
    uint64_t s = t.seq.load(std::memory_order_relaxed);
    t.seq.store(s + 1, std::memory_order_release);
    persist(&t.seq, 8);
    for (auto &w : t.data) w = n;
#if BUG == 2
    flush(t.data, sizeof t.data);
#elif BUG != 1
    persist(t.data, sizeof t.data);
#endif
    t.seq.store(s + 2, std::memory_order_release);
#if BUG != 4
    persist(&t.seq, 8);
#endif
}
static bool read(Table &t, uint64_t (&out)[8], uint64_t &at) {
    invalidate(&t.seq, 8);
    uint64_t s = t.seq.load(std::memory_order_acquire);
    if (s & 1) return false;
#if BUG != 3
    invalidate(t.data, sizeof t.data);
#endif
    for (int i = 0; i < 8; i++) out[i] = t.data[i];
    invalidate(&t.seq, 8);
    at = s;
    return t.seq.load(std::memory_order_acquire) == s;
}
int main() {
    auto &t = *static_cast<Table *>(shared(sizeof(Table)));
    if (!fork()) {
        uint64_t out[8], at = 0, bad = 0;
        while (at < 40) {
            if (!read(t, out, at)) continue;
            for (auto w : out) bad += w != at / 2;
            usleep(30);
        }
        _exit(bad != 0);
    }
    usleep(1000);
    for (uint64_t n = 1; n <= 20; n++) { write(t, n); usleep(300); }
    int status;
    wait(&status);
    return status != 0;
}
