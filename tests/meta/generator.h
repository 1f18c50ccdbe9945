/* Inside the maker of random programs. */
#ifndef TESTS_META_GENERATOR_H
#define TESTS_META_GENERATOR_H

#include "oracle.h"
#include "program.h"

#define MAX_ELEMENTS 6000

/* The program grows along with a graph, which knows shapes and axes, and is evaluated
 * along the way: values that are huge, or that roundings would move too far, are not
 * used again. */
typedef struct generator {
    pg_program *p;
    eng_graph *graph;
    eng_context *context;
    eng_device *device;
    pg_oracle *oracle;
    eng_value values[PG_MAX_OPS][2];
    eng_value bound[PG_MAX_TENSORS];
    eng_store *stores[PG_MAX_TENSORS];
    bool wild[PG_MAX_OPS][2], wild_tensor[PG_MAX_TENSORS];
    double most[PG_MAX_OPS]; /* largest absolute value of the first result       */
    bool bad;                /* an op was refused                                */
    uint64_t state;
} generator;

/* 0 .. n-1 */
int64_t pg_pick(generator *g, int64_t n);
/* What a reference stands for in the graph that grows along. */
const eng_tensor *pg_get(const generator *g, int ref);
int64_t pg_count_of(const eng_tensor *t);
/* A new tensor, with random axes (inputs: now and then). */
int pg_add_tensor(generator *g, uint32_t type, uint32_t use, const int64_t *ne, uint32_t rank);
/* Ready for use by ops; the contents may not be changed afterwards. */
int pg_ready(generator *g, int ref);
int pg_state(generator *g, const int64_t *ne, uint32_t rank); /* f32, read and written */
int pg_weight(generator *g, const int64_t *ne, uint32_t rank, double offset, double scale); /* f32 */
int pg_indices(generator *g, const int64_t *ne, uint32_t rank, int64_t below, pg_contents contents);
pg_tensor *pg_tensor_of(generator *g, int ref);
int pg_add_op(generator *g, uint32_t op, const int *in, uint32_t n_in, const int64_t *ip, uint32_t n_ip,
              const double *fp, uint32_t n_fp);
/* The op's result is kept for the oracle to go on from. */
int pg_tap(generator *g, int k);
#define REFS(...) (int[]){__VA_ARGS__}, sizeof((int[]){__VA_ARGS__}) / sizeof(int)
#define OP(op, ...) pg_add_op(g, op, REFS(__VA_ARGS__), NULL, 0, NULL, 0)
#define OPI(op, ip, ...) pg_add_op(g, op, REFS(__VA_ARGS__), ip, sizeof ip / sizeof *ip, NULL, 0)
#define OPF(op, fp, ...) pg_add_op(g, op, REFS(__VA_ARGS__), NULL, 0, fp, sizeof fp / sizeof *fp)

void pg_random_axes(generator *g, pg_dim *dims, const int64_t *ne, uint32_t rank);

/* -- generate_ops.c: one op or block more; a float value there is; it with its rows, or all of it, contiguous; as a
 * matrix of at most `rows` rows of n features */
void pg_one_more(generator *g);
int pg_some(generator *g);
int pg_rows(generator *g, int x);
int pg_contiguous(generator *g, int x);
int pg_features(generator *g, int x, int64_t n, int64_t rows);
int pg_reshape(generator *g, int x, int64_t n0, int64_t n1, int64_t n2, int64_t n3);

int pg_unary(generator *g, int x);
int pg_norm(generator *g, int x);
int pg_product(generator *g, int x);

/* -- generate_types.c: types and choosing */
int pg_encode(generator *g, int x);
int pg_half(generator *g, int x);
int pg_integers(generator *g, int x);
int pg_argmax(generator *g, int x);
int pg_empty(generator *g, int x);
int pg_rebase(generator *g);
int pg_write_rows(generator *g, int x);

/* -- generate_blocks.c: several ops that belong together */
int pg_attention(generator *g, int x);
int pg_delta_net(generator *g, int x);
int pg_scan(generator *g, int x);
int pg_convolution(generator *g, int x);
int pg_in_place(generator *g, int x);
int pg_fused(generator *g, int x);
int pg_feed_forward(generator *g, int x);
int pg_wide(generator *g, int x);
int pg_experts(generator *g, int x);

#endif
