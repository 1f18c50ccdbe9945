/* Floor 0: what every floor needs - errors, log, axes, types; memory, text and threads are util's. */
#ifndef LIBENGINE_BASE_H
#define LIBENGINE_BASE_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

#include "../util/util.h"

/* Names of the axes of a context; the number of a name is its index + 1. */
typedef struct eng_axis_table {
    pthread_mutex_t lock;
    char **names;
    size_t room;
    uint32_t n;
} eng_axis_table;

/*
 * The part of a context that lower floors may use: the first member of struct
 * eng_context, so that eng_base_of needs nothing of the floors above.
 */
typedef struct eng_base {
    eng_log_func log;
    void *log_user;
    int log_level;
    eng_axis_table axes;
    atomic_int open_devices; /* the context may not go while this is not 0   */
    unsigned process;        /* that created it: eng_process()               */
    struct eng_executor *executor; /* floor 2's                              */
} eng_base;

static inline eng_base *eng_base_of(eng_context *context)
{
    return (eng_base *)context;
}

/* Forks between the process that loaded the library and this one; counted from eng_process_watch on. */
extern atomic_uint eng_forks;
int eng_process_watch(void);
static inline unsigned eng_process(void)
{
    return atomic_load_explicit(&eng_forks, memory_order_relaxed);
}
/* Was the context, and all that is of it, made before this process was forked? */
static inline bool eng_inherited(eng_context *context)
{
    return eng_base_of(context)->process != eng_process();
}
/* Says so: ENG_ERR_STATE.  what, name: "device ", "cpu". */
int eng_refuse_inherited(const char *what, const char *name);

/* A failure, kept beyond the thread that met it: what a fence carries. */
typedef struct eng_failure {
    int status;
    uint32_t code; /* eng_error_code */
    int32_t index;
    char subject[512], cause[1024], advice[512];
} eng_failure;
const eng_failure *eng_failure_last(void); /* of this thread; stays where it is, with the next one in it */
void eng_failure_save(eng_failure *failure); /* the calling thread's last one */
int eng_failure_restore(const eng_failure *failure); /* makes it the calling thread's last one; returns its status */
void eng_failure_clear(void);                /* forgets it: before a call that may fail without a word */

/*
 * What a plugin's call answered, made fit for hosts: `words` is eng_failure_words() from before the call.  A positive
 * status, which no call has, is the plugin's fault, and a failure without a word gets one, so that nobody reads an
 * older failure's text. who: the device's or the plugin's name.
 */
unsigned eng_failure_words(void); /* how often this thread was told of a failure */
int eng_answer(int status, unsigned words, const char *who, const char *call);

/* eng_fail_code and eng_fail_in with a va_list.  The arguments may point into eng_last_error(). */
int eng_vfail(int status, uint32_t code, int32_t index, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));
int eng_vfail_in(int status, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
/* "out of memory", in one place. */
int eng_fail_memory(void);

void eng_axes_init(eng_axis_table *axes);
void eng_axes_free(eng_axis_table *axes);
uint32_t eng_axes_number(eng_axis_table *axes, const char *name);     /* ENG_AXIS_NONE: no memory */
const char *eng_axes_name(eng_axis_table *axes, uint32_t axis);       /* "" if unknown */

void eng_log(const eng_base *base, int level, const char *source, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void eng_vlog(const eng_base *base, int level, const char *source, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));

/* Copies a struct that begins with its size into one that the caller gives, which may
 * be of an older, shorter kind or of a newer, longer one; its size field says.  `what`
 * names the type in the complaint about a size that is not set. */
int eng_give(void *to, const void *from, size_t from_size, const char *what);

/* strncpy that terminates, for the fixed texts of public structs. */
void eu_copy(char *to, size_t bytes, const char *from);

#endif
