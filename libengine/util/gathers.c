/*
 * Whether gathers pay.  Types whose numbers come from tables of patterns (pack.h) are in lanes only where an instruction
 * that looks up a word for each lane is about as fast as as many loads: on some processors it is slower by far, as on
 * those whose microcode serializes it so that nothing leaks (gather data sampling).
 */
#include "gathers.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "clock.h"
#include "trial.h"

#define AVX2 __attribute__((target("avx2")))
#define TRIES 16
#define ROUNDS 64
#define WORDS 1024 /* of the table */
#define LANES 8
#define CHAINS 4

/* Adds up what rounds of gathers find, or loads of as many words. */
AVX2 static uint32_t by_gathers(const uint32_t *table, const uint32_t *at)
{
    __m256i sum[CHAINS] = {0};
    uint32_t lanes[LANES], all = 0;
    for (int r = 0; r < ROUNDS; r++)
        for (int c = 0; c < CHAINS; c++) {
            const __m256i first = _mm256_loadu_si256((const __m256i *)(at + LANES * c));
            const __m256i index = _mm256_and_si256(_mm256_add_epi32(first, _mm256_set1_epi32(r)), _mm256_set1_epi32(WORDS - 1));
            sum[c] = _mm256_add_epi32(sum[c], _mm256_i32gather_epi32((const int *)table, index, 4));
        }
    for (int c = 0; c < CHAINS; c++) {
        _mm256_storeu_si256((__m256i *)lanes, sum[c]);
        for (int i = 0; i < LANES; i++)
            all += lanes[i];
    }
    return all;
}

static uint32_t by_loads(const uint32_t *table, const uint32_t *at)
{
    uint32_t all = 0;
    for (uint32_t r = 0; r < ROUNDS; r++)
        for (int i = 0; i < LANES * CHAINS; i++) {
            all += table[(at[i] + r) & (WORDS - 1)];
            __asm__("" : "+r"(all)); /* so that they remain single loads */
        }
    return all;
}

static uint64_t duration(bool gather)
{
    static const uint32_t words[WORDS];
    const uint32_t *table = words;
    uint32_t at[LANES * CHAINS];
    __asm__("" : "+r"(table)); /* the compiler knows what is in `words` and would load nothing */
    for (int i = 0; i < LANES * CHAINS; i++)
        at[i] = (uint32_t)i * 389 % WORDS;
    const uint64_t begin = eu_now();
    const uint32_t all = gather ? by_gathers(table, at) : by_loads(table, at);
    __asm__ volatile("" : : "r"(all)); /* so that it is done */
    return eu_now() - begin;
}

/* Up to half as long again as loads one by one (a third of them on a Sapphire Rapids): then one column still takes about as
 * long as in the form of the file, and more columns less. */
bool eu_gathers_pay(void)
{
    static atomic_int known;
    return __builtin_cpu_supports("avx2") && eu_trial(&known, duration, TRIES, 9);
}

#else

bool eu_gathers_pay(void)
{
    return false;
}

#endif
