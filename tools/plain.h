/* Types of single numbers that files have and the engine has not: f64, i8, i16. */
#ifndef TOOLS_PLAIN_H
#define TOOLS_PLAIN_H

#include <stdint.h>

/* Bytes of a number; 0: another type. */
uint32_t plain_bytes(uint32_t type);
void plain_decode(uint32_t type, const void *from, int64_t n, float *to);

#endif
