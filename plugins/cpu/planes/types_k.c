/* Types of blocks of 256 elements. */
#include "config.h"

#include "types.h"

K_TYPES(TYPE)
