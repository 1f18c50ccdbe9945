/* Types of two bits and fewer, and of patterns. */
#include "config.h"

#include "types.h"

LEAST_TYPES(TYPE)
