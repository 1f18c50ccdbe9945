/* Recording a small graph, with the oracle's values. */
#include "config.h"

#include "net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steele, Lea, Flood: SplitMix64. */
static uint64_t next_random(void *ctx)
{
    uint64_t *state = ctx, z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static net_value *new_value(net *g, int *index)
{
    if (g->n == NET_NODES) {
        g->failed = true;
        g->n--; /* the last is overwritten: the graph has failed anyway */
    }
    net_value *v = &g->v[g->n];
    *index = g->n++;
    memset(v, 0, sizeof *v);
    v->from = NET_NONE;
    return v;
}

static void decode(net *g, net_value *v)
{
    ref_free(&v->want);
    if (!v->before || !ref_alloc(&v->want, v->ne, v->rank, true, true)) {
        g->failed = true;
        return;
    }
    ref_decode(v->type, v->before, v->want.data, ref_count(&v->want));
    for (int64_t i = 0; i < ref_count(&v->want); i++)
        v->want.mag[i] = fabs(v->want.data[i]);
}

int net_tensor(net *g, const char *name, uint32_t type, uint32_t use, double lo, double hi, const int64_t *ne,
               uint32_t rank)
{
    int index;
    net_value *v = new_value(g, &index);
    int64_t n = 1;

    v->name = name;
    v->type = type;
    v->use = use;
    v->rank = rank;
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        n *= v->ne[d] = d < rank ? ne[d] : 1;
    v->n_bytes = (uint64_t)(n / ref_block(type)) * ref_block_bytes(type);
    v->before = calloc(v->n_bytes + 1, 1);
    if (!v->before) {
        g->failed = true;
        return index;
    }
    if (ref_block(type) > 1)
        ref_random_blocks(type, v->before, n, 1, next_random, &g->random);
    for (int64_t i = 0; ref_block(type) == 1 && type != ENG_TYPE_I32 && i < n; i++) {
        double x = lo + (hi - lo) * (double)(next_random(&g->random) >> 11) * 0x1p-53;
        ref_encode(type, &x, v->before + (uint64_t)i * ref_block_bytes(type), 1, false);
    }
    decode(g, v);
    return index;
}

void net_axis(net *g, int value, int dim, const char *factors)
{
    g->v[value].axes[dim] = factors;
}

void net_set(net *g, int value, int64_t i, double x)
{
    net_value *v = &g->v[value];

    if (!v->before)
        return;
    ref_encode(v->type, &x, v->before + (uint64_t)i * ref_block_bytes(v->type), 1, false);
    v->want.data[i] = x;
}

/* The type of the first result, as the op's row has it. */
static uint32_t result_type(const net *g, const eng_op_info *info, const int *in, const int64_t *ip)
{
    const eng_rule_operand *out = &info->out[0];
    uint32_t type = ENG_TYPE_F32;

    if (out->type_source == ENG_TYPE_OF_PARAM)
        return (uint32_t)ip[out->type_index];
    if (out->type_source == ENG_TYPE_OF_OPERAND)
        return g->v[in[out->type_index]].type;
    while (info->n_out && !(out->types >> type & 1))
        type = (type + 1) % ENG_TYPE_LIMIT;
    return type;
}

int net_op(net *g, uint32_t op, const int *in, const int64_t *ip, const double *fp)
{
    static const int64_t no_ip[ENG_MAX_IPARAMS];
    static const double no_fp[ENG_MAX_FPARAMS];
    const eng_op_info *info = eng_op_get(op);
    ref_call call = {.op = op, .params = g->params};
    int index;
    net_value *v = new_value(g, &index);
    uint32_t n = 0;

    v->op = op;
    memcpy(v->ip, ip ? ip : no_ip, sizeof v->ip);
    memcpy(v->fp, fp ? fp : no_fp, sizeof v->fp);
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++)
        v->in[i] = NET_NONE;
    for (; in[n] != -2; n++) {
        v->in[n] = in[n];
        call.in[n] = in[n] >= 0 ? &g->v[in[n]].want : NULL;
        if (in[n] >= 0 && info->in[n].inout)
            g->v[in[n]].written = true;
    }
    memcpy(call.ip, v->ip, sizeof call.ip);
    memcpy(call.fp, v->fp, sizeof call.fp);
    v->type = call.out_type = result_type(g, info, v->in, v->ip);
    if (g->failed || ref_eval(&call) != 0) {
        g->failed = true;
        return index;
    }
    v->want = call.out[0];
    memcpy(v->ne, v->want.ne, sizeof v->ne);
    return index;
}

int net_unary_op(net *g, uint32_t op, int a)
{
    return net_op(g, op, NET_IN(a), NULL, NULL);
}

int net_binary_op(net *g, uint32_t op, int a, int b)
{
    return net_op(g, op, NET_IN(a, b), NULL, NULL);
}

int net_reshape(net *g, int x, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return net_op(g, ENG_OP_RESHAPE, NET_IN(x), (const int64_t[ENG_MAX_IPARAMS]){a, b, c, d, 1, 1, 1, 1}, NULL);
}

int net_permute(net *g, int x, int a, int b, int c, int d)
{
    return net_op(g, ENG_OP_PERMUTE, NET_IN(x), (const int64_t[ENG_MAX_IPARAMS]){a, b, c, d, 4, 5, 6, 7}, NULL);
}

int net_slice(net *g, int x, int dim, int64_t begin, int64_t length)
{
    return net_op(g, ENG_OP_SLICE, NET_IN(x), (const int64_t[ENG_MAX_IPARAMS]){dim, begin, length}, NULL);
}

void net_output(net *g, int value)
{
    int index;
    net_value *v = new_value(g, &index), *from = &g->v[value];

    v->name = "out";
    v->type = from->type;
    v->use = ENG_USE_OUTPUT;
    v->output = true;
    v->from = value;
    memcpy(v->ne, from->ne, sizeof v->ne);
    v->rank = ENG_MAX_RANK;
    while (v->rank > 1 && v->ne[v->rank - 1] == 1)
        v->rank--;
    v->n_bytes = (uint64_t)(ref_count(&from->want) / ref_block(v->type)) * ref_block_bytes(v->type);
    v->before = malloc(v->n_bytes + 1);
    if (!v->before)
        g->failed = true;
    else
        memset(v->before, 0xff, v->n_bytes);
}

void net_free(net *g)
{
    for (int i = 0; i < g->n; i++) {
        free(g->v[i].before);
        ref_free(&g->v[i].want);
    }
    g->n = 0;
}
