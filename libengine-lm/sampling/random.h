/*
 * Random numbers: the Mersenne Twister MT19937 (M. Matsumoto and T. Nishimura, ACM TOMACS 8(1), 1998), two outputs a
 * draw, the low word first, of which 53 bits make a number from 0 to 1.
 */
#ifndef ENGINE_LM_RANDOM_H
#define ENGINE_LM_RANDOM_H

#include <stdint.h>

#define LM_TWISTER_N 624

typedef struct lm_twister {
    uint32_t state[LM_TWISTER_N];
    uint32_t next;
} lm_twister;

void lm_twister_seed(lm_twister *r, uint32_t seed);
/* 0 <= x < 1. */
double lm_twister_unit(lm_twister *r);
/* A seed that is another one every time. */
uint32_t lm_random_seed(void);

#endif
