#include "config.h"

#include <string.h>

#include "plain.h"

/* Their numbers in files. */
enum { I8 = 24, I16 = 25, F64 = 28 };

uint32_t eu_plain_bytes(uint32_t type)
{
    return type == I8 ? 1 : type == I16 ? 2 : type == F64 ? 8 : 0;
}

void eu_plain_decode(uint32_t type, const void *from, int64_t n, float *to)
{
    const char *at = from;
    for (int64_t i = 0; i < n; i++, at += eu_plain_bytes(type)) {
        int8_t byte;
        int16_t two;
        double eight;
        switch (type) {
        case I8: memcpy(&byte, at, 1), to[i] = byte; break;
        case I16: memcpy(&two, at, 2), to[i] = two; break;
        default: memcpy(&eight, at, 8), to[i] = (float)eight; break;
        }
    }
}
