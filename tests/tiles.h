/* Instructions of tiles (AMX), done by the process itself where the processor has none. */
#ifndef TESTS_TILES_H
#define TESTS_TILES_H

#include <stdbool.h>

/* From now on those that the processor refuses are done in C, at some microseconds each.  What they are forbidden to be
 * given, by the manual, ends the process with a word.  false: not on this system. */
bool emulate_tiles(void);
/* So many have been done. */
long tiles_emulated(void);
/* Threads that have said how large their tiles are and not given them back. */
long tiles_in_use(void);

#endif
