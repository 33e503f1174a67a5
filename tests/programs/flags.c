/* Prints a number that depends on flags kept over blocks, tables of jumps, red zones and inline assembly. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned __int128 wide;

static __attribute__((noinline)) wide mix(wide a, wide b, unsigned n) {
    while (n--) {
        wide c = a + b;
        if (c < a) c -= 77;
        uint64_t high;
        if (__builtin_add_overflow((uint64_t)c, (uint64_t)(b >> 64), &high)) a = c - b;
        else a = c ^ high;
        b = a > b ? b - (c >> 3) : b + (c << 5);
    }
    return a ^ b;
}

static __attribute__((noinline)) int order(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

static __attribute__((noinline)) uint64_t step(uint64_t state, const char *program) {
    for (;; program++) {
        switch (*program) {
        case 'a': state += state << 7; break;
        case 'b': state ^= state >> 9; break;
        case 'c': state = state & 1 ? state * 3 + 1 : state / 2; break;
        case 'd': state = (int64_t)state < 0 ? ~state : state - 5; break;
        case 'e': state = state > 1000 && state < 1ull << 60 ? state * 17 : state + 99; break;
        case 'f': state = __builtin_popcountll(state) > 31 ? state >> 1 : state << 1 | 1; break;
        case 'g': if (state % 3 == 0) continue; state++; break;
        case 0: return state;
        default: state = 0; break;
        }
    }
}

static __attribute__((noinline)) uint64_t assembly(uint64_t v) {
    unsigned char carry;
    uint64_t sum = v;
    __asm__("addq %2, %0" : "+r"(sum), "=@ccc"(carry) : "r"(v << 1));
    __asm__ volatile("movl $5, %%ecx\n1: rolq $3, %0\n\tdecl %%ecx\n\tjnz 1b" : "+r"(sum) : : "ecx");
    __asm__ goto("testq $64, %0\n\tjz %l[even]" : : "r"(sum) : "cc" : even);
    sum ^= 0x5555;
even:
    return carry ? sum + 1 : sum;
}

static __attribute__((noinline)) uint64_t chained(const uint64_t *words, int n) {
    uint64_t carry = 0, total = 0;
    for (int i = 0; i < n; i++) {
        uint64_t s = words[i] + carry;
        carry = s < carry;
        s += total;
        carry += s < total;
        total = s;
    }
    return total + carry;
}

int main(void) {
    static void *const WAYS[] = {&&add, &&subtract, &&rotate, &&end};
    int64_t words[64];
    uint64_t state = 88172645463325252ull;
    for (int i = 0; i < 64; i++) {
        state = step(state, "abcdefgfedcba" + i % 7);
        state ^= assembly(state + (uint64_t)i);
        words[i] = (int64_t)state;
    }
    qsort(words, 64, sizeof *words, order);
    wide w = mix(state, (wide)words[5] << 31, 1000) + chained((uint64_t *)words, 64);
    int at = 0;
    goto *WAYS[at];
add:
    w += words[at + 1];
    goto *WAYS[w & 1 ? 1 : 2];
subtract:
    w -= (wide)words[at + 2] << 17;
    goto *WAYS[++at < 50 ? w & 2 : 3];
rotate:
    w = w << 3 | w >> 125;
    goto *WAYS[++at < 50 ? (w & 4) / 4 : 3];
end:
    printf("%016llx%016llx\n", (unsigned long long)(w >> 64), (unsigned long long)w);
    return 0;
}
