/* The matrix unit of Intel's processors (AMX): has this one tiles, of bytes and of bf16, and may the process use them? */
#ifndef LIBENGINE_UTIL_AMX_H
#define LIBENGINE_UTIL_AMX_H

#include <stdbool.h>

bool eu_amx_there(void);

/* Linux gives 8 KiB more for each thread only to a process that asks for it, once and for all its threads: this asks.  It
 * refuses if a thread has set a stack for signals that is too small to keep them. */
bool eu_amx_may(void);

#endif
