/*
 * Small graphs, written once: each op is computed by the oracle as it is added, and
 * recorded; then the graph is built for a device through the public interface, run and
 * compared, as it is and with one value or tensor after another forced elsewhere.
 */
#ifndef TESTS_CONFORMANCE_NET_H
#define TESTS_CONFORMANCE_NET_H

#include "engine/engine.h"

#include "../reference/ref.h"

#include <stdbool.h>

#define NET_NODES 48
#define NET_NONE (-1)
#define NET_SHAPE(...)                                                                                                 \
    (const int64_t[]){__VA_ARGS__}, (uint32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

typedef struct net_value {
    uint32_t op;       /* ENG_OP_NONE: a bound tensor                            */
    int in[ENG_MAX_INPUTS];
    int64_t ip[ENG_MAX_IPARAMS];
    double fp[ENG_MAX_FPARAMS];
    uint32_t type, use, rank;
    int64_t ne[ENG_MAX_RANK];
    const char *name, *axes[ENG_MAX_RANK];
    uint32_t index;    /* of a tensor in the store                               */
    unsigned char *before;
    uint64_t n_bytes;
    bool written, output; /* by an op in place; an OUTPUT tensor                 */
    int from;          /* output: the value that is stored in it                 */
    ref_tensor want;
} net_value;

typedef struct net {
    const char *name;
    net_value v[NET_NODES];
    int n;
    uint64_t random;
    int64_t params[2];
    bool failed;       /* the oracle or memory                                   */
} net;

/* A bound tensor of random values in [lo, hi] (blocks: around 1). */
int net_tensor(net *g, const char *name, uint32_t type, uint32_t use, double lo, double hi, const int64_t *ne,
               uint32_t rank);
/* Names the axes of a tensor's dimension, as cf_axis does: "kv_head:4 *:2 | ffn:8". */
void net_axis(net *g, int value, int dim, const char *factors);
/* Writes element i of a tensor that nothing has read yet. */
void net_set(net *g, int value, int64_t i, double x);
/* Adds an op; in ends with -2. */
int net_op(net *g, uint32_t op, const int *in, const int64_t *ip, const double *fp);
#define NET_IN(...) ((const int[]){__VA_ARGS__, -2})
int net_unary_op(net *g, uint32_t op, int a);
int net_binary_op(net *g, uint32_t op, int a, int b);
int net_reshape(net *g, int x, int64_t a, int64_t b, int64_t c, int64_t d);
int net_permute(net *g, int x, int a, int b, int c, int d);
int net_slice(net *g, int x, int dim, int64_t begin, int64_t length);
/* The value is stored in an OUTPUT tensor. */
void net_output(net *g, int value);
void net_free(net *g);

/* Counts of what was run. */
typedef struct net_tally {
    int graphs, failed;
    char first[1024]; /* what failed first */
} net_tally;
/* Builds, runs and compares the graph on the device: as it is, and with each value and each
 * tensor forced to each placement. */
void net_run(const net *g, eng_context *context, const char *device, net_tally *tally);

#endif
