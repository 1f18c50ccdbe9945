/* Threads of the library's own. */
#ifndef LIBENGINE_UTIL_THREAD_H
#define LIBENGINE_UTIL_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts one; false: the system refuses.  The host's signals are for the host's threads, but those that a fault of this
 * one raises come to it: blocked they would end the process without the host's handlers. */
bool eu_thread_start(pthread_t *thread, void *(*fn)(void *), void *arg);

#endif
