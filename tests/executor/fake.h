/* A device whose work is what a test says: jobs in place of instances. */
#ifndef TESTS_EXECUTOR_FAKE_H
#define TESTS_EXECUTOR_FAKE_H

#include <pthread.h>
#include <stdatomic.h>

#include "libengine/executor/executor.h"

typedef struct fake_gate {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool open;
} fake_gate;
#define FAKE_GATE {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false}
void fake_open(fake_gate *gate);
/* false: it has not been opened within ten seconds. */
bool fake_pass(fake_gate *gate);

typedef struct fake_job {
    int steps;          /* tasks, at the end of which it can be left; 0: one         */
    long step_ns;       /* what one takes                                            */
    int status;         /* what becomes of it                                        */
    bool mute;          /* it fails without a word                                   */
    bool late;          /* of an asynchronous device: only wait tells                */
    fake_gate *opens, *needs; /* opened when it begins; passed before it ends        */
    struct fake_job *after[4]; /* these must be done when it begins                  */
    /* what has happened */
    atomic_int begun, done, steps_done, yields;
    atomic_bool disorder;
    pthread_t by;       /* the thread that ended it                                  */
} fake_job;

/* What a device is like, and what it was asked. */
typedef struct fake {
    atomic_int queues, chained;
    bool no_chain;
} fake;

/* A timeline of such a device. */
eng_timeline *fake_timeline(eng_executor *executor, fake *device, uint32_t flags);
uint64_t fake_push(eng_timeline *timeline, fake_job *job, const eng_point *waits, uint32_t n);
void fake_sleep(long ns);

#endif
