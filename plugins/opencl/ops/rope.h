/* What rope's kernel and those that rotate among other things (lower/heads.c) are given. */
#ifndef CL_ROPE_H
#define CL_ROPE_H

#include "../opencl.h"

typedef struct cl_rope {
    int64_t pairs, distance;
    int64_t step, stream; /* of positions: bytes between tokens, elements between streams */
    uint64_t table;       /* a constant of the plan                           */
    float scale;          /* of cosines and sines                             */
    bool streams;
} cl_rope;

/* Computes the table; returns r->status. */
int cl_rope_prepare(cl_recorder *r, const eng_node *node, cl_rope *rope);
#define CL_ROPE_OPTIONS 64
void cl_rope_options(const eng_node *node, const cl_rope *rope, char options[CL_ROPE_OPTIONS]);

#endif
