/* Counting calls of the C library's allocator, and making them fail, by standing before it. */
#ifndef TESTS_META_COUNT_H
#define TESTS_META_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/* false: this build cannot count (a sanitizer has the allocator, or no way to the real one). */
bool count_possible(void);
/* Counts calls of all threads from now on; count_stop gives how many there were. */
void count_start(void);
uint64_t count_stop(void);
/* From count_start on, the nth call that asks for memory gets none, and with `all` those after it; 0: every
 * call gets some.  count_refused: did it come to that?  count_kept: what was given while counting
 * and is not free again. */
void count_refuse(uint64_t nth, bool all);
bool count_refused(void);
int64_t count_kept(void);

#endif
