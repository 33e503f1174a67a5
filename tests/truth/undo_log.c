/* Two accounts whose sum is constant; the old value is durable in the undo log before the word changes. Clean
 * everywhere. */
#include "truth.h"

struct bank {
    struct cell account[2], old[2], logged;
};

static void work(const char *file) {
    struct bank *bank = fresh(file, PAGE);
    bank->account[0].word = 100;
    persist(bank, sizeof *bank);
    for (uint64_t n = 1; n <= 4; n++) {
        bank->old[0].word = bank->account[0].word;
        bank->old[1].word = bank->account[1].word;
        persist(bank->old, sizeof bank->old);
        bank->logged.word = 1;
        persist(&bank->logged, 8);
        bank->account[0].word -= n;
        bank->account[1].word += n;
        persist(bank->account, sizeof bank->account);
        bank->logged.word = 0;
        persist(&bank->logged, 8);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const struct bank *bank = found(file, sizeof *bank);
    const struct cell *account = bank->logged.word ? bank->old : bank->account;
    uint64_t sum = account[0].word + account[1].word;
    if (sum != 100 && (acknowledged || sum)) lost("the sum is %lu", (unsigned long)sum);
    if (account[1].word < acknowledged * (acknowledged + 1) / 2) lost("an acknowledged transfer is undone");
}

PROGRAM
