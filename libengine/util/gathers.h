#ifndef LIBENGINE_UTIL_GATHERS_H
#define LIBENGINE_UTIL_GATHERS_H

#include <stdbool.h>

/* Does this processor have an instruction that looks up a word for each lane, about as fast as as many loads?  Tried with
 * the first call. */
bool eu_gathers_pay(void);

#endif
