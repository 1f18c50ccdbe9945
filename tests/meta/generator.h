/* Inside the maker of random programs. */
#ifndef TESTS_META_GENERATOR_H
#define TESTS_META_GENERATOR_H

#include "program.h"

#define MAX_ELEMENTS 20000

typedef struct generator {
    pg_program *p;
    eng_graph *graph;
    eng_context *context;
    eng_device *device;
    eng_value values[PG_MAX_OPS];
    eng_value bound[PG_MAX_TENSORS];
    eng_store *stores[PG_MAX_TENSORS];
    uint64_t state;
} generator;

/* 0 .. n-1 */
int64_t pg_pick(generator *g, int64_t n);
/* What a reference stands for in the graph that grows along. */
const eng_tensor *pg_get(const generator *g, int ref);
int64_t pg_count_of(const eng_tensor *t);
/* A new tensor, with random axes unless it is an input. */
int pg_add_tensor(generator *g, uint32_t type, uint32_t use, const int64_t *ne, uint32_t rank);
int pg_state(generator *g, const int64_t *ne, uint32_t rank);    /* f32, read and written    */
int pg_indices(generator *g, const int64_t *ne, uint32_t rank, int64_t below);
pg_tensor *pg_tensor_of(generator *g, int ref);
int pg_add_op(generator *g, uint32_t op, const int *in, uint32_t n_in, const int64_t *ip, uint32_t n_ip,
              const double *fp, uint32_t n_fp);
#define REFS(...) (int[]){__VA_ARGS__}, sizeof((int[]){__VA_ARGS__}) / sizeof(int)
#define OP(op, ...) pg_add_op(g, op, REFS(__VA_ARGS__), NULL, 0, NULL, 0)
#define OPI(op, ip, ...) pg_add_op(g, op, REFS(__VA_ARGS__), ip, sizeof ip / sizeof *ip, NULL, 0)
#define OPF(op, fp, ...) pg_add_op(g, op, REFS(__VA_ARGS__), NULL, 0, fp, sizeof fp / sizeof *fp)

int pg_unary(generator *g, int x);
int pg_norm(generator *g, int x);

/* Several ops that belong together. */
int pg_attention(generator *g);
int pg_delta_net(generator *g);
int pg_convolution(generator *g);
int pg_in_place(generator *g, int x);

#endif
