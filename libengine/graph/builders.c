/* One builder an op: names for eng_graph_op's arrays. */
#include "config.h"

#include <string.h>

#include "graph.h"

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof *(array))

static eng_value op1(eng_graph *g, uint32_t op, eng_value x)
{
    return eng_graph_op(g, op, &x, 1, NULL, 0, NULL, 0, NULL);
}

static eng_value op2(eng_graph *g, uint32_t op, eng_value a, eng_value b)
{
    eng_value in[] = {a, b};
    return eng_graph_op(g, op, in, 2, NULL, 0, NULL, 0, NULL);
}

static eng_value op1i(eng_graph *g, uint32_t op, eng_value x, const int64_t *ip, uint32_t n)
{
    return eng_graph_op(g, op, &x, 1, ip, n, NULL, 0, NULL);
}

static eng_value norm(eng_graph *g, uint32_t op, const eng_value *in, uint32_t n_in, double eps)
{
    return eng_graph_op(g, op, in, n_in, NULL, 0, &eps, 1, NULL);
}

/* The host's parameters over the defaults, as many as both know. */
static bool take_params(eng_graph *g, void *own, size_t own_size, const void *given, const char *what)
{
    uint32_t size = 0;
    if (given != NULL)
        memcpy(&size, given, sizeof size);
    if (size < 2 * sizeof size) {
        eng_graph_refuse(g, "%s" ENG_CAUSE "the parameters must not be NULL and must have their size" ENG_ADVICE
                         "begin with %s_defaults", what, what);
        return false;
    }
    memcpy(own, given, size < own_size ? size : own_size);
    return true;
}

static int status_of(const eng_graph *g, eng_value v)
{
    return v >= 0 ? ENG_OK : g != NULL && g->status != ENG_OK ? g->status : ENG_ERR_STATE;
}

eng_value eng_mul_mat(eng_graph *g, eng_value a, eng_value b)
{
    return op2(g, ENG_OP_MUL_MAT, a, b);
}

eng_value eng_mul_mat_id(eng_graph *g, eng_value a, eng_value b, eng_value ids)
{
    eng_value in[] = {a, b, ids};
    return eng_graph_op(g, ENG_OP_MUL_MAT_ID, in, 3, NULL, 0, NULL, 0, NULL);
}

eng_value eng_hadamard(eng_graph *g, eng_value x, int64_t group)
{
    return op1i(g, ENG_OP_HADAMARD, x, &group, 1);
}

eng_value eng_quantize(eng_graph *g, eng_value x, uint32_t type, int search)
{
    int64_t ip[] = {type, search != 0};
    return op1i(g, ENG_OP_QUANTIZE, x, ip, COUNT(ip));
}

eng_value eng_dequantize(eng_graph *g, eng_value x, uint32_t type)
{
    int64_t ip[] = {type};
    return op1i(g, ENG_OP_DEQUANTIZE, x, ip, COUNT(ip));
}

eng_value eng_cpy(eng_graph *g, eng_value x, uint32_t type)
{
    int64_t ip[] = {type};
    return op1i(g, ENG_OP_CPY, x, ip, COUNT(ip));
}

eng_value eng_cont(eng_graph *g, eng_value x)
{
    const eng_tensor *t = eng_graph_get(g, x);
    return eng_cpy(g, x, t != NULL ? t->type : ENG_TYPE_F32);
}

int eng_store_value(eng_graph *g, eng_value dst, eng_value x)
{
    return status_of(g, op2(g, ENG_OP_STORE, dst, x));
}

eng_value eng_gated_delta_net(eng_graph *g, eng_value q, eng_value k, eng_value v, eng_value gate, eng_value beta,
                              eng_value state, eng_value src, eng_value dst, eng_value cu, int grouped, int64_t slots)
{
    eng_value in[] = {q, k, v, gate, beta, state, src, dst, cu};
    int64_t ip[] = {grouped != 0, slots};
    return eng_graph_op(g, ENG_OP_GATED_DELTA_NET, in, COUNT(in), ip, COUNT(ip), NULL, 0, NULL);
}

eng_value eng_ssm_conv(eng_graph *g, eng_value x, eng_value w, eng_value state, eng_value src, eng_value dst,
                       eng_value cu, int64_t slots)
{
    eng_value in[] = {x, w, state, src, dst, cu};
    return eng_graph_op(g, ENG_OP_SSM_CONV, in, COUNT(in), &slots, 1, NULL, 0, NULL);
}

eng_value eng_ssm_scan(eng_graph *g, eng_value x, eng_value dt, eng_value a, eng_value b, eng_value c, eng_value state,
                       eng_value src, eng_value dst, eng_value cu, int64_t slots)
{
    eng_value in[] = {x, dt, a, b, c, state, src, dst, cu};
    return eng_graph_op(g, ENG_OP_SSM_SCAN, in, COUNT(in), &slots, 1, NULL, 0, NULL);
}

void eng_attention_defaults(eng_attention_params *p)
{
    *p = (eng_attention_params){.size = sizeof *p, .kv_param = -1, .causal = 1, .scale = 1,
                                .pos = ENG_NO_VALUE, .seq = ENG_NO_VALUE, .cpos = ENG_NO_VALUE, .cseq = ENG_NO_VALUE,
                                .mask = ENG_NO_VALUE, .sinks = ENG_NO_VALUE, .table = ENG_NO_VALUE,
                                .clast = ENG_NO_VALUE};
}

eng_value eng_attention(eng_graph *g, eng_value q, eng_value k, eng_value v, const eng_attention_params *given)
{
    eng_attention_params own, *p = &own;
    eng_attention_defaults(p);
    if (!take_params(g, p, sizeof *p, given, "eng_attention"))
        return ENG_BAD_VALUE;
    eng_value in[] = {q, k, v, p->pos, p->seq, p->cpos, p->cseq, p->mask, p->sinks, p->table, p->clast};
    int64_t ip[] = {p->kv_param, p->window, p->causal != 0, p->block, p->first, p->lse != NULL, p->run,
                    p->period};
    double fp[] = {p->scale, p->softcap, p->max_bias};
    eng_value out[ENG_MAX_OUTPUTS];
    eng_value o = eng_graph_op(g, ENG_OP_ATTENTION, in, COUNT(in), ip, COUNT(ip), fp, COUNT(fp), out);
    if (p->lse != NULL)
        *p->lse = o < 0 ? o : out[1];
    return o;
}

eng_value eng_get_rows(eng_graph *g, eng_value a, eng_value ids)
{
    return op2(g, ENG_OP_GET_ROWS, a, ids);
}

int eng_set_rows(eng_graph *g, eng_value a, eng_value b, eng_value ids)
{
    eng_value in[] = {a, b, ids};
    return status_of(g, eng_graph_op(g, ENG_OP_SET_ROWS, in, COUNT(in), NULL, 0, NULL, 0, NULL));
}

eng_value eng_rms_norm(eng_graph *g, eng_value x, eng_value w, double eps)
{
    eng_value in[] = {x, w};
    return norm(g, ENG_OP_RMS_NORM, in, COUNT(in), eps);
}

eng_value eng_norm(eng_graph *g, eng_value x, eng_value w, eng_value bias, double eps)
{
    eng_value in[] = {x, w, bias};
    return norm(g, ENG_OP_NORM, in, COUNT(in), eps);
}

eng_value eng_l2_norm(eng_graph *g, eng_value x, double eps)
{
    return norm(g, ENG_OP_L2_NORM, &x, 1, eps);
}

eng_value eng_group_norm(eng_graph *g, eng_value x, int64_t groups, double eps)
{
    return eng_graph_op(g, ENG_OP_GROUP_NORM, &x, 1, &groups, 1, &eps, 1, NULL);
}

void eng_rope_defaults(eng_rope_params *p)
{
    *p = (eng_rope_params){.size = sizeof *p, .mode = ENG_ROPE_NEOX, .base = 10000, .freq_scale = 1, .attn_factor = 1,
                           .beta_fast = 32, .beta_slow = 1};
}

eng_value eng_rope(eng_graph *g, eng_value x, eng_value pos, eng_value ff, const eng_rope_params *given)
{
    eng_rope_params own, *p = &own;
    eng_rope_defaults(p);
    if (!take_params(g, p, sizeof *p, given, "eng_rope"))
        return ENG_BAD_VALUE;
    eng_value in[] = {x, pos, ff};
    int64_t ip[] = {p->n_dims, p->mode, p->n_ctx_orig, p->offset, p->inverse != 0,
                    p->sections[0], p->sections[1], p->sections[2], p->sections[3]};
    double fp[] = {p->base, p->freq_scale, p->ext_factor, p->attn_factor, p->beta_fast, p->beta_slow};
    return eng_graph_op(g, ENG_OP_ROPE, in, COUNT(in), ip, COUNT(ip), fp, COUNT(fp), NULL);
}

eng_value eng_soft_max(eng_graph *g, eng_value x, eng_value mask, eng_value sinks, double scale, double max_bias)
{
    eng_value in[] = {x, mask, sinks};
    double fp[] = {scale, max_bias};
    return eng_graph_op(g, ENG_OP_SOFT_MAX, in, COUNT(in), NULL, 0, fp, COUNT(fp), NULL);
}

eng_value eng_add(eng_graph *g, eng_value a, eng_value b)
{
    return op2(g, ENG_OP_ADD, a, b);
}

eng_value eng_sub(eng_graph *g, eng_value a, eng_value b)
{
    return op2(g, ENG_OP_SUB, a, b);
}

eng_value eng_mul(eng_graph *g, eng_value a, eng_value b)
{
    return op2(g, ENG_OP_MUL, a, b);
}

eng_value eng_div(eng_graph *g, eng_value a, eng_value b)
{
    return op2(g, ENG_OP_DIV, a, b);
}

eng_value eng_scale(eng_graph *g, eng_value x, double s, double b)
{
    double fp[] = {s, b};
    return eng_graph_op(g, ENG_OP_SCALE, &x, 1, NULL, 0, fp, COUNT(fp), NULL);
}

eng_value eng_clamp(eng_graph *g, eng_value x, double min, double max)
{
    double fp[] = {min, max};
    return eng_graph_op(g, ENG_OP_CLAMP, &x, 1, NULL, 0, fp, COUNT(fp), NULL);
}

eng_value eng_unary(eng_graph *g, eng_value x, int kind)
{
    int64_t ip[] = {kind};
    return op1i(g, ENG_OP_UNARY, x, ip, COUNT(ip));
}

void eng_glu_defaults(eng_glu_params *p)
{
    *p = (eng_glu_params){.size = sizeof *p, .alpha = 1.702, .limit = 7};
}

eng_value eng_glu(eng_graph *g, eng_value a, eng_value b, int kind, const eng_glu_params *given)
{
    eng_glu_params own, *p = &own;
    eng_glu_defaults(p);
    if (given != NULL && !take_params(g, p, sizeof *p, given, "eng_glu"))
        return ENG_BAD_VALUE;
    eng_value in[] = {a, b};
    int64_t ip[] = {kind, p->swapped != 0};
    double fp[] = {p->alpha, p->limit};
    return eng_graph_op(g, ENG_OP_GLU, in, COUNT(in), ip, COUNT(ip), fp, COUNT(fp), NULL);
}

eng_value eng_add_id(eng_graph *g, eng_value a, eng_value b, eng_value ids)
{
    eng_value in[] = {a, b, ids};
    return eng_graph_op(g, ENG_OP_ADD_ID, in, COUNT(in), NULL, 0, NULL, 0, NULL);
}

eng_value eng_concat(eng_graph *g, eng_value a, eng_value b, int dim)
{
    eng_value in[] = {a, b};
    int64_t ip[] = {dim};
    return eng_graph_op(g, ENG_OP_CONCAT, in, COUNT(in), ip, COUNT(ip), NULL, 0, NULL);
}

/* Extents filled up with 1. */
static bool extents(const int64_t *ne, uint32_t rank, int64_t fill, int64_t out[ENG_MAX_RANK])
{
    if (rank > ENG_MAX_RANK || (rank > 0 && ne == NULL))
        return false;
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        out[d] = d < rank ? ne[d] : fill;
    return true;
}

static eng_value bad_extents(eng_graph *g, uint32_t op)
{
    eng_graph_refuse(g, "%s" ENG_CAUSE "the array must not be NULL, nor its rank more than %d", eng_op_get(op)->name,
                     ENG_MAX_RANK);
    return ENG_BAD_VALUE;
}

static eng_value with_extents(eng_graph *g, uint32_t op, eng_value x, const int64_t *ne, uint32_t rank)
{
    int64_t ip[ENG_MAX_RANK];
    if (!extents(ne, rank, 1, ip))
        return bad_extents(g, op);
    return op1i(g, op, x, ip, COUNT(ip));
}

eng_value eng_repeat(eng_graph *g, eng_value x, const int64_t *ne, uint32_t rank)
{
    return with_extents(g, ENG_OP_REPEAT, x, ne, rank);
}

eng_value eng_reshape(eng_graph *g, eng_value x, const int64_t *ne, uint32_t rank)
{
    return with_extents(g, ENG_OP_RESHAPE, x, ne, rank);
}

eng_value eng_pad(eng_graph *g, eng_value x, const int64_t *left, const int64_t *right, uint32_t rank)
{
    int64_t ip[2 * ENG_MAX_RANK];
    if (!extents(left, rank, 0, ip) || !extents(right, rank, 0, ip + ENG_MAX_RANK))
        return bad_extents(g, ENG_OP_PAD);
    return op1i(g, ENG_OP_PAD, x, ip, COUNT(ip));
}

eng_value eng_permute(eng_graph *g, eng_value x, const int *dims, uint32_t rank)
{
    int64_t ip[ENG_MAX_RANK];
    if (rank > ENG_MAX_RANK || (rank > 0 && dims == NULL))
        return bad_extents(g, ENG_OP_PERMUTE);
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        ip[d] = d < rank ? dims[d] : (int64_t)d;
    return op1i(g, ENG_OP_PERMUTE, x, ip, COUNT(ip));
}

eng_value eng_slice(eng_graph *g, eng_value x, int dim, int64_t begin, int64_t length)
{
    int64_t ip[] = {dim, begin, length};
    return op1i(g, ENG_OP_SLICE, x, ip, COUNT(ip));
}

eng_value eng_view(eng_graph *g, eng_value x, const int64_t *ne, const int64_t *nb, uint32_t rank, int64_t offset)
{
    int64_t ip[2 * ENG_MAX_RANK + 1];
    if (!extents(ne, rank, 1, ip + ENG_VIEW_NE0) || !extents(nb, rank, 0, ip + ENG_VIEW_NB0))
        return bad_extents(g, ENG_OP_VIEW);
    ip[ENG_VIEW_OFFSET] = offset;
    return op1i(g, ENG_OP_VIEW, x, ip, COUNT(ip));
}

eng_value eng_argmax(eng_graph *g, eng_value x)
{
    return op1(g, ENG_OP_ARGMAX, x);
}

eng_value eng_argsort(eng_graph *g, eng_value x, int descending)
{
    int64_t ip[] = {descending != 0};
    return op1i(g, ENG_OP_ARGSORT, x, ip, COUNT(ip));
}

eng_value eng_cumsum(eng_graph *g, eng_value x)
{
    return op1(g, ENG_OP_CUMSUM, x);
}

eng_value eng_top_k(eng_graph *g, eng_value x, int64_t k)
{
    return op1i(g, ENG_OP_TOP_K, x, &k, 1);
}

eng_value eng_sum_rows(eng_graph *g, eng_value x)
{
    return op1(g, ENG_OP_SUM_ROWS, x);
}
