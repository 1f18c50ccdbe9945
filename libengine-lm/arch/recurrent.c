/*
 * Gated delta net layers (Yang, Kautz, Hatamizadeh, arXiv:2412.06464), and those of Kimi Delta Attention (Kimi Team,
 * arXiv:2510.26692), in which each channel of a head forgets by itself.
 */
#include "config.h"

#include <math.h>

#include "blocks.h"

/* -- numbers ----------------------------------------------------------------------- */

int lm_numbers_states(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = lm_key_integer(l, "ssm.conv_kernel", 2, 64, &n->conv);
    if (!status)
        status = lm_key_integer(l, "ssm.state_size", 1, 4096, &n->state);
    if (!status)
        status = lm_key_integer(l, "ssm.group_count", 1, LM_MAX_EXTENT, &n->k_heads);
    return status ? status : lm_key_integer(l, "ssm.time_step_rank", 1, LM_MAX_EXTENT, &n->v_heads);
}

int lm_numbers_recurrent(lm_loader *l)
{
    eng_lm_model *m = l->model;
    lm_numbers *n = &m->n;
    int64_t inner;
    int status = lm_numbers_states(l);
    if (!status)
        status = lm_key_integer_or(l, "ssm.inner_size", 1, INT32_MAX, n->v_heads * n->state, &inner);
    if (status)
        return status;
    if (n->v_heads % n->k_heads || inner != n->v_heads * n->state)
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                        "%lld value heads over %lld key heads of %lld, inner size %lld, do not fit "
                        "together", l->arch_name, (long long)n->v_heads, (long long)n->k_heads, (long long)n->state,
                        (long long)inner);
    lm_letter_add(m, 'K', "k_head", n->k_heads);
    lm_letter_add(m, 'R', NULL, n->v_heads / n->k_heads);
    lm_letter_add(m, 'S', NULL, n->state);
    lm_letter_add(m, 'C', NULL, n->conv);
    return ENG_OK;
}

/* As many heads as attention has, of a size of their own. */
int lm_numbers_kda(lm_loader *l)
{
    eng_lm_model *m = l->model;
    lm_numbers *n = &m->n;
    int status = lm_key_integer(l, "ssm.conv_kernel", 2, 64, &n->conv);
    if (!status)
        status = lm_key_integer(l, "kda.head_dim", 1, 4096, &n->state);
    if (!status && l->model->arch->reads & LM_READS_KEPT_LEAST)
        status = lm_key_number_or(l, "kda.gate_lower_bound", 0, &n->forget_least);
    if (!status && n->forget_least > 0)
        status = eng_fail(ENG_ERR_FORMAT, "key %s.kda.gate_lower_bound must not be positive, got %g", l->arch_name,
                          n->forget_least);
    n->k_heads = n->v_heads = n->n_head;
    lm_letter_add(m, 'K', "k_head", n->k_heads);
    lm_letter_add(m, 'S', NULL, n->state);
    lm_letter_add(m, 'C', NULL, n->conv);
    return status;
}

/* -- the graph ----------------------------------------------------------------------- */

/* Heads `first` .. first + heads - 1 of the convolution's channels: q, k and v are segments of them. */
static eng_value channels(lm_build *b, eng_value c, int64_t first, int64_t heads)
{
    int64_t s = b->model->n.state;
    return eng_reshape(b->g, eng_slice(b->g, c, 0, first * s, heads * s), (int64_t[]){s, heads, b->n_tokens}, 3);
}

/* Heads of q or k at unit length, x / sqrt(sum x^2 + 1e-6): what is tiny stays shorter, which the op l2_norm does not
 * give.  The models' own code has this constant, whatever the epsilon of the other norms is. */
static eng_value unit_length(lm_build *b, eng_value x)
{
    double n = (double)b->model->n.state;
    return eng_scale(b->g, eng_rms_norm(b->g, x, ENG_NO_VALUE, 1e-6 / n), 1 / sqrt(n), 0);
}

/* What a value head writes and how fast it forgets, [1 or both, value heads, T] each; of one matrix if the file has
 * it, where those of a key head stand together. */
static void gates(lm_build *b, eng_value u, int il, eng_value *beta, eng_value *a)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t r = n->v_heads / n->k_heads, t = b->n_tokens;
    if (lm_weight(b, il, LM_GDN_BETA_ALPHA) == ENG_NO_VALUE) {
        *beta = lm_product(b, il, LM_GDN_BETA, u);
        *a = lm_product(b, il, LM_GDN_ALPHA, u);
        return;
    }
    eng_value both = eng_reshape(g, lm_product(b, il, LM_GDN_BETA_ALPHA, u), (int64_t[]){2 * r, n->k_heads, t}, 3);
    *beta = eng_reshape(g, eng_cont(g, eng_slice(g, both, 0, 0, r)), (int64_t[]){n->v_heads, t}, 2);
    *a = eng_reshape(g, eng_cont(g, eng_slice(g, both, 0, r, r)), (int64_t[]){n->v_heads, t}, 2);
}

/* Heads of q, k and v, as the rule takes them, of the convolution with the weights w over the three side by side. */
typedef struct convolved {
    eng_value q, k, v;
} convolved;

static convolved convolve(lm_build *b, eng_value qkv, eng_value w, int il)
{
    const lm_numbers *n = &b->model->n;
    int64_t kh = n->k_heads;
    eng_value c = eng_ssm_conv(b->g, qkv, w, lm_layer_memory(b, il, 1), b->src, b->dst, b->cu, b->context->n_snapshots);
    convolved h;
    c = eng_unary(b->g, c, ENG_UNARY_SILU);
    h.q = unit_length(b, channels(b, c, 0, kh));
    h.k = unit_length(b, channels(b, c, kh, kh));
    h.v = channels(b, c, 2 * kh, n->v_heads);
    return h;
}

/* decay: the logarithms of what is kept of heads or of their channels, [1 or S, value heads, T]. */
static eng_value delta_rule(lm_build *b, const convolved *h, eng_value decay, eng_value beta, int il)
{
    return eng_gated_delta_net(b->g, h->q, h->k, h->v, decay, beta, lm_layer_memory(b, il, 0), b->src, b->dst, b->cu,
                               b->model->arch->grouped, b->context->n_snapshots);
}

eng_value lm_gated_delta_net(lm_build *b, eng_value u, int il)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t s = n->state, vh = n->v_heads, t = b->n_tokens;
    eng_value qkv = lm_product(b, il, LM_GDN_QKV, u);
    eng_value z = lm_product(b, il, LM_GDN_GATE, u);
    eng_value beta, a;
    gates(b, u, il, &beta, &a);

    convolved h = convolve(b, qkv, lm_weight(b, il, LM_GDN_CONV), il);
    beta = eng_unary(g, beta, ENG_UNARY_SIGMOID);
    a = eng_unary(g, eng_add(g, a, lm_weight(b, il, LM_GDN_DT)), ENG_UNARY_SOFTPLUS);
    a = eng_reshape(g, eng_mul(g, a, lm_weight(b, il, LM_GDN_A)), (int64_t[]){1, vh, t}, 3);
    eng_value o = delta_rule(b, &h, a, beta, il);

    z = eng_reshape(g, z, (int64_t[]){s, vh, t}, 3);
    o = lm_norm(b, o, il, LM_GDN_NORM);
    o = b->model->arch->sigmoid_gate ? eng_mul(g, o, eng_unary(g, z, ENG_UNARY_SIGMOID)) :
                                       eng_glu(g, z, o, ENG_GLU_SWIGLU, NULL);
    o = eng_reshape(g, o, (int64_t[]){s * vh, t}, 2);
    return lm_product(b, il, LM_GDN_OUT, o);
}

/* One behind the other: q, k and v, or their convolutions. */
static eng_value joined(lm_build *b, eng_value q, eng_value k, eng_value v, int dim)
{
    return eng_concat(b->g, eng_concat(b->g, q, k, dim), v, dim);
}

/* The logarithms of what channels keep, [S, heads, T], of x[S heads, T]: without a bound, or between it and 0. */
static eng_value forgetting(lm_build *b, eng_value x, int il)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    bool bound = n->forget_least < 0;
    x = bound ? x : eng_unary(g, x, ENG_UNARY_SOFTPLUS);
    x = eng_mul(g, eng_reshape(g, x, (int64_t[]){n->state, n->v_heads, b->n_tokens}, 3), lm_weight(b, il, LM_GDN_A));
    return bound ? eng_scale(g, eng_unary(g, eng_scale(g, x, -1, 0), ENG_UNARY_SIGMOID), n->forget_least, 0) : x;
}

eng_value lm_kimi_delta_attention(lm_build *b, eng_value u, int il)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t s = n->state, h = n->v_heads, t = b->n_tokens;
    /* what is made of the same is made side by side */
    eng_value q = lm_product(b, il, LM_Q, u), k = lm_product(b, il, LM_K, u), v = lm_product(b, il, LM_V, u);
    eng_value a = lm_product(b, il, LM_KDA_FORGET_A, u), z = lm_product(b, il, LM_KDA_GATE_A, u);
    eng_value beta = lm_product(b, il, LM_GDN_BETA, u);
    eng_value qkv = joined(b, q, k, v, 0);
    eng_value w = joined(b, lm_weight(b, il, LM_KDA_Q_CONV), lm_weight(b, il, LM_KDA_K_CONV),
                         lm_weight(b, il, LM_KDA_V_CONV), 1);
    a = lm_product(b, il, LM_KDA_FORGET_B, a);
    z = lm_product(b, il, LM_KDA_GATE_B, z);

    convolved c = convolve(b, qkv, w, il);
    beta = eng_unary(g, beta, ENG_UNARY_SIGMOID);
    a = forgetting(b, eng_add(g, a, lm_weight(b, il, LM_GDN_DT)), il);
    eng_value o = delta_rule(b, &c, a, beta, il);

    z = eng_unary(g, eng_reshape(g, z, (int64_t[]){s, h, t}, 3), ENG_UNARY_SIGMOID);
    o = eng_mul(g, lm_norm(b, o, il, LM_GDN_NORM), z);
    return lm_product(b, il, LM_GDN_OUT, eng_reshape(g, o, (int64_t[]){s * h, t}, 2));
}
