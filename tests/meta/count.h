/* Counting calls of the C library's allocator, by standing before it. */
#ifndef TESTS_META_COUNT_H
#define TESTS_META_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/* false: this build cannot count (a sanitizer has the allocator, or no way to the real one). */
bool count_possible(void);
/* Counts calls of all threads from now on; count_stop gives how many there were. */
void count_start(void);
uint64_t count_stop(void);

#endif
