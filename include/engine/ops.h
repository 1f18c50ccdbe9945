/*
 * engine/ops.h - numbers of the ops and of their parameters.  What each op
 * computes, its shapes and its sharding rule: ops.def, from which docs/ops.md
 * is generated.
 *
 * A node's parameters are two small arrays, ip[] (integers) and fp[]
 * (floating point); the enumerators below are the indices into them.  Of
 * attention, which has many, the operands and results have names too.
 */
#ifndef ENGINE_OPS_H
#define ENGINE_OPS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ENG_OP_MUL_MAT, ...: numbers are stable and never reused (ops.def). */
typedef enum eng_op {
    ENG_OP_NONE = 0,
#define ENG_OP(id, number, ...) ENG_OP_##id = number,
#include "ops.def"
    ENG_OP_LIMIT = 256
} eng_op;

/* Flags of an op's row. */
enum {
    ENG_OPF_VIEW = 1,    /* the result shares the operand's memory           */
    ENG_OPF_FOLLOW = 2,  /* the result's axes say it all: a shard of the
                            result is the op applied to the operand's shards */
    ENG_OPF_DISCRETE = 4, /* discontinuous: one bit in, another answer out   */
    ENG_OPF_SPECIAL = 8, /* the shape check has code beside the rule         */
    ENG_OPF_BARRIER = 16, /* a plan's section ends here: see plugin.h        */
    ENG_OPF_PRECISION = 32 /* may be asked to be fast (eng_precision)        */
};

enum { ENG_CPY_TYPE = 0, ENG_CPY_SEARCH = 1 }; /* quantize, dequantize, cpy  */
enum { ENG_HADAMARD_GROUP = 0 };
enum { ENG_GDN_GROUPED = 0, ENG_GDN_SLOTS = 1 };
enum { ENG_CONV_SLOTS = 0 };
enum { ENG_SCAN_SLOTS = 0 };
enum { ENG_ATTN_KV_PARAM = 0, ENG_ATTN_WINDOW = 1, ENG_ATTN_CAUSAL = 2,
       ENG_ATTN_BLOCK = 3, ENG_ATTN_FIRST = 4, ENG_ATTN_LSE = 5,
       ENG_ATTN_RUN = 6, ENG_ATTN_PERIOD = 7 };
enum { ENG_ATTN_SCALE = 0, ENG_ATTN_SOFTCAP = 1, ENG_ATTN_MAX_BIAS = 2 };
enum { ENG_ATTN_IN_Q = 0, ENG_ATTN_IN_K = 1, ENG_ATTN_IN_V = 2, ENG_ATTN_IN_POS = 3,
       ENG_ATTN_IN_SEQ = 4, ENG_ATTN_IN_CPOS = 5, ENG_ATTN_IN_CSEQ = 6,
       ENG_ATTN_IN_MASK = 7, ENG_ATTN_IN_SINKS = 8, ENG_ATTN_IN_TABLE = 9, ENG_ATTN_IN_CLAST = 10 };
enum { ENG_ATTN_OUT_O = 0, ENG_ATTN_OUT_LSE = 1 };
enum { ENG_NORM_EPS = 0 };        /* fp: every norm                           */
enum { ENG_GROUP_NORM_GROUPS = 0 };
enum { ENG_ROPE_N_DIMS = 0, ENG_ROPE_MODE = 1, ENG_ROPE_N_CTX_ORIG = 2,
       ENG_ROPE_OFFSET = 3, ENG_ROPE_INVERSE = 4, ENG_ROPE_SECTION0 = 5 /* ..8 */ };
enum { ENG_ROPE_BASE = 0, ENG_ROPE_FREQ_SCALE = 1, ENG_ROPE_EXT_FACTOR = 2,
       ENG_ROPE_ATTN_FACTOR = 3, ENG_ROPE_BETA_FAST = 4, ENG_ROPE_BETA_SLOW = 5 };
enum { ENG_ROPE_NORMAL = 0, ENG_ROPE_NEOX = 2, ENG_ROPE_MROPE = 8,
       ENG_ROPE_VISION = 24, ENG_ROPE_IMROPE = 40 };
enum { ENG_SOFT_MAX_SCALE = 0, ENG_SOFT_MAX_MAX_BIAS = 1 };
enum { ENG_SCALE_S = 0, ENG_SCALE_B = 1 };
enum { ENG_CLAMP_MIN = 0, ENG_CLAMP_MAX = 1 };
enum { ENG_UNARY_KIND = 0 };
enum {
#define ENG_UNARY(id, number, ...) ENG_UNARY_##id = number,
#include "ops.def"
    ENG_UNARY_LIMIT
};
/* Flags of a function of unary. */
enum {
    ENG_FUNCTION_ZERO = 1, /* makes 0 of 0                                   */
    ENG_FUNCTION_STEPS = 2 /* jumps: one bit in, another answer out          */
};
enum { ENG_GLU_KIND = 0, ENG_GLU_SWAPPED = 1 };
enum {
#define ENG_GLU(id, number, ...) ENG_GLU_##id = number,
#include "ops.def"
    ENG_GLU_KINDS
};
enum { ENG_GLU_ALPHA = 0, ENG_GLU_LIMIT = 1 };
enum { ENG_CONCAT_DIM = 0 };
enum { ENG_RESHAPE_NE0 = 0 /* ..7: the extents wanted */ };   /* reshape, repeat */
enum { ENG_PERMUTE_DIM0 = 0 /* ..7: result dim i is operand dim ip[i] */ };
enum { ENG_SLICE_DIM = 0, ENG_SLICE_BEGIN = 1, ENG_SLICE_LENGTH = 2 };
enum { ENG_VIEW_NE0 = 0 /* ..7 */, ENG_VIEW_NB0 = 8 /* ..15 */, ENG_VIEW_OFFSET = 16 };
enum { ENG_ARGSORT_DESCENDING = 0 };
enum { ENG_TOP_K_K = 0 };
enum { ENG_PAD_LEFT0 = 0 /* ..7 */, ENG_PAD_RIGHT0 = 8 /* ..15 */ };
enum { ENG_REBASE_BEGIN = 0, ENG_REBASE_END = 1, ENG_REBASE_PERIOD = 2 };

#ifdef __cplusplus
}
#endif
#endif
