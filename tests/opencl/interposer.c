/* See interposer.h. */
#define _GNU_SOURCE /* RTLD_NEXT */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "interposer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
#define STATUS(name, parameters, names) CALL_##name,
#define QUESTION(name, parameters, names) CALL_##name,
#define COMMAND(name, parameters, names) CALL_##name,
#define OBJECT(type, name, parameters, names) CALL_##name,
#define RETAIN(name, parameters, names) CALL_##name,
#define RELEASE(name, parameters, names) CALL_##name,
#include "calls.h"
    CALLS
};

static const struct { const char *name; bool releases; } calls[CALLS] = {
#define STATUS(name, parameters, names) {#name, false},
#define QUESTION(name, parameters, names) {#name, false},
#define COMMAND(name, parameters, names) {#name, false},
#define OBJECT(type, name, parameters, names) {#name, false},
#define RETAIN(name, parameters, names) {#name, false},
#define RELEASE(name, parameters, names) {#name, true},
#include "calls.h"
};

typedef void (*any_call)(void);

/* What was asked of a call; number CALLS: of any. */
typedef struct rule {
    unsigned long count, fail_at; /* fail_at 0: none fails                      */
    cl_int error;
    unsigned delay;               /* milliseconds                               */
    bool stop, hold;
    unsigned inside;
} rule;

#define MOST_HELD 256

static any_call loader[CALLS];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below        */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static rule rules[CALLS + 1];
static long live;
static struct { cl_event gate, command; } held[MOST_HELD]; /* user events, and what waits for them */
static unsigned n_held;
static struct { cl_device_info what; cl_ulong number; } answers[8];
static unsigned n_answers;
#define MOST_KEPT 1024
static unsigned ordinals[MOST_KEPT + 1]; /* of the calls so far, by their number */

static void find_loader(void)
{
    for (unsigned i = 0; i < CALLS; i++) {
        void *symbol = dlsym(RTLD_NEXT, calls[i].name);
        if (symbol == NULL) {
            fprintf(stderr, "interposer: the OpenCL loader has no %s\n", calls[i].name);
            abort();
        }
        memcpy(&loader[i], &symbol, sizeof loader[i]);
    }
}

static rule *rule_of(const char *call)
{
    for (unsigned i = 0; call != NULL && i < CALLS; i++)
        if (strcmp(calls[i].name, call) == 0)
            return &rules[i];
    if (call == NULL)
        return &rules[CALLS];
    fprintf(stderr, "interposer: %s is not in calls.h\n", call);
    abort();
}

/* One call of i more, which number of any has. */
static void remember(unsigned i)
{
    const unsigned long n = rules[CALLS].count;
    if (n <= MOST_KEPT)
        ordinals[n] = (unsigned)rules[i].count;
}

static cl_int counted(rule *r)
{
    return ++r->count == r->fail_at ? r->error : CL_SUCCESS;
}

/* What is done before call i is made; an error: it is not made. */
static cl_int before(unsigned i)
{
    rule *r = &rules[i];
    pthread_once(&once, find_loader);
    pthread_mutex_lock(&lock);
    cl_int error = counted(r), any = calls[i].releases ? CL_SUCCESS : counted(&rules[CALLS]);
    if (!calls[i].releases)
        remember(i);
    const struct timespec pause = {r->delay / 1000, (long)(r->delay % 1000) * 1000000};
    for (r->inside++, pthread_cond_broadcast(&changed); r->stop;)
        pthread_cond_wait(&changed, &lock);
    r->inside--;
    pthread_mutex_unlock(&lock);
    nanosleep(&pause, NULL);
    return error != CL_SUCCESS ? error : any;
}

static void lives(long more)
{
    pthread_mutex_lock(&lock);
    live += more;
    pthread_mutex_unlock(&lock);
}

/* An event that a command of this queue is to wait for; NULL: it is not held. */
static cl_event gate_of(unsigned i, cl_command_queue queue, cl_uint n_waits)
{
    cl_context context;
    cl_int error;
    pthread_mutex_lock(&lock);
    const bool hold = rules[i].hold;
    pthread_mutex_unlock(&lock);
    if (!hold)
        return NULL;
    error = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    cl_event gate = error == CL_SUCCESS ? clCreateUserEvent(context, &error) : NULL;
    if (gate == NULL || n_waits != 0) {
        fprintf(stderr, "interposer: %s cannot be held (error %d, %u waits)\n", calls[i].name, (int)error,
                (unsigned)n_waits);
        abort();
    }
    return gate;
}

/* Notes a command that waits for a gate.  `own`: nobody else has its event. */
static void keep(cl_event gate, cl_event command, bool own)
{
    cl_int(CL_API_CALL *retain)(cl_event); /* not the one that counts: this is nobody's call */
    memcpy(&retain, &loader[CALL_clRetainEvent], sizeof retain);
    pthread_mutex_lock(&lock);
    if (n_held == MOST_HELD) {
        fprintf(stderr, "interposer: more than %d commands are held\n", MOST_HELD);
        abort();
    }
    if (!own)
        retain(command);
    held[n_held].gate = gate;
    held[n_held++].command = command;
    pthread_mutex_unlock(&lock);
}

/* The answer of a device to a question, if there is another one than its own. */
static bool answered(cl_device_info what, size_t bytes, void *value, size_t *all)
{
    bool known = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n_answers; i++) {
        if (answers[i].what != what)
            continue;
        known = true;
        if (value != NULL && bytes >= sizeof answers[i].number)
            memcpy(value, &answers[i].number, sizeof answers[i].number);
        if (all != NULL)
            *all = sizeof answers[i].number;
    }
    pthread_mutex_unlock(&lock);
    return known;
}

/* -- the calls ------------------------------------------------------------------------ */

/* By the plugin, whatever the visibility of the program's other functions. */
#define SEEN __attribute__((visibility("default")))
#define MADE(type, name, parameters, names) ((type(CL_API_CALL *) parameters)loader[CALL_##name])names

#define STATUS(name, parameters, names)                                                                                \
    SEEN cl_int CL_API_CALL name parameters                                                                            \
    {                                                                                                                  \
        const cl_int failure = before(CALL_##name);                                                                    \
        return failure != CL_SUCCESS ? failure : MADE(cl_int, name, parameters, names);                                \
    }

#define QUESTION(name, parameters, names)                                                                              \
    SEEN cl_int CL_API_CALL name parameters                                                                            \
    {                                                                                                                  \
        const cl_int failure = before(CALL_##name);                                                                    \
        return failure != CL_SUCCESS                ? failure                                                          \
               : answered(what, bytes, value, all) ? CL_SUCCESS                                                        \
                                                   : MADE(cl_int, name, parameters, names);                            \
    }

#define OBJECT(type, name, parameters, names)                                                                          \
    SEEN type CL_API_CALL name parameters                                                                              \
    {                                                                                                                  \
        const cl_int failure = before(CALL_##name);                                                                    \
        if (failure != CL_SUCCESS) {                                                                                   \
            if (error != NULL)                                                                                         \
                *error = failure;                                                                                      \
            return NULL;                                                                                               \
        }                                                                                                              \
        type made = MADE(type, name, parameters, names);                                                               \
        lives(made != NULL);                                                                                           \
        return made;                                                                                                   \
    }

#define COUNTED(name, parameters, names, more)                                                                         \
    SEEN cl_int CL_API_CALL name parameters                                                                            \
    {                                                                                                                  \
        const cl_int failure = before(CALL_##name);                                                                    \
        const cl_int done = failure != CL_SUCCESS ? failure : MADE(cl_int, name, parameters, names);                   \
        lives(done == CL_SUCCESS ? (more) : 0);                                                                        \
        return done;                                                                                                   \
    }
#define RETAIN(name, parameters, names) COUNTED(name, parameters, names, 1)
#define RELEASE(name, parameters, names) COUNTED(name, parameters, names, -1)

#define COMMAND(name, parameters, names)                                                                               \
    SEEN cl_int CL_API_CALL name parameters                                                                            \
    {                                                                                                                  \
        const cl_int failure = before(CALL_##name);                                                                    \
        if (failure != CL_SUCCESS)                                                                                     \
            return failure;                                                                                            \
        cl_event gate = gate_of(CALL_##name, queue, n_waits), own = NULL, *const asked = event;                        \
        if (gate != NULL) {                                                                                            \
            waits = &gate;                                                                                             \
            n_waits = 1;                                                                                               \
            event = asked != NULL ? asked : &own;                                                                      \
        }                                                                                                              \
        const cl_int done = MADE(cl_int, name, parameters, names);                                                     \
        if (gate != NULL && done == CL_SUCCESS)                                                                        \
            keep(gate, *event, asked == NULL);                                                                         \
        lives(done == CL_SUCCESS && asked != NULL);                                                                    \
        return done;                                                                                                   \
    }

#include "calls.h"

/* -- what tests ask for ------------------------------------------------------------------ */

static cl_int status_of(cl_event event)
{
    cl_int status = CL_COMPLETE;
    cl_int(CL_API_CALL *info)(cl_event, cl_event_info, size_t, void *, size_t *);
    memcpy(&info, &loader[CALL_clGetEventInfo], sizeof info);
    info(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return status;
}

static void let_go(cl_event event)
{
    cl_int(CL_API_CALL *release)(cl_event);
    memcpy(&release, &loader[CALL_clReleaseEvent], sizeof release);
    release(event);
}

void interposer_reset(void)
{
    pthread_mutex_lock(&lock);
    memset(rules, 0, sizeof rules);
    memset(ordinals, 0, sizeof ordinals);
    live = 0;
    n_answers = 0;
    for (; n_held > 0; n_held--) {
        let_go(held[n_held - 1].gate);
        let_go(held[n_held - 1].command);
    }
    pthread_mutex_unlock(&lock);
}

unsigned long interposer_count(const char *call)
{
    pthread_mutex_lock(&lock);
    const unsigned long n = rule_of(call)->count;
    pthread_mutex_unlock(&lock);
    return n;
}

unsigned long interposer_ordinal(unsigned long n)
{
    pthread_mutex_lock(&lock);
    const unsigned long ordinal = n <= MOST_KEPT ? ordinals[n] : 0;
    pthread_mutex_unlock(&lock);
    return ordinal;
}

void interposer_fail(const char *call, unsigned long nth, int error)
{
    pthread_mutex_lock(&lock);
    rule *r = rule_of(call);
    r->fail_at = r->count + nth;
    r->error = error;
    pthread_mutex_unlock(&lock);
}

void interposer_delay(const char *call, unsigned milliseconds)
{
    pthread_mutex_lock(&lock);
    rule_of(call)->delay = milliseconds;
    pthread_mutex_unlock(&lock);
}

void interposer_stop(const char *call)
{
    pthread_mutex_lock(&lock);
    rule_of(call)->stop = true;
    pthread_mutex_unlock(&lock);
}

void interposer_go(const char *call)
{
    pthread_mutex_lock(&lock);
    rule_of(call)->stop = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

bool interposer_stopped(const char *call, unsigned threads)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    pthread_mutex_lock(&lock);
    const rule *r = rule_of(call);
    for (int late = 0; r->inside < threads && late == 0;)
        late = pthread_cond_timedwait(&changed, &lock, &end);
    const bool all = r->inside >= threads;
    pthread_mutex_unlock(&lock);
    return all;
}

void interposer_hold(const char *command)
{
    pthread_mutex_lock(&lock);
    rule_of(command)->hold = true;
    pthread_mutex_unlock(&lock);
}

unsigned interposer_held(void)
{
    unsigned n = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n_held; i++)
        n += status_of(held[i].command) > CL_COMPLETE;
    pthread_mutex_unlock(&lock);
    return n;
}

void interposer_release(void)
{
    cl_event gates[MOST_HELD];
    pthread_mutex_lock(&lock);
    const unsigned n = n_held;
    for (unsigned i = 0; i < CALLS; i++)
        rules[i].hold = false;
    for (unsigned i = 0; i < n; i++)
        gates[i] = held[i].gate;
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < n; i++) /* without the lock: what now runs may make calls */
        clSetUserEventStatus(gates[i], CL_COMPLETE);
}

void interposer_answer(unsigned what, uint64_t number)
{
    pthread_mutex_lock(&lock);
    if (n_answers == sizeof answers / sizeof answers[0]) {
        fprintf(stderr, "interposer: too many answers\n");
        abort();
    }
    answers[n_answers].what = what;
    answers[n_answers++].number = number;
    pthread_mutex_unlock(&lock);
}

static long live_now(void)
{
    pthread_mutex_lock(&lock);
    const long n = live;
    pthread_mutex_unlock(&lock);
    return n;
}

long interposer_live(void)
{
    const struct timespec pause = {0, 1000000};
    for (unsigned i = 0; i < 2000 && live_now() != 0; i++)
        nanosleep(&pause, NULL);
    return live_now();
}
