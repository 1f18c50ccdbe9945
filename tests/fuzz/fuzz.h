/*
 * A fuzz target: one file that has what is below.  With drive.c it is a program that draws inputs by itself; libFuzzer
 * can be linked in its place (clang -fsanitize=fuzzer), and other fuzzers that know its entry.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Texts to begin with, ended by NULL; files named on the command line are others. */
extern const char *const fuzz_seeds[];

/* Another one, not a text; *n is 0: there is none. */
const void *fuzz_sample(size_t *n);

/* What must be; if not, the process ends as a fuzzer expects it. */
#define MUST(condition, ...)                                                                                          \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            printf("# " __VA_ARGS__);                                                                                 \
            printf("\n");                                                                                             \
            fflush(stdout);                                                                                           \
            abort();                                                                                                  \
        }                                                                                                             \
    } while (0)

/* The input as a text of its own memory. */
char *fuzz_text(const uint8_t *data, size_t n);
/* The input as a file, which is always the same one; its path. */
const char *fuzz_file(const uint8_t *data, size_t n);

#endif
