/* Names that an unkeyed hash would put in one place. */
#ifndef TESTS_UTIL_COLLIDING_H
#define TESTS_UTIL_COLLIDING_H

#include <stdint.h>

enum { COLLIDING_BYTES = 16 }; /* of a name, with its end */

/* n different names whose FNV-1a hashes, folded by so many bits and cut to the size of a table of 2 n to 4 n slots,
 * lie in a few of them side by side.  fold 0: ordinary names.  NULL: no memory; else for free(). */
char (*colliding_names(uint32_t n, int fold))[COLLIDING_BYTES];

#endif
