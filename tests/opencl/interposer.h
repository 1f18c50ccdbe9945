/*
 * Stands between the opencl plugin and the OpenCL loader.  A program that is linked with it, and exports
 * its symbols (-export-dynamic), is asked before the loader is: it counts the plugin's calls, and makes them
 * fail, wait or come late as a test says, or devices other than they are.  Calls are named as OpenCL names them; an unknown name ends the test.
 *
 * Any thread may call; times are upper limits after which a test fails, never what it measures.
 */
#ifndef TESTS_OPENCL_INTERPOSER_H
#define TESTS_OPENCL_INTERPOSER_H

#include <stdbool.h>
#include <stdint.h>

/* Forgets all that was asked for, and begins to count at 0.  Nothing may be stopped or held. */
void interposer_reset(void);
/* Calls made since; NULL: of all. */
unsigned long interposer_count(const char *call);
/* Call number n of any (1: the first since) was one of how many of its name up to then?  0: it was not kept. */
unsigned long interposer_ordinal(unsigned long n);
/* The nth call from now on (1: the next; call NULL: the nth of any but those that release) is not made and
 * answers `error`. */
void interposer_fail(const char *call, unsigned long nth, int error);
/* Each of these calls begins so much later. */
void interposer_delay(const char *call, unsigned milliseconds);

/* Whoever makes this call stays inside it until interposer_go. */
void interposer_stop(const char *call);
void interposer_go(const char *call);
/* Waits until so many threads stay inside; false: they did not come within a minute. */
bool interposer_stopped(const char *call, unsigned threads);

/* Commands enqueued by this call begin only after interposer_release. */
void interposer_hold(const char *command);
/* Of those, how many are not complete. */
unsigned interposer_held(void);
void interposer_release(void);

/* What devices say of themselves (clGetDeviceInfo: CL_DEVICE_*) as a number of eight bytes. */
void interposer_answer(unsigned what, uint64_t number);

/* Contexts, queues, buffers, programs, kernels and events that were made, less those released.  If there are any, it waits
 * two seconds: a driver may call the destructor of a buffer, which has a context, from a thread of its own when all is over. */
long interposer_live(void);

#endif
