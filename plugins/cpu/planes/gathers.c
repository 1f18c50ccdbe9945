/*
 * Whether gathers pay.  Types of patterns (grid_lanes.h) are in lanes only where an instruction that looks up a word for
 * each lane is about as fast as as many loads: on some processors it is slower by far, as on those whose microcode
 * serializes it so that nothing leaks (gather data sampling).
 */
#include "config.h"

#include "libengine/util/util.h"

#include "../ops/trial.h"
#include "gathers.h"
#include "registers.h"

#if PLANES_DOT

#define TRIES 16
#define ROUNDS 64
#define WORDS 1024 /* of the table */
#define CHAINS 4

/* Nanoseconds of rounds of gathers, or of loads of as many words. */
static uint64_t duration(bool gather)
{
    static const uint32_t words[WORDS];
    const uint32_t *table = words;
    __asm__("" : "+r"(table)); /* the compiler knows what is in `words` and would load nothing */
    vu sum[CHAINS] = {{0}};
    uint32_t at[CPU_VL * CHAINS], alone = 0;
    for (int i = 0; i < CPU_VL * CHAINS; i++)
        at[i] = (uint32_t)i * 389 % WORDS;
    const uint64_t begin = eu_now();
    for (uint32_t r = 0; r < ROUNDS; r++)
        if (gather) {
            CPU_UNROLL
            for (int c = 0; c < CHAINS; c++)
                sum[c] += w_gather(table, ((vu)v_loadi(at + CPU_VL * c) + r) & (WORDS - 1));
        } else {
            for (int i = 0; i < CPU_VL * CHAINS; i++) {
                alone += table[(at[i] + r) & (WORDS - 1)];
                __asm__("" : "+r"(alone)); /* so that they remain single loads */
            }
        }
    const uint64_t end = eu_now();
    for (int c = 0; c < CHAINS; c++)
        for (int i = 0; i < CPU_VL; i++)
            alone += sum[c][i];
    __asm__ volatile("" : : "r"(alone)); /* so that they are done */
    return end - begin;
}

/* Up to half as long again as loads one by one (a third of them on a Sapphire Rapids): then one column still takes about as
 * long as in the form of the file, and more columns less.  Tried once. */
bool PLANES_V(cpu_gathers_pay)(void)
{
    static atomic_int known;
    return cpu_trial(&known, duration, TRIES, 9);
}

#endif
