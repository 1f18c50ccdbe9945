/* Blocks of graph that architectures are made of. */
#include "config.h"

#include <math.h>

#include "blocks.h"

#define PI 3.14159265358979323846

eng_value lm_weight(lm_build *b, int layer, int role)
{
    int32_t tensor = b->model->weights[layer + 1][role];
    return tensor < 0 ? ENG_NO_VALUE : eng_graph_tensor(b->g, LM_SLOT_WEIGHTS, b->model->store, (uint32_t)tensor);
}

eng_value lm_product(lm_build *b, int layer, int role, eng_value x)
{
    enum { BIAS = LM_OUT_BIAS - LM_OUT, SCALE = LM_OUT_SCALE - LM_OUT };
    eng_value scale = lm_weight(b, layer, role + SCALE), bias = lm_weight(b, layer, role + BIAS);
    eng_value y = eng_mul_mat(b->g, lm_weight(b, layer, role), x);
    if (scale != ENG_NO_VALUE)
        y = eng_mul(b->g, y, scale);
    return bias != ENG_NO_VALUE ? eng_add(b->g, y, bias) : y;
}

eng_value lm_sum_second(lm_build *b, eng_value x, int64_t n)
{
    eng_graph *g = b->g;
    for (int64_t half; n > 1; n = n - half) {
        half = n / 2;
        eng_value sum = eng_add(g, eng_slice(g, x, 1, 0, half), eng_slice(g, x, 1, half, half));
        x = n % 2 ? eng_concat(g, sum, eng_slice(g, x, 1, n - 1, 1), 1) : sum;
    }
    return x;
}

/* What is added behind a norm, if the model has it. */
static eng_value norm_bias(lm_build *b, int layer, int role)
{
    return role == LM_NORM     ? lm_weight(b, layer, LM_NORM_BIAS) :
           role == LM_FFN_NORM ? lm_weight(b, layer, LM_FFN_NORM_BIAS) :
           role == LM_OUT_NORM ? lm_weight(b, layer, LM_OUT_NORM_BIAS) :
                                 ENG_NO_VALUE;
}

/* Most models' own code gives norms of short vectors no other than its default. */
static double epsilon(const lm_build *b, int role)
{
    bool is_short = role == LM_Q_A_NORM || role == LM_KV_A_NORM;
    return is_short && !b->model->arch->same_epsilon ? 1e-6 : b->model->n.eps;
}

/* One that the file does not have is all ones.  One of two dimensions is each head's own. */
eng_value lm_norm(lm_build *b, eng_value x, int layer, int role)
{
    int32_t tensor = b->model->weights[layer + 1][role];
    eng_value w = lm_weight(b, layer, role);
    bool own = tensor >= 0 && eng_store_get(b->model->store, (uint32_t)tensor)->rank == 2;
    eng_value y = b->model->arch->layer_norm ?
                      eng_norm(b->g, x, own ? ENG_NO_VALUE : w, norm_bias(b, layer, role), epsilon(b, role)) :
                      eng_rms_norm(b->g, x, own ? ENG_NO_VALUE : w, epsilon(b, role));
    return own ? eng_mul(b->g, y, w) : y;
}

/* Gates from above, what they are multiplied with on both sides; where up is absent, gate has both, one behind the
 * other. */
static void clamped(lm_build *b, eng_value *gate, eng_value *up, double limit)
{
    if (*up == ENG_NO_VALUE) {
        const eng_tensor *both = eng_graph_get(b->g, *gate);
        int64_t half = both ? both->ne[0] / 2 : 1;
        *up = eng_slice(b->g, *gate, 0, half, half);
        *gate = eng_slice(b->g, *gate, 0, 0, half);
    }
    *gate = eng_clamp(b->g, *gate, -INFINITY, limit);
    *up = eng_clamp(b->g, *up, -limit, limit);
}

eng_value lm_glu_of(lm_build *b, eng_value gate, eng_value up, double limit)
{
    static const int kinds[] = {[LM_GLU_SILU] = ENG_GLU_SWIGLU, [LM_GLU_GELU] = ENG_GLU_GEGLU,
                                [LM_GLU_OAI] = ENG_GLU_SWIGLU_OAI};
    if (limit > 0)
        clamped(b, &gate, &up, limit);
    return eng_glu(b->g, gate, up, kinds[b->model->arch->glu], NULL);
}

eng_value lm_ffn(lm_build *b, eng_value x, int layer, int gate, int up, int down)
{
    eng_value h = lm_product(b, layer, gate, x);
    h = lm_glu_of(b, h, up < 0 ? ENG_NO_VALUE : lm_product(b, layer, up, x),
                  b->model->n.layer[layer].clamp_shared);
    return lm_product(b, layer, down, h);
}

/* Is it rotated by positions as they are, whatever the other layers do? */
static bool is_plain(const lm_build *b, int layer)
{
    return b->model->arch->local_plain && b->model->n.layer[layer].local;
}

bool lm_stretched(const eng_lm_model *m, const eng_lm_context_params *p)
{
    return m->weights[0][LM_ROPE_LONG] >= 0 && p->n_cells > m->n.rope.n_ctx_orig;
}

/* Factors of single pairs: the file's, or those of its two lists that are for contexts of this length. */
static eng_value rope_factors(lm_build *b, int layer)
{
    if (is_plain(b, layer))
        return ENG_NO_VALUE;
    eng_value listed = lm_weight(b, LM_LAYER_TOP, lm_stretched(b->model, b->context) ? LM_ROPE_LONG : LM_ROPE_SHORT);
    return listed != ENG_NO_VALUE ? listed : lm_weight(b, LM_LAYER_TOP, LM_ROPE_FREQS);
}

/* The pair that turns so often over the original context. */
static double turning(const eng_rope_params *r, double turns)
{
    return (double)r->n_dims * log((double)r->n_ctx_orig / (2 * PI * turns)) / (2 * log(r->base));
}

/*
 * YaRN between pairs that are no whole numbers, which the op has not: what each pair's angle is divided by, of numbers
 * that the graph counts up.
 */
static eng_value unrounded(lm_build *b)
{
    const eng_rope_params *r = &b->model->n.rope;
    double lo = fmax(0, turning(r, r->beta_fast)), hi = fmin((double)r->n_dims - 1, turning(r, r->beta_slow));
    double width = fmax(hi - lo, 0.001), shrink = r->freq_scale;
    eng_graph *g = b->g;
    eng_value one = lm_ones(b, r->n_dims / 2);
    eng_value ramp = eng_scale(g, eng_cumsum(g, one), 1 / width, -(1 + lo) / width);
    ramp = eng_scale(g, eng_clamp(g, ramp, 0, 1), -r->ext_factor, r->ext_factor);
    return eng_div(g, one, eng_scale(g, ramp, 1 - shrink, shrink));
}

eng_value lm_rope(lm_build *b, eng_value x, int layer, bool wanted)
{
    const lm_numbers *n = &b->model->n;
    eng_rope_params r = n->layer[layer].local ? n->local_rope : n->rope;
    if (!n->layer[layer].rotated)
        return x;
    if (b->unrounded != ENG_NO_VALUE) { /* the factors have it all, but for the growth */
        r.attn_factor *= 1 - 0.1 * log(r.freq_scale);
        r.freq_scale = 1;
        r.ext_factor = 0;
    }
    return eng_rope(b->g, x, wanted ? b->out_rope_pos : b->rope_pos,
                    b->unrounded != ENG_NO_VALUE ? b->unrounded : rope_factors(b, layer), &r);
}

eng_value lm_ones(lm_build *b, int64_t n)
{
    eng_value any = lm_weight(b, LM_LAYER_TOP, b->model->n.mix_rank ? LM_MIX_OUT_NORM : LM_OUT_NORM);
    eng_value one = eng_slice(b->g, any, 0, 0, 1);
    return eng_repeat(b->g, eng_scale(b->g, one, 0, 1), (int64_t[]){n}, 1);
}

/* The whole number of times that `in` goes into each position; positions are exact in f32. */
eng_value lm_times(lm_build *b, eng_value pos, double offset, int64_t in)
{
    eng_value x = eng_scale(b->g, eng_cpy(b->g, pos, ENG_TYPE_F32), 1 / (double)in, (offset + 0.5) / (double)in);
    return eng_cpy(b->g, eng_cpy(b->g, x, ENG_TYPE_I32), ENG_TYPE_F32); /* truncates */
}

/* What queries at these positions grow by, [1, 1, t]. */
static eng_value tempers(lm_build *b, eng_value pos, int64_t t)
{
    const lm_numbers *n = &b->model->n;
    eng_value x = eng_scale(b->g, lm_times(b, pos, n->temper_offset, n->temper_floor), 1, 1);
    x = eng_scale(b->g, eng_unary(b->g, x, ENG_UNARY_LOG), n->temper_scale, 1);
    return eng_reshape(b->g, x, (int64_t[]){1, 1, t}, 3);
}

/* 0 where a token's and a cell's chunks are the same, else -inf. */
static eng_value chunks(lm_build *b, eng_value pos, int64_t t, int64_t chunk)
{
    eng_graph *g = b->g;
    eng_value cells = lm_times(b, b->cpos, 0, chunk);
    eng_value own = eng_repeat(g, cells, (int64_t[]){lm_seen_cells(b), t}, 2);
    own = eng_sub(g, own, eng_reshape(g, lm_times(b, pos, 0, chunk), (int64_t[]){1, t}, 2));
    own = eng_scale(g, eng_unary(g, own, ENG_UNARY_ABS), -1, 0.5);
    return eng_unary(g, eng_unary(g, own, ENG_UNARY_STEP), ENG_UNARY_LOG);
}

int64_t lm_chunk(const eng_lm_model *m)
{
    int64_t chunk = 0;
    for (int i = 0; i < m->n.n_layers; i++)
        chunk = m->n.layer[i].chunk ? m->n.layer[i].chunk : chunk;
    return chunk;
}

void lm_positions(lm_build *b)
{
    const lm_numbers *n = &b->model->n;
    int64_t chunk = lm_chunk(b->model);
    b->tempers = b->out_tempers = b->chunks = b->out_chunks = b->unrounded = ENG_NO_VALUE;
    if (b->model->arch->rope_unrounded && n->rope.ext_factor != 0)
        b->unrounded = unrounded(b);
    if (n->temper_scale != 0) {
        b->tempers = tempers(b, b->pos, b->n_tokens);
        b->out_tempers = tempers(b, b->out_pos, b->n_out);
    }
    if (chunk && (b->context->n_cells > chunk || b->far)) {
        b->chunks = chunks(b, b->pos, b->n_tokens, chunk);
        b->out_chunks = chunks(b, b->out_pos, b->n_out, chunk);
    }
}

eng_value lm_pick(lm_build *b, eng_value x)
{
    return b->n_tokens == 1 ? x : eng_get_rows(b->g, x, b->out);
}

eng_value lm_layer_memory(lm_build *b, int layer, uint32_t which)
{
    return eng_graph_tensor(b->g, LM_SLOT_MEMORY, b->memory,
                            (uint32_t)b->layer_memory[layer] + which);
}

eng_value lm_cache_widen(lm_build *b, eng_value x, int64_t d, uint32_t type)
{
    const int64_t none = 0, more = lm_cache_row(type, d) - d;
    return more ? eng_pad(b->g, x, &none, &more, 1) : x;
}

/* x[d, heads, T] seen as [d, T, heads], as the cache is. */
void lm_cache_keep(lm_build *b, eng_value cache, eng_value x)
{
    static const int by_head[] = {0, 2, 1};
    eng_set_rows(b->g, cache, eng_permute(b->g, x, by_head, 3), b->cells);
}

static eng_value rotated(lm_build *b, eng_value x, int32_t group)
{
    return group > 1 ? eng_hadamard(b->g, x, group) : x;
}

eng_attention_params lm_sight(lm_build *b, int layer, bool wanted)
{
    const lm_numbers *n = &b->model->n;
    eng_attention_params a;
    eng_attention_defaults(&a);
    a.kv_param = LM_PARAM_CELLS;
    a.causal = 1;
    a.window = n->layer[layer].window;
    a.scale = n->attn_scale;
    a.softcap = n->attn_softcap;
    a.sinks = lm_weight(b, layer, LM_SINKS);
    if (n->layer[layer].chunk)
        a.mask = wanted ? b->out_chunks : b->chunks;
    if (n->top_cells)
        a.mask = b->chosen;
    a.pos = wanted ? b->out_pos : b->pos;
    a.seq = wanted ? b->out_seq : b->seq;
    a.cpos = b->cpos;
    a.cseq = b->cseq;
    a.clast = b->clast;
    return a;
}

int64_t lm_seen_cells(const lm_build *b)
{
    const eng_tensor *cells = eng_graph_get(b->g, b->cpos);
    int64_t n = 1;
    for (int i = 0; cells && i < ENG_MAX_RANK; i++)
        n *= cells->ne[i];
    return n;
}

eng_value lm_best_seen(lm_build *b, eng_value x, int64_t top, int64_t cells, int64_t t)
{
    eng_graph *g = b->g;
    eng_value last = eng_slice(g, eng_top_k(g, x, (int32_t)top), 0, top - 1, 1);
    last = eng_reshape(g, eng_cont(g, last), (int64_t[]){1, t}, 2);
    last = eng_get_rows(g, eng_reshape(g, x, (int64_t[]){1, cells, t}, 3), last);
    x = eng_sub(g, x, eng_reshape(g, last, (int64_t[]){1, t}, 2));
    x = eng_unary(g, eng_scale(g, x, -1, 0), ENG_UNARY_STEP);
    return eng_unary(g, eng_scale(g, x, -1, 1), ENG_UNARY_LOG);
}

/* Rotates as the context asks.  Without K and V the cache is an earlier layer's, which has them already. */
eng_value lm_attend_as(lm_build *b, eng_value q, eng_value k, eng_value v, int layer, uint32_t first,
                       const eng_attention_params *a)
{
    const eng_lm_context_params *p = b->context;
    eng_graph *g = b->g;
    eng_value cache_k = lm_layer_memory(b, layer, first), cache_v = lm_layer_memory(b, layer, first + 1);
    int64_t d_k = b->model->n.layer[layer].d_k, d_v = b->model->n.layer[layer].d_v;
    q = rotated(b, lm_cache_widen(b, q, d_k, p->type_k), p->rotate_k);
    if (k != ENG_NO_VALUE) {
        lm_cache_keep(b, cache_k, rotated(b, lm_cache_widen(b, k, d_k, p->type_k), p->rotate_k));
        lm_cache_keep(b, cache_v, rotated(b, lm_cache_widen(b, v, d_v, p->type_v), p->rotate_v));
    }
    eng_value o = rotated(b, eng_attention(g, q, cache_k, cache_v, a), p->rotate_v);
    return lm_cache_row(p->type_v, d_v) == d_v ? o : eng_cont(g, eng_slice(g, o, 0, 0, d_v));
}

eng_value lm_attend(lm_build *b, eng_value q, eng_value k, eng_value v, int layer, bool wanted)
{
    eng_attention_params a = lm_sight(b, layer, wanted);
    return lm_attend_as(b, q, k, v, layer, 0, &a);
}

/* Channels of one matrix as heads. */
static eng_value heads(lm_build *b, eng_value x, int64_t d, int64_t n, int64_t t)
{
    return eng_reshape(b->g, x, (int64_t[]){d, n, t}, 3);
}

/* Queries or keys of a product: normed over all heads or each, and turned, or the other way round. */
static eng_value turned(lm_build *b, eng_value x, int layer, int norm, bool wanted)
{
    const lm_arch *a = b->model->arch;
    bool normed = !a->wide_norms && lm_weight(b, layer, norm) != ENG_NO_VALUE;
    x = normed && !a->norms_turned ? lm_norm(b, x, layer, norm) : x;
    x = lm_rope(b, x, layer, wanted);
    x = normed && a->norms_turned ? lm_norm(b, x, layer, norm) : x;
    if (b->model->n.layer[layer].normed)
        x = eng_rms_norm(b->g, x, ENG_NO_VALUE, b->model->n.eps);
    return norm == LM_Q_NORM ? lm_tempered(b, x, layer, wanted) : x;
}

typedef struct projected {
    eng_value q, k, v;
} projected;

/* Values without a matrix are the keys, as these are before they are normed. */
static projected project(lm_build *b, eng_value u, int layer, bool wanted)
{
    const lm_layer *l = &b->model->n.layer[layer];
    int64_t kv = l->d_k * l->n_head_kv, q = l->d_k * b->model->n.n_head;
    if (lm_weight(b, layer, LM_QKV) == ENG_NO_VALUE) {
        projected p = {lm_product(b, layer, LM_Q, wanted && !b->picked ? lm_pick(b, u) : u), ENG_NO_VALUE,
                       ENG_NO_VALUE};
        if (l->owner == layer) {
            p.k = lm_product(b, layer, LM_K, u);
            p.v = lm_weight(b, layer, LM_V) == ENG_NO_VALUE ? p.k : lm_product(b, layer, LM_V, u);
        }
        return p;
    }
    eng_value all = lm_product(b, layer, LM_QKV, u), first = eng_slice(b->g, all, 0, 0, q);
    return (projected){wanted ? lm_pick(b, first) : first, eng_slice(b->g, all, 0, q, kv),
                       eng_slice(b->g, all, 0, q + kv, kv)};
}

/* Keys and values of the layer's own cache, as it keeps them. */
static void ready(lm_build *b, projected *p, int layer)
{
    const lm_arch *a = b->model->arch;
    const lm_layer *l = &b->model->n.layer[layer];
    p->k = a->wide_norms ? lm_norm(b, p->k, layer, LM_K_NORM) : p->k;
    p->k = turned(b, heads(b, p->k, l->d_k, l->n_head_kv, b->n_tokens), layer, LM_K_NORM, false);
    p->v = heads(b, p->v, l->d_v, l->n_head_kv, b->n_tokens);
    p->v = a->value_norms ? eng_rms_norm(b->g, p->v, ENG_NO_VALUE, b->model->n.eps) : p->v;
}

eng_value lm_attention_block(lm_build *b, eng_value u, int layer, bool wanted)
{
    const lm_numbers *n = &b->model->n;
    const lm_arch *a = b->model->arch;
    eng_graph *g = b->g;
    int64_t d = n->layer[layer].d_k, t_q = wanted ? b->n_out : b->n_tokens, d_q = a->gated ? 2 * d : d;
    projected p = project(b, u, layer, wanted);
    p.q = a->wide_norms ? lm_norm(b, p.q, layer, LM_Q_NORM) : p.q;
    eng_value q = heads(b, p.q, d_q, n->n_head, t_q), gate = ENG_NO_VALUE;
    if (a->gated) {
        gate = eng_slice(g, q, 0, d, d);
        q = eng_slice(g, q, 0, 0, d);
    }
    q = turned(b, q, layer, LM_Q_NORM, wanted);
    if (p.k != ENG_NO_VALUE) /* side by side with what stores them, and done in one launch */
        ready(b, &p, layer);
    eng_value o = lm_attend(b, q, p.k, p.v, layer, wanted);
    if (a->gated)
        o = eng_mul(g, o, eng_unary(g, gate, ENG_UNARY_SIGMOID));
    return lm_product(b, layer, LM_ATTN_OUT, eng_reshape(g, o, (int64_t[]){d * n->n_head, t_q}, 2));
}
