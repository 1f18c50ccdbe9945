/*
 * Shape checks that the rule language cannot express: parameters that decide
 * extents, views, and operands that depend on one another in other ways.
 */
#include "config.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>

#include "graph.h"

static int copy_shape(eng_inference *f)
{
    memcpy(f->out[0].ne, f->in[0]->ne, sizeof f->out[0].ne);
    return ENG_OK;
}

static int whole_blocks(eng_inference *f, const eng_tensor *t, const char *what)
{
    const eng_type_info *type = eng_tensor_type(t);
    if (t->ne[0] % type->block != 0)
        return eng_graph_fail(f, "dimension 0 of %s must be a multiple of the %" PRIu32 " elements of a %s block, got %"
                              PRId64, what, type->block, type->name, t->ne[0]);
    return ENG_OK;
}

/* A view's extents are those of a tensor that could be: without the zeros of an empty one, and where elements overlap. */
static int extents_fit(eng_inference *f, const eng_tensor *t, const char *what)
{
    int status = whole_blocks(f, t, what);
    if (status == ENG_OK && !eu_shape_layout(eng_tensor_type(t), t->ne, ENG_MAX_RANK, NULL, NULL))
        return eng_graph_fail(f, "%s must have extents that, without zeros, multiply to no more than 62 bits", what);
    return status;
}

static bool is_index(uint32_t type)
{
    return type == ENG_TYPE_I32 || type == ENG_TYPE_I64;
}

/* Integers convert to integers, and to and from f32. */
static int convertible(eng_inference *f, const eng_tensor *from, const eng_tensor *to)
{
    const eng_tensor *index = is_index(from->type) ? from : to, *other = index == from ? to : from;
    if (is_index(from->type) == is_index(to->type) || other->type == ENG_TYPE_F32)
        return ENG_OK;
    return eng_graph_fail(f, "what %s converts to or from must be f32, i32 or i64, got %s",
                          eng_tensor_type(index)->name, eng_tensor_type(other)->name);
}

static int convert(eng_inference *f)
{
    const eng_type_info *to = eng_tensor_type(&f->out[0]);
    bool floats = to->type == ENG_TYPE_F32 || to->type == ENG_TYPE_F16 || to->type == ENG_TYPE_BF16;
    copy_shape(f);
    if (f->info->op == ENG_OP_DEQUANTIZE && !floats)
        return eng_graph_fail(f, "the result's type must be f32, f16 or bf16, got %s", to->name);
    if (f->info->op == ENG_OP_QUANTIZE && is_index(to->type))
        return eng_graph_fail(f, "the result's type must be a float or a block type, got %s" ENG_ADVICE "use cpy",
                              to->name);
    int status = convertible(f, f->in[0], &f->out[0]);
    return status == ENG_OK ? whole_blocks(f, &f->out[0], "the result") : status;
}

static int same_shape(eng_inference *f, const eng_tensor *a, const eng_tensor *b, const char *what)
{
    for (int d = 0; d < ENG_MAX_RANK; d++)
        if (a->ne[d] != b->ne[d])
            return eng_graph_fail(f, "dimension %d of %s must be equal, got %" PRId64 " and %" PRId64, d, what,
                                  a->ne[d], b->ne[d]);
    return ENG_OK;
}

static int store(eng_inference *f)
{
    int status = convertible(f, f->in[1], f->in[0]);
    return status == ENG_OK ? same_shape(f, f->in[0], f->in[1], "dst and x") : status;
}

static int slots(eng_inference *f, int64_t n, int64_t sequences, const eng_tensor *cu, const eng_tensor *dst)
{
    if (cu->ne[0] != sequences + 1)
        return eng_graph_fail(f, "cu must have one entry more than the %" PRId64 " sequences of src, got %" PRId64,
                              sequences, cu->ne[0]);
    if (n < 0 || n > dst->ne[0])
        return eng_graph_fail(f, "slots must be from 0 to dst's %" PRId64 ", got %" PRId64, dst->ne[0], n);
    return ENG_OK;
}

static int gated_delta_net(eng_inference *f)
{
    const eng_tensor *state = f->in[5];
    if (state->ne[0] != f->in[0]->ne[0] || state->ne[1] != f->in[0]->ne[0])
        return eng_graph_fail(f, "state must be the head size squared per head, %" PRId64 " x %" PRId64 ", got %" PRId64
                              " x %" PRId64, f->in[0]->ne[0], f->in[0]->ne[0], state->ne[0], state->ne[1]);
    return slots(f, f->node->ip[ENG_GDN_SLOTS], f->in[6]->ne[0], f->in[8], f->in[7]);
}

static int ssm_conv(eng_inference *f)
{
    const eng_tensor *w = f->in[1], *state = f->in[2];
    if (w->ne[0] < 1 || state->ne[0] != w->ne[0] - 1)
        return eng_graph_fail(f, "the window of a kernel of %" PRId64 " taps must be one less, got %" PRId64, w->ne[0],
                              state->ne[0]);
    return slots(f, f->node->ip[ENG_CONV_SLOTS], f->in[3]->ne[0], f->in[5], f->in[4]);
}

static int ssm_scan(eng_inference *f)
{
    return slots(f, f->node->ip[ENG_SCAN_SLOTS], f->in[6]->ne[0], f->in[8], f->in[7]);
}

/* Do the numbers of all cells in the cache that they are a part of fit 64 bits? */
static bool can_be_numbered(const int64_t *ip, int64_t cells)
{
    int64_t first = ip[ENG_ATTN_FIRST], run = ip[ENG_ATTN_RUN], period = ip[ENG_ATTN_PERIOD];
    if (period == 0)
        return first <= INT64_MAX - cells;
    return first <= INT64_MAX - run && cells / run <= (INT64_MAX - run - first) / period;
}

static int attention(eng_inference *f)
{
    const eng_tensor *const *in = f->in;
    const int64_t *ip = f->node->ip;
    bool cells = in[5] != NULL || in[6] != NULL, table = in[9] != NULL;
    if (ip[ENG_ATTN_KV_PARAM] < -1 || ip[ENG_ATTN_KV_PARAM] >= (int64_t)f->graph->n_params)
        return eng_graph_fail(f, "kv_param must be one of the graph's %" PRIu32 " plan parameters, or -1 for none, "
                              "got %" PRId64, f->graph->n_params, ip[ENG_ATTN_KV_PARAM]);
    if (table && ip[ENG_ATTN_BLOCK] <= 0)
        return eng_graph_fail(f, "block must be positive with a block table, got %" PRId64, ip[ENG_ATTN_BLOCK]);
    if (table && (cells || in[4] == NULL))
        return eng_graph_fail(f, "seq must be given with a block table, and cpos and cseq must not, got %s%s%s",
                              in[4] ? "seq" : "no seq", in[5] ? ", cpos" : "", in[6] ? ", cseq" : "");
    if (!table && (in[4] != NULL) != (in[6] != NULL))
        return eng_graph_fail(f, "seq and cseq must be given together, got %s alone", in[4] ? "seq" : "cseq");
    if (in[10] && !in[6])
        return eng_graph_fail(f, "clast must be given with cseq, got it alone");
    if (ip[ENG_ATTN_WINDOW] < 0)
        return eng_graph_fail(f, "window must not be negative, got %" PRId64, ip[ENG_ATTN_WINDOW]);
    if (ip[ENG_ATTN_FIRST] < 0 || (ip[ENG_ATTN_FIRST] > 0 && table))
        return eng_graph_fail(f, "first must %s, got %" PRId64, table ? "be 0 with a block table" : "not be negative",
                              ip[ENG_ATTN_FIRST]);
    int64_t run = ip[ENG_ATTN_RUN], period = ip[ENG_ATTN_PERIOD];
    if (period < 0 || run < (period > 0) || run > period || (period > 0 && table))
        return eng_graph_fail(f, "run and period must be 0%s, got %" PRId64 " and %" PRId64,
                              table ? " with a block table" : ", or 0 < run <= period", run, period);
    if (!can_be_numbered(ip, in[1]->ne[1]))
        return eng_graph_fail(f, "the numbers of cells must fit 63 bits, got first %" PRId64 " and period %" PRId64
                              ENG_ADVICE "first and period count cells of one cache", ip[ENG_ATTN_FIRST], period);
    f->absent[1] = ip[ENG_ATTN_LSE] == 0;
    return ENG_OK;
}

static int rope(eng_inference *f)
{
    const eng_tensor *x = f->in[0], *pos = f->in[1], *ff = f->in[2];
    int64_t mode = f->node->ip[ENG_ROPE_MODE], n = f->node->ip[ENG_ROPE_N_DIMS], offset = f->node->ip[ENG_ROPE_OFFSET];
    bool multi = mode == ENG_ROPE_MROPE || mode == ENG_ROPE_IMROPE || mode == ENG_ROPE_VISION;
    if (!multi && mode != ENG_ROPE_NORMAL && mode != ENG_ROPE_NEOX)
        return eng_graph_fail(f, "mode must be one of ENG_ROPE_*, got %" PRId64, mode);
    if (n < 0 || n % 2 != 0 || offset < 0 || offset % 2 != 0 || offset > x->ne[0] || n > x->ne[0] - offset)
        return eng_graph_fail(f, "n_dims and offset must be an even range of the %" PRId64 " channels, got %" PRId64
                              " from number %" PRId64 " on", x->ne[0], n, offset);
    if (mode == ENG_ROPE_VISION && (n * 2 != x->ne[0] || offset != 0))
        return eng_graph_fail(f, "n_dims must be half of the %" PRId64 " channels in vision mode, and offset 0, got %"
                              PRId64 " and %" PRId64, x->ne[0], n, offset);
    for (int i = 0; i < 4 && multi; i++) {
        const int64_t section = f->node->ip[ENG_ROPE_SECTION0 + i];
        if (section < 0 || section > INT32_MAX)
            return eng_graph_fail(f, "section %d must be a number of pairs, got %" PRId64, i, section);
    }
    if (pos->ne[1] != (multi ? 4 : 1))
        return eng_graph_fail(f, "pos must be [t,%d] in mode %" PRId64 ", got dimension 1 of %" PRId64, multi ? 4 : 1,
                              mode, pos->ne[1]);
    int64_t pairs = mode == ENG_ROPE_VISION ? n : n / 2;
    if (ff != NULL && ff->ne[0] < pairs)
        return eng_graph_fail(f, "ff must have one entry for each of the %" PRId64 " pairs, got %" PRId64, pairs,
                              ff->ne[0]);
    if (!(f->node->fp[ENG_ROPE_BASE] > 0))
        return eng_graph_fail(f, "base must be positive, got %g", f->node->fp[ENG_ROPE_BASE]);
    return ENG_OK;
}

static int glu(eng_inference *f)
{
    copy_shape(f);
    if (f->node->ip[ENG_GLU_KIND] < 0 || f->node->ip[ENG_GLU_KIND] >= ENG_GLU_KINDS)
        return eng_graph_fail(f, "kind must be one of ENG_GLU_*, got %" PRId64, f->node->ip[ENG_GLU_KIND]);
    if (f->in[1] != NULL)
        return same_shape(f, f->in[0], f->in[1], "a and b");
    if (f->in[0]->ne[0] % 2 != 0)
        return eng_graph_fail(f, "dimension 0 must be even where b is not given, got %" PRId64, f->in[0]->ne[0]);
    f->out[0].ne[0] /= 2;
    return ENG_OK;
}

static int concat(eng_inference *f)
{
    int64_t dim = f->node->ip[ENG_CONCAT_DIM];
    if (dim < 0 || dim >= ENG_MAX_RANK)
        return eng_graph_fail(f, "dim must be from 0 to %d, got %" PRId64, ENG_MAX_RANK - 1, dim);
    if (f->in[0]->type != f->in[1]->type)
        return eng_graph_fail(f, "the operands' types must be equal, got %s and %s", eng_tensor_type(f->in[0])->name,
                              eng_tensor_type(f->in[1])->name);
    copy_shape(f);
    f->out[0].ne[dim] = f->in[1]->ne[dim];
    int status = same_shape(f, &f->out[0], f->in[1], "a and b");
    f->out[0].ne[dim] += f->in[0]->ne[dim];
    return status;
}

static int repeat(eng_inference *f)
{
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        int64_t from = f->in[0]->ne[d], to = f->node->ip[ENG_RESHAPE_NE0 + d];
        if (to < 0 || (from == 0 ? to != 0 : to % from != 0))
            return eng_graph_fail(f, "dimension %d must become a multiple of %" PRId64 ", got %" PRId64, d, from, to);
        f->out[0].ne[d] = to;
    }
    return ENG_OK;
}

static int pad(eng_inference *f)
{
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        int64_t left = f->node->ip[ENG_PAD_LEFT0 + d], right = f->node->ip[ENG_PAD_RIGHT0 + d];
        if (left < 0 || right < 0 || left > INT32_MAX || right > INT32_MAX)
            return eng_graph_fail(f, "padding of dimension %d must be from 0 to %" PRId32 ", got %" PRId64 " and %"
                                  PRId64, d, INT32_MAX, left, right);
        f->out[0].ne[d] = f->in[0]->ne[d] + left + right;
    }
    return ENG_OK;
}

/* -- views ---------------------------------------------------------------------- */

static void view_of(eng_inference *f)
{
    f->out[0].root = f->in[0]->root;
    f->out[0].layout = f->in[0]->layout;
    f->out[0].offset = f->in[0]->offset;
    f->out[0].binding = -1;
    f->out[0].bytes = 0;
}

static int reshape(eng_inference *f)
{
    int64_t n = 1;
    eng_tensor *y = &f->out[0];
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        int64_t e = f->node->ip[ENG_RESHAPE_NE0 + d];
        if (e < 0 || (e > 0 && n > INT64_MAX / e))
            return eng_graph_fail(f, "extent %d must not be negative nor make more than 63 bits of elements, got %"
                                  PRId64, d, e);
        y->ne[d] = e;
        n *= e;
    }
    if (n != eng_tensor_elements(f->in[0]))
        return eng_graph_fail(f, "the new extents must have the %" PRId64 " elements of x, got %" PRId64,
                              eng_tensor_elements(f->in[0]), n);
    view_of(f);
    if (n == 0 || eng_tensor_contiguous(f->in[0])) {
        if (!eng_tensor_layout(y))
            return extents_fit(f, y, "the result");
        y->bytes = 0;
        return ENG_OK;
    }
    if (!eu_shape_regroup(eng_tensor_type(f->in[0]), f->in[0]->ne, f->in[0]->nb, y->ne, y->nb))
        return eng_graph_fail(f, "x must be contiguous where the new extents cut it" ENG_ADVICE
                              "copy it with cont first");
    return ENG_OK;
}

static int permute(eng_inference *f)
{
    unsigned seen = 0;
    view_of(f);
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        int64_t from = f->node->ip[ENG_PERMUTE_DIM0 + d];
        if (from < 0 || from >= ENG_MAX_RANK || (seen >> from & 1))
            return eng_graph_fail(f, "the dimensions must be a permutation of 0 to %d, got %" PRId64 " in place %d",
                                  ENG_MAX_RANK - 1, from, d);
        seen |= 1u << from;
        if (d == 0 && from != 0 && eng_tensor_type(f->in[0])->block > 1)
            return eng_graph_fail(f, "dimension 0 of a block type must stay where it is, got dimension %" PRId64
                                  " for it" ENG_ADVICE "dequantize first", from);
        f->out[0].ne[d] = f->in[0]->ne[from];
        f->out[0].nb[d] = f->in[0]->nb[from];
    }
    return ENG_OK;
}

static int slice(eng_inference *f)
{
    int64_t dim = f->node->ip[ENG_SLICE_DIM], begin = f->node->ip[ENG_SLICE_BEGIN], n = f->node->ip[ENG_SLICE_LENGTH];
    if (dim < 0 || dim >= ENG_MAX_RANK)
        return eng_graph_fail(f, "dim must be from 0 to %d, got %" PRId64, ENG_MAX_RANK - 1, dim);
    if (begin < 0 || n < 0 || begin > f->in[0]->ne[dim] || n > f->in[0]->ne[dim] - begin)
        return eng_graph_fail(f, "the slice must be within the %" PRId64 " of dimension %" PRId64 ", got %" PRId64
                              " from number %" PRId64 " on", f->in[0]->ne[dim], dim, n, begin);
    const eng_type_info *type = eng_tensor_type(f->in[0]);
    if (dim == 0 && (begin % type->block != 0 || n % type->block != 0))
        return eng_graph_fail(f, "begin and length must be multiples of the %" PRIu32 " elements of a %s block, got %"
                              PRId64 " and %" PRId64, type->block, type->name, begin, n);
    copy_shape(f);
    view_of(f);
    memcpy(f->out[0].nb, f->in[0]->nb, sizeof f->out[0].nb);
    f->out[0].ne[dim] = n;
    f->out[0].offset += (uint64_t)((dim == 0 ? begin / type->block : begin) * f->in[0]->nb[dim]);
    return ENG_OK;
}

static int view_strides_wanted(eng_inference *f)
{
    const int64_t *ne = f->node->ip + ENG_VIEW_NE0, *nb = f->node->ip + ENG_VIEW_NB0;
    const eng_type_info *type = eng_tensor_type(f->in[0]);
    eng_tensor *y = &f->out[0];
    int64_t next = type->block_bytes;
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        if (ne[d] < 0)
            return eng_graph_fail(f, "extent %d must not be negative, got %" PRId64, d, ne[d]);
        y->ne[d] = ne[d];
        y->nb[d] = eng_tensor_blocks(y, d) > 1 ? nb[d] : next; /* of one element any will do */
        if (y->nb[d] < 0 || y->nb[d] % type->block_bytes != 0)
            return eng_graph_fail(f, "stride %d must be a multiple of the %" PRIu32 " bytes of a %s element or block, "
                                  "got %" PRId64, d, type->block_bytes, type->name, nb[d]);
        if (!__builtin_mul_overflow(y->nb[d], eng_tensor_blocks(y, d) > 0 ? eng_tensor_blocks(y, d) : 1, &next))
            continue;
        next = type->block_bytes;
    }
    if (type->block > 1 && eng_tensor_blocks(y, 0) > 1 && y->nb[0] != type->block_bytes)
        return eng_graph_fail(f, "stride 0 must be %" PRIu32 ", got %" PRId64 ENG_ADVICE
                              "blocks of %s follow one another", type->block_bytes, nb[0], type->name);
    return whole_blocks(f, y, "the view");
}

static int view(eng_inference *f)
{
    int64_t offset = f->node->ip[ENG_VIEW_OFFSET];
    const eng_type_info *type = eng_tensor_type(f->in[0]);
    uint64_t there, wanted;
    int status = view_strides_wanted(f);
    if (status != ENG_OK)
        return status;
    if (offset < 0 || offset % type->block_bytes != 0)
        return eng_graph_fail(f, "the offset must be a multiple of the %" PRIu32 " bytes of a %s element or block, got "
                              "%" PRId64, type->block_bytes, type->name, offset);
    if (!eng_tensor_reach(f->in[0], &there) || !eng_tensor_reach(&f->out[0], &wanted) || (uint64_t)offset > there ||
        wanted > there - (uint64_t)offset)
        return eng_graph_fail(f, "extents and strides from byte %" PRId64 " on must stay within the memory of x, %"
                              PRIu64 " bytes", offset, there);
    view_of(f);
    f->out[0].offset += (uint64_t)offset;
    return extents_fit(f, &f->out[0], "the view");
}

/* -- the rest ---------------------------------------------------------------------- */

static int top_k(eng_inference *f)
{
    int64_t k = f->node->ip[ENG_TOP_K_K];
    if (k < 1 || k > f->in[0]->ne[0])
        return eng_graph_fail(f, "k must be from 1 to %" PRId64 ", got %" PRId64, f->in[0]->ne[0], k);
    f->out[0].ne[0] = k;
    return ENG_OK;
}

static int eps(eng_inference *f)
{
    double value = f->node->fp[0];
    if (!(value >= 0 && value <= DBL_MAX))
        return eng_graph_fail(f, "eps must be a number that is not negative, got %g", value);
    return ENG_OK;
}

static int parameters(eng_inference *f)
{
    const int64_t *ip = f->node->ip;
    const double *fp = f->node->fp;
    switch (f->info->op) {
    case ENG_OP_HADAMARD:
        if (ip[0] < 1 || ip[0] > 4096 || (ip[0] & (ip[0] - 1)) != 0 || f->in[0]->ne[0] % ip[0] != 0)
            return eng_graph_fail(f, "group must be a power of two up to 4096 that divides dimension 0, got %" PRId64,
                                  ip[0]);
        return ENG_OK;
    case ENG_OP_GROUP_NORM:
        if (ip[0] < 1 || ip[0] > f->in[0]->ne[2])
            return eng_graph_fail(f, "groups must be from 1 to the %" PRId64 " channels, got %" PRId64, f->in[0]->ne[2],
                                  ip[0]);
        return eps(f);
    case ENG_OP_UNARY:
        if (ip[0] < 0 || ip[0] >= ENG_UNARY_LIMIT)
            return eng_graph_fail(f, "kind must be one of ENG_UNARY_*, got %" PRId64, ip[0]);
        return ENG_OK;
    case ENG_OP_CLAMP:
        if (!(fp[ENG_CLAMP_MIN] <= fp[ENG_CLAMP_MAX]))
            return eng_graph_fail(f, "min must not be above max, got %g and %g", fp[ENG_CLAMP_MIN], fp[ENG_CLAMP_MAX]);
        return ENG_OK;
    case ENG_OP_RMS_NORM:
    case ENG_OP_NORM:
    case ENG_OP_L2_NORM:
        return eps(f);
    case ENG_OP_ARGMAX:
        if (f->in[0]->ne[0] < 1)
            return eng_graph_fail(f, "dimension 0 must not be 0: an empty row has no largest element");
        return ENG_OK;
    case ENG_OP_SET_ROWS:
        return whole_blocks(f, f->in[0], "a");
    case ENG_OP_REBASE:
        if (ip[ENG_REBASE_PERIOD] < 0 ||
            (ip[ENG_REBASE_PERIOD] > 0 && (ip[ENG_REBASE_BEGIN] < 0 || ip[ENG_REBASE_BEGIN] > ip[ENG_REBASE_END] ||
                                           ip[ENG_REBASE_END] > ip[ENG_REBASE_PERIOD])))
            return eng_graph_fail(f, "begin and end must be a range of every period of %" PRId64 ", got %" PRId64
                                  " and %" PRId64, ip[ENG_REBASE_PERIOD], ip[ENG_REBASE_BEGIN], ip[ENG_REBASE_END]);
        return ENG_OK;
    default:
        return ENG_OK;
    }
}

int eng_infer_special(eng_inference *f)
{
    switch (f->info->op) {
    case ENG_OP_QUANTIZE:
    case ENG_OP_DEQUANTIZE:
    case ENG_OP_CPY:
        return convert(f);
    case ENG_OP_STORE:
        return store(f);
    case ENG_OP_GATED_DELTA_NET:
        return gated_delta_net(f);
    case ENG_OP_SSM_CONV:
        return ssm_conv(f);
    case ENG_OP_SSM_SCAN:
        return ssm_scan(f);
    case ENG_OP_ATTENTION:
        return attention(f);
    case ENG_OP_ROPE:
        return rope(f);
    case ENG_OP_GLU:
        return glu(f);
    case ENG_OP_CONCAT:
        return concat(f);
    case ENG_OP_REPEAT:
        return repeat(f);
    case ENG_OP_PAD:
        return pad(f);
    case ENG_OP_RESHAPE:
        return reshape(f);
    case ENG_OP_PERMUTE:
        return permute(f);
    case ENG_OP_SLICE:
        return slice(f);
    case ENG_OP_VIEW:
        return view(f);
    case ENG_OP_TOP_K:
        return top_k(f);
    default:
        return parameters(f);
    }
}
