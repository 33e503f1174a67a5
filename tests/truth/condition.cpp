/* std::condition_variable waits within the C++ library. Clean everywhere. */
#include "truth.h"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::condition_variable changed;
static uint64_t written, committed;

static void set(uint64_t &what, uint64_t n) {
    {
        std::lock_guard<std::mutex> held(lock);
        what = n;
    }
    changed.notify_all();
}

static void writer(struct log *log) {
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n);
        persist(&log->entry[n - 1], 8);
        set(written, n);
        std::unique_lock<std::mutex> held(lock);
        changed.wait(held, [n] { return committed == n; });
    }
}

static void committer(struct log *log) {
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        {
            std::unique_lock<std::mutex> held(lock);
            changed.wait_for(held, std::chrono::minutes(1), [n] { return written == n; });
        }
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
        set(committed, n);
    }
}

static void work(const char *file) {
    auto *log = static_cast<struct log *>(fresh(file, PAGE));
    std::thread one(writer, log), other(committer, log);
    one.join();
    other.join();
}

static void check(const char *file, uint64_t acknowledged) {
    check_log(static_cast<const struct log *>(found(file, sizeof(struct log))), acknowledged);
}

PROGRAM
