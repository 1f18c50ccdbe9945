/* SHA-256 (FIPS 180-4), for comparing with recorded hashes. */
#ifndef TESTS_TOOLS_SHA256_H
#define TESTS_TOOLS_SHA256_H

#include <stddef.h>

/* 64 lower-case hexadecimal digits and a terminator. */
void sha256(const void *data, size_t n, char hex[65]);

#endif
