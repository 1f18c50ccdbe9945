/* Names that an unkeyed hash would put in one place. */
#ifndef TESTS_UTIL_COLLIDING_H
#define TESTS_UTIL_COLLIDING_H

#include <stdint.h>

enum { COLLIDING_BYTES = 16 }; /* of a name, with its end */

/* n different names whose FNV-1a hashes, folded and cut to the bits of a table of 2 n to 4 n slots, lie in a few
 * of them side by side.  NULL: no memory; else for free(). */
char (*colliding_names(uint32_t n))[COLLIDING_BYTES];

#endif
