/* A case of attention: what gen_attention.c lists. */
#ifndef CF_ATTENTION_H
#define CF_ATTENTION_H

#include "suite.h"

struct attention {
    uint32_t tk, tv;
    int64_t d, e, kvh, group, t, cells;
    int64_t first;       /* of the cells, in a longer cache                   */
    int64_t run, period; /* of the cells in it; 0: they follow one another    */
    int64_t valid;       /* the plan parameter; -1: none                      */
    bool lse;            /* the second result is wanted                       */
    int64_t window;
    double softcap, bias;
    bool sinks, whole;   /* whole: not causal                                 */
    uint32_t mask;       /* its type; 0: f32 is a mask of type F32 only with use_mask */
    bool use_mask;
    int64_t seqs;        /* 0: no sequence numbers                            */
    bool shared;         /* cells belong to several of them                   */
    int64_t block;       /* 0: no table                                       */
    cf_layout lq, lkv;
    const char *split;
    enum { CLEAN, HIDDEN, FAINT, MASKED } poison; /* HIDDEN: only the first token may see a cell that is not a number;
                                             FAINT: odd tokens see it, with a weight that vanishes in f32;
                                             MASKED: what the mask has for it is no number for even tokens */
    bool steep; /* blocks with a scale of f16: those of cells differ by up to 2^20 */
    bool spike; /* q8_0: an element of queries and a cell of V are 2^22 times as large as the others, and meet zeros */
};

/* Runs it, named after what it has. */
void cf_attend(cf_suite *s, struct attention x);

#endif
