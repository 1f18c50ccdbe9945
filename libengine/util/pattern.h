/* Regular expressions (POSIX, extended) from hosts' hands: how large regcomp would make them. */
#ifndef LIBENGINE_UTIL_PATTERN_H
#define LIBENGINE_UTIL_PATTERN_H

#include <stdbool.h>

/* Repetitions are multiplied out when a pattern is compiled: "((a{1,250}){1,250}){1,250}" has 15 million places, and
 * takes seconds and gigabytes.  More than these are not to be compiled. */
#define EU_PATTERN_PLACES 4096
#define EU_PATTERN_ADVICE "write it shorter, with smaller numbers in { }"

/* Is it of few enough places?  (Whether it is well-formed is regcomp's to say.) */
bool eu_pattern_is_small(const char *pattern);

#endif
