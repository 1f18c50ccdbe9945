/* The op table of the oracle. */
#include "config.h"

#include "ref.h"

#include <string.h>

int ref_eval(ref_call *c)
{
    memset(c->out, 0, sizeof c->out);
    c->n_out = 0;
    switch (c->op) {
    case ENG_OP_MUL_MAT: return ref_mul_mat(c);
    case ENG_OP_MUL_MAT_ID: return ref_mul_mat_id(c);
    case ENG_OP_HADAMARD: return ref_hadamard(c);
    case ENG_OP_QUANTIZE:
    case ENG_OP_DEQUANTIZE:
    case ENG_OP_CPY: return ref_copy(c);
    case ENG_OP_STORE: return ref_store(c);
    case ENG_OP_GATED_DELTA_NET: return ref_gated_delta_net(c);
    case ENG_OP_SSM_CONV: return ref_ssm_conv(c);
    case ENG_OP_ATTENTION: return ref_attention(c);
    case ENG_OP_GET_ROWS: return ref_get_rows(c);
    case ENG_OP_SET_ROWS: return ref_set_rows(c);
    case ENG_OP_RMS_NORM:
    case ENG_OP_NORM:
    case ENG_OP_L2_NORM: return ref_norms(c);
    case ENG_OP_GROUP_NORM: return ref_group_norm(c);
    case ENG_OP_ROPE: return ref_rope(c);
    case ENG_OP_SOFT_MAX: return ref_soft_max(c);
    case ENG_OP_ADD:
    case ENG_OP_SUB:
    case ENG_OP_MUL:
    case ENG_OP_DIV: return ref_binary(c);
    case ENG_OP_SCALE: return ref_scale(c);
    case ENG_OP_UNARY: return ref_unary(c);
    case ENG_OP_GLU: return ref_glu(c);
    case ENG_OP_CONCAT: return ref_concat(c);
    case ENG_OP_REPEAT: return ref_repeat(c);
    case ENG_OP_PAD: return ref_pad(c);
    case ENG_OP_RESHAPE:
    case ENG_OP_PERMUTE:
    case ENG_OP_SLICE: return ref_view(c);
    case ENG_OP_ARGMAX: return ref_argmax(c);
    case ENG_OP_TOP_K: return ref_top_k(c);
    case ENG_OP_SUM_ROWS: return ref_sum_rows(c);
    case ENG_OP_REBASE: return ref_rebase(c);
    default: return -2;
    }
}
