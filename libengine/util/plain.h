/* Types of single numbers that files have and the engine has not: f64, i8, i16. */
#ifndef LIBENGINE_UTIL_PLAIN_H
#define LIBENGINE_UTIL_PLAIN_H

#include <stdint.h>

/* Bytes of a number; 0: another type. */
uint32_t eu_plain_bytes(uint32_t type);
/* f32 has every number of i8 and i16; of f64 it is the nearest, among two the even one, and infinity from 2^128 on. */
void eu_plain_decode(uint32_t type, const void *from, int64_t n, float *to);

#endif
