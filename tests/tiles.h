/* Instructions of tiles (AMX), done by the process itself where the processor has none. */
#ifndef TESTS_TILES_H
#define TESTS_TILES_H

/* From now on those that the processor refuses are done in C, at some microseconds each.  What they are forbidden to be
 * given, by the manual, ends the process with a word.  Nothing where there are no such instructions. */
void emulate_tiles(void);
/* So many have been done. */
long tiles_emulated(void);

#endif
