/* Types of blocks of 32 elements and of 64. */
#include "config.h"

#include "types.h"

BLOCK_TYPES(TYPE)
