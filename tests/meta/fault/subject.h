/* What tests of failing ranks run: a chain of blocks with an exchange each, on any device. */
#ifndef FAULT_SUBJECT_H
#define FAULT_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/engine.h"

enum { SUBJECT_WIDTH = 96, SUBJECT_X = 0, SUBJECT_UP, SUBJECT_DOWN, SUBJECT_OUT, SUBJECT_TENSORS };

typedef struct subject {
    eng_context *context;
    int n_blocks;           /* of the chain                                       */
    const char *out_device; /* that holds the output; NULL: wherever the rest is   */
    eng_device *device;
    eng_store *store;
    eng_graph *graph;
    eng_plan *plan;
    eng_instance *instance;
    eng_queue *queue;
} subject;

/* A context in which the plugin `fault` is found beside the others named. */
bool subject_begin(subject *s, const char *plugins);
bool subject_option(subject *s, const char *name, const char *value);
bool subject_number(subject *s, const char *name, int value);
/* What a chain of that many blocks gives on one sound device. */
bool subject_want(int n_blocks, float *want);

int subject_open(subject *s, const char *device);
/* A device that is open already, and its store: another graph, with a queue of its own. */
int subject_join(subject *s, const subject *other);
/* The queue first, then either way around. */
void subject_close(subject *s, bool device_first);
/* false: the context does not end. */
bool subject_end(subject *s);

/* One run; *right becomes false if what comes out is not `want`. */
int subject_run(subject *s, const float *want, bool *right);

/* "fault:0, rank 1 of cpu/2.0+fault:0": how an error of that rank begins.  A rank that is not
 * in the name is a guest, of a device like cpu/2. */
void subject_rank_name(const char *device, const char *rank, char *name, size_t size);

/* A machine that is busy with other things cannot be told from a device that hangs by a short
 * limit of time: a case that fails is tried again with a longer one, up to a few seconds.
 * What is wrong fails with each. */
typedef bool subject_attempt(const void *which, int limit_ms);
bool subject_in_time(subject_attempt *attempt, const void *which, int first_limit_ms);
/* Since `from`, more than a few times the limit and what a busy machine takes besides? */
bool subject_is_late(int limit_ms, double from);

double subject_now(void);
void subject_sleep(int ms);

#endif
