/* The numbers of a model, from its file's keys and what its architecture's facts make of them. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "blocks.h"

/* -- keys that change what is computed -------------------------------------------------- */

/* `neutral`: a value that says nothing, beside 0. */
static const struct {
    const char *name;
    uint32_t reads; /* LM_READS_* of which one is enough; 0: nobody reads it */
    double neutral;
} changing[] = {
    {"embedding_scale", LM_READS_EMBD_SCALE, 1},
    {"residual_scale", LM_READS_RESIDUAL_SCALE, 1},
    {"attention.scale", LM_READS_ATTN_SCALE, 0},
    {"logit_scale", LM_READS_LOGIT_SCALE, 1},
    {"attn_logit_softcapping", LM_READS_ATTN_SOFTCAP, 0},
    {"final_logit_softcapping", LM_READS_LOGIT_SOFTCAP, 0},
    {"router_logit_softcapping", 0, 0},
    {"attention.sliding_window", LM_READS_WINDOW | LM_READS_CHUNK, 0},
    {"attention.temperature_scale", LM_READS_TEMPERATURE, 0},
    {"attention.temperature_length", LM_READS_TEMPERATURE, 0},
    {"leading_dense_block_count", LM_READS_DENSE_LEAD, 0},
    {"interleave_moe_layer_step", LM_READS_MOE_STEP, 1},
    {"nextn_predict_layers", LM_READS_DRAFTING, 0},
    {"attention.q_lora_rank", LM_READS_LATENT, 0},
    {"attention.kv_lora_rank", LM_READS_LATENT, 0},
    {"attention.clamp_kqv", 0, 0},
    {"attention.max_alibi_bias", 0, 0},
    {"attention.shared_kv_layers", LM_READS_SHARED_CACHES, 0},
    {"attention.key_length_swa", LM_READS_LOCAL_HEADS, 0},
    {"attention.value_length_swa", LM_READS_LOCAL_HEADS, 0},
    {"attention.output_scale", 0, 0},
    {"embedding_length_per_layer_input", LM_READS_INPUTS | LM_READS_NGRAMS, 0},
    {"hyper_connection.count", LM_READS_HYPER | LM_READS_MIX, 1},
    {"hyper_connection.low_rank", LM_READS_MIX, 0},
    {"ple.ngram_size", LM_READS_NGRAMS, 0},
    {"use_parallel_residual", LM_READS_PARALLEL, 0},
    {"swiglu_clamp_exp", LM_READS_CLAMPS, 0},
    {"swiglu_clamp_shexp", LM_READS_CLAMPS, 0},
    {"attention.indexer.kpool", LM_READS_POOLS, 1},
    {"kda.gate_lower_bound", LM_READS_KEPT_LEAST, 0},
    {"attention.compress_rope_freq_base", LM_READS_COMPRESSED, 0},
    {"attention.output_group_count", LM_READS_COMPRESSED, 1},
    {"hash_layer_count", LM_READS_COMPRESSED, 0},
};

bool lm_arch_reads(const lm_loader *l, uint32_t what)
{
    return (l->model->arch->reads & what) != 0;
}

static int check_changing(const lm_loader *l)
{
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++) {
        double value;
        bool read = lm_arch_reads(l, changing[i].reads), is = lm_key_is(l, changing[i].name);
        if (!is && l->model->arch->needs & changing[i].reads)
            return eng_fail(ENG_ERR_FORMAT, "the file has no key %s.%s, which a %s model needs" ENG_ADVICE
                            "convert it again with a present-day converter", l->arch_name, changing[i].name, l->arch_name);
        if (!is || read)
            continue;
        int status = lm_key_number_or(l, changing[i].name, 0, &value);
        if (!status && value != 0 && value != changing[i].neutral)
            status = eng_fail(ENG_ERR_UNSUPPORTED, "key %s.%s is %g" ENG_CAUSE "it is not known for %s: without it the "
                              "model would compute something else", l->arch_name, changing[i].name, value, l->arch_name);
        if (status)
            return status;
    }
    int64_t causal;
    int status = lm_key_integer_or(l, "attention.causal", 0, 1, 1, &causal);
    return status || causal ? status : eng_fail(ENG_ERR_UNSUPPORTED, "key %s.attention.causal is false" ENG_CAUSE
                                                "models whose tokens see later ones are not known", l->arch_name);
}

/* A factor, which an architecture may not read: then it is `otherwise`, as it is where the key is absent or 0. */
static int factor(const lm_loader *l, uint32_t reads, const char *name, double otherwise, double *value)
{
    *value = otherwise;
    if (!lm_arch_reads(l, reads))
        return ENG_OK;
    int status = lm_key_number_or(l, name, otherwise, value);
    if (!status && *value < 0)
        status = eng_fail(ENG_ERR_FORMAT, "key %s.%s must not be negative, got %g", l->arch_name, name, *value);
    *value = *value == 0 ? otherwise : *value;
    return status;
}

static int scales(lm_loader *l)
{
    const lm_arch *a = l->model->arch;
    lm_numbers *n = &l->model->n;
    int status = factor(l, LM_READS_EMBD_SCALE, "embedding_scale", a->embd_root ? sqrt((double)n->n_embd) : 1,
                        &n->embd_scale);
    if (!status)
        status = factor(l, LM_READS_RESIDUAL_SCALE, "residual_scale", 1, &n->residual_scale);
    if (!status)
        status = factor(l, LM_READS_ATTN_SCALE, "attention.scale", a->attn_plain ? 1 : 1 / sqrt((double)n->d_k),
                        &n->attn_scale);
    if (!status)
        status = factor(l, LM_READS_LOGIT_SCALE, "logit_scale", 1, &n->logit_scale);
    if (!status)
        status = factor(l, LM_READS_ATTN_SOFTCAP, "attn_logit_softcapping", 0, &n->attn_softcap);
    if (!status)
        status = factor(l, LM_READS_LOGIT_SOFTCAP, "final_logit_softcapping", 0, &n->logit_softcap);
    if (a->divided)
        n->logit_scale = 1 / n->logit_scale;
    return status;
}

/* -- layers and heads ------------------------------------------------------------------- */

static int has_heads(lm_loader *l, int layer, bool *has)
{
    int64_t heads = 0;
    int status = lm_key_layer_integer(l, "attention.head_count_kv", layer, 0, LM_MAX_EXTENT, &heads);
    *has = heads > 0;
    return status;
}

/* Blocks at the end of the file that draft tokens are not run. */
static int layers(lm_loader *l)
{
    const lm_arch *a = l->model->arch;
    lm_numbers *n = &l->model->n;
    int64_t blocks, nextn = 0, interval = 1;
    int status = lm_key_integer(l, "block_count", 1, LM_MAX_LAYERS, &blocks);
    if (!status && lm_arch_reads(l, LM_READS_DRAFTING))
        status = lm_key_integer_or(l, "nextn_predict_layers", 0, a->assistant ? blocks : blocks - 1, 0, &nextn);
    nextn = a->assistant ? 0 : nextn; /* all of it drafts */
    if (!status && a->hybrid)
        status = lm_key_integer_or(l, "full_attention_interval", 1, LM_MAX_LAYERS, 4, &interval);
    if (status)
        return status;
    n->n_layers_file = (int)blocks;
    n->n_layers = (int)(blocks - nextn);
    if (a->scans)
        return lm_scan_layers(l);
    for (int i = 0; i < n->n_layers && !status; i++) {
        bool attention = (i + 1) % interval == 0;
        if (a->headless)
            status = has_heads(l, i, &attention);
        n->kind[i] = attention ? LM_LAYER_ATTENTION : LM_LAYER_RECURRENT;
        n->attention |= attention;
        n->recurrent |= !attention;
    }
    return status;
}

/* Of the first layer that has any. */
static int first_heads(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int i = 0;
    while (i + 1 < n->n_layers && n->kind[i] != LM_LAYER_ATTENTION)
        i++;
    return n->kind[i] != LM_LAYER_ATTENTION ? ENG_OK :
               lm_key_layer_integer(l, "attention.head_count_kv", i, 1, n->n_head, &n->n_head_kv);
}

static int heads(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = lm_key_integer(l, "attention.head_count", 1, LM_MAX_EXTENT, &n->n_head);
    n->n_head_kv = n->n_head;
    if (!status && lm_key_is(l, "attention.head_count_kv"))
        status = lm_arch_reads(l, LM_READS_LAYER_SIZES) ?
                     first_heads(l) :
                     lm_key_integer(l, "attention.head_count_kv", 1, n->n_head, &n->n_head_kv);
    if (!status)
        status = lm_key_integer_or(l, "attention.key_length", 1, LM_MAX_EXTENT, n->n_embd / n->n_head, &n->d_k);
    if (!status)
        status = lm_key_integer_or(l, "attention.value_length", 1, LM_MAX_EXTENT, n->n_embd / n->n_head, &n->d_v);
    if (!status && (n->n_head % n->n_head_kv || n->d_k != n->d_v || n->d_k < 1))
        status = eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                          "%lld heads over %lld of K and V, with heads of %lld and %lld, do not fit "
                          "together", l->arch_name, (long long)n->n_head, (long long)n->n_head_kv, (long long)n->d_k,
                          (long long)n->d_v);
    return status;
}

static int common(lm_loader *l)
{
    eng_lm_model *m = l->model;
    lm_numbers *n = &m->n;
    int status = lm_key_integer(l, "embedding_length", 1, LM_MAX_EXTENT, &n->n_embd);
    if (!status)
        status = lm_key_integer_or(l, "context_length", 1, INT32_MAX, 4096, &n->n_ctx_train);
    const bool own = m->arch->layer_norm && !m->arch->rms_epsilon;
    const char *epsilon = own ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
    if (!status) /* published ones differ by ten times */
        status = lm_key_is(l, epsilon) ? lm_key_number_or(l, epsilon, 0, &n->eps) :
            eng_fail(ENG_ERR_FORMAT, "the file has no key %s.%s, which a %s model needs", l->arch_name, epsilon, l->arch_name);
    if (!status)
        status = m->arch->latent ? lm_numbers_latent(l) : !n->n_head ? heads(l) : ENG_OK;
    if (status)
        return status;
    const eng_gguf_tensor *embd = eng_gguf_tensor_find(l->gguf, "token_embd.weight");
    if (!embd || embd->rank != 2 || embd->ne[1] < 1 || embd->ne[1] > INT32_MAX)
        return eng_fail(ENG_ERR_FORMAT, "the file has no matrix token_embd.weight, which a %s model needs",
                        l->arch_name);
    n->n_vocab = embd->ne[1];
    n->d_hidden = n->n_embd;
    lm_letter_add(m, 'E', NULL, n->n_embd);
    lm_letter_add(m, 'V', "vocab", n->n_vocab);
    lm_letter_add(m, 'H', "kv_head", n->n_head_kv);
    lm_letter_add(m, 'G', "group", n->n_head / n->n_head_kv);
    lm_letter_add(m, 'D', NULL, n->d_k);
    return ENG_OK;
}

static int rope(lm_loader *l)
{
    const lm_arch *a = l->model->arch;
    lm_numbers *n = &l->model->n;
    int64_t part;
    int status = a->needs & LM_NEEDS_ROPE_PART ? lm_key_integer(l, "rope.dimension_count", 2, n->d_k, &part) : ENG_OK;
    if (!status)
        status = lm_key_rope(l, a->rope, a->rope_part ? n->d_k / a->rope_part : n->d_k);
    if (!status && !a->rope_part && n->rope.n_dims != n->d_k)
        status = eng_fail(ENG_ERR_UNSUPPORTED, "key %s.rope.dimension_count is %lld, but only ropes over whole heads (%lld)"
                          " are known for %s", l->arch_name, (long long)n->rope.n_dims, (long long)n->d_k, l->arch_name);
    lm_letter_add(l->model, 'P', NULL, n->rope.n_dims / 2);
    for (int i = 0; i < n->n_layers; i++)
        n->layer[i].rotated = !a->rope_rest || (i + 1) % a->rope_rest != 0;
    return status;
}

/* -- windows ------------------------------------------------------------------------------ */

/* Layer i has a window: by a list in the file, or as the last of every so many has not. */
static int windowed(const lm_loader *l, int i, bool *is)
{
    const char *name = "attention.sliding_window_pattern";
    char key[LM_KEY_BYTES];
    int64_t period = l->model->arch->window_period;
    const eng_gguf_key *k = eng_gguf_key_find(l->gguf, lm_key_name(l, name, key));
    lm_unread_not(l, key);
    bool list = k && k->type == ENG_GGUF_ARRAY;
    if (list && k->count < (uint64_t)l->model->n.n_layers)
        return eng_fail(ENG_ERR_FORMAT, "key %s has %llu values, expected one for each of %d layers", key,
                        (unsigned long long)k->count, l->model->n.n_layers);
    int status = k ? eng_gguf_integer(l->gguf, key, list ? (uint64_t)i : 0, &period) : ENG_OK;
    if (!status)
        status = lm_key_in_range(key, period, 0, list ? 1 : LM_MAX_LAYERS);
    *is = list ? period == 1 : period == 0 || i % period < period - 1;
    return status;
}

static int windows(lm_loader *l)
{
    const lm_arch *a = l->model->arch;
    lm_numbers *n = &l->model->n;
    int64_t window = 0;
    if (!lm_arch_reads(l, LM_READS_WINDOW))
        return ENG_OK;
    int status = lm_key_integer_or(l, "attention.sliding_window", 0, INT32_MAX, 0, &window);
    if (!status && window == 0 && a->needs & LM_READS_WINDOW)
        status = lm_key_integer(l, "attention.sliding_window", 1, INT32_MAX, &window);
    for (int i = 0; i < n->n_layers && !status && window; i++) {
        bool is = false;
        status = windowed(l, i, &is);
        n->layer[i].window = !status && is ? window : 0;
        n->layer[i].local = !status && is;
        n->layer[i].rotated &= is || !a->local_alone;
    }
    n->local_rope = n->rope;
    if (a->local_plain) {
        n->local_rope.freq_scale = n->local_rope.attn_factor = 1;
        n->local_rope.ext_factor = 0;
        n->local_rope.base = a->local_base ? a->local_base : n->rope.base;
    }
    if (!status)
        status = lm_key_number_or(l, "rope.freq_base_swa", n->local_rope.base, &n->local_rope.base);
    if (!status && n->local_rope.base <= 0)
        status = eng_fail(ENG_ERR_FORMAT, "key %s.rope.freq_base_swa must be positive, got %g", l->arch_name,
                          n->local_rope.base);
    return status;
}

/* -- layers of other sizes ------------------------------------------------------------------ */

/* Heads of those with a window, and how they are rotated. */
static int local_heads(lm_loader *l, int64_t *d)
{
    lm_numbers *n = &l->model->n;
    int64_t d_v = 0, turned = 0;
    int status = ENG_OK;
    *d = n->d_k;
    if (lm_arch_reads(l, LM_READS_LOCAL_HEADS)) {
        status = lm_key_integer_or(l, "attention.key_length_swa", 1, LM_MAX_EXTENT, n->d_k, d);
        if (!status)
            status = lm_key_integer_or(l, "attention.value_length_swa", *d, *d, *d, &d_v);
    }
    n->local_rope.n_dims = n->rope.n_dims == n->d_k ? *d : n->rope.n_dims;
    if (!status && lm_arch_reads(l, LM_READS_WINDOW))
        status = lm_key_integer_or(l, "rope.dimension_count_swa", 2, *d, n->local_rope.n_dims, &turned);
    if (!status && turned && turned != n->local_rope.n_dims)
        status = eng_fail(ENG_ERR_UNSUPPORTED, "key %s.rope.dimension_count_swa is %lld" ENG_CAUSE "only %lld is known for %s "
                          "models of such heads", l->arch_name, (long long)turned, (long long)n->local_rope.n_dims,
                          l->arch_name);
    return status;
}

/* The last layers keep nothing: they read what the last of their kind before them has kept. */
static int owners(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int64_t shared = 0;
    int status = ENG_OK;
    if (lm_arch_reads(l, LM_READS_SHARED_CACHES))
        status = lm_key_integer_or(l, "attention.shared_kv_layers", 0, n->n_layers - !l->model->arch->assistant, 0, &shared);
    if (l->model->arch->assistant) { /* none keeps anything */
        for (int i = 0; i < n->n_layers; i++)
            n->layer[i].owner = -1;
        n->last_kept = -1;
        return status;
    }
    n->last_kept = n->n_layers - 1 - (int)shared;
    for (int i = n->last_kept + 1; i < n->n_layers && !status; i++) {
        lm_layer *a = &n->layer[i];
        int k = n->last_kept;
        while (k >= 0 && n->layer[k].local != a->local)
            k--;
        if (k < 0 || n->layer[k].n_head_kv != a->n_head_kv)
            status = eng_fail(ENG_ERR_FORMAT, "key %s.attention.shared_kv_layers is %lld" ENG_CAUSE "no layer before has a "
                              "cache that layer %d could read, with %s and %lld heads", l->arch_name, (long long)shared, i,
                              a->local ? "a window" : "no window", (long long)a->n_head_kv);
        a->owner = k;
    }
    return status;
}

/* Once it is known which layers have a window. */
static int sizes(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    bool own = lm_arch_reads(l, LM_READS_LAYER_SIZES) && lm_key_is(l, "attention.head_count_kv");
    int64_t local;
    int status = local_heads(l, &local);
    for (int i = 0; i <= n->n_layers && !status; i++) { /* the one behind them all is for drafting */
        lm_layer *a = &n->layer[i];
        a->n_head_kv = n->n_head_kv;
        a->d_k = a->local ? local : n->d_k;
        a->d_v = a->local ? local : n->d_v;
        a->owner = i;
        if (own && i < n->n_layers && n->kind[i] & LM_LAYER_ATTENTION)
            status = lm_key_layer_integer(l, "attention.head_count_kv", i, 1, n->n_head, &a->n_head_kv);
        if (!status && n->n_head % a->n_head_kv)
            status = eng_fail(ENG_ERR_FORMAT, "key %s.attention.head_count_kv is %lld for layer %d" ENG_CAUSE
                              "%lld heads are no multiple of it", l->arch_name, (long long)a->n_head_kv, i,
                              (long long)n->n_head);
    }
    return status ? status : owners(l);
}

static int altup(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    if (!lm_arch_reads(l, LM_READS_ALTUP))
        return ENG_OK;
    int status = lm_key_integer(l, "altup.num_inputs", 2, LM_MOST_ALTUP, &n->altup);
    if (!status)
        status = lm_key_integer(l, "altup.active_idx", 0, n->altup - 1, &n->altup_active);
    lm_letter_add(l->model, 'J', NULL, n->altup);
    lm_letter_add(l->model, 'U', NULL, n->altup - 1);
    return status;
}

static int sparsity(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = ENG_OK;
    for (int i = 0; i < n->n_layers && !status && lm_arch_reads(l, LM_READS_SPARSITY); i++)
        status = lm_key_layer_number(l, "activation_sparsity_scale", i, &n->layer[i].sparsity);
    return status;
}

/* What layers are given of a token itself. */
static int inputs(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    if (!lm_arch_reads(l, LM_READS_INPUTS))
        return ENG_OK;
    int status = lm_key_integer_or(l, "embedding_length_per_layer_input", 0, LM_MAX_EXTENT, 0, &n->d_input);
    lm_letter_add(l->model, 'I', NULL, n->d_input);
    lm_letter_add(l->model, 'Y', NULL, n->n_layers);
    return status;
}

/* -- feed-forward ------------------------------------------------------------------------- */

#define MOST_EXPERTS (1 << 14) /* see route in moe.c */
enum { SOFTMAX = 1, SIGMOID, SOFTMAX_OF_CHOSEN, ROOT_SOFTPLUS }; /* expert_gating_func; absent or 0: the architecture's own */

static int gating(lm_loader *l)
{
    const lm_arch *a = l->model->arch;
    lm_routing *r = &l->model->n.routing;
    int64_t kind, norm, own = a->root_softplus ? ROOT_SOFTPLUS : a->sigmoid ? SIGMOID : SOFTMAX;
    int status = lm_key_integer_or(l, "expert_gating_func", 0, 1 << 16, own, &kind);
    const int64_t fact = a->unnormed == LM_IF_KEY_DENIES || a->unnormed == LM_NEVER; /* where no key says it */
    if (!status)
        status = lm_key_integer_or(l, "expert_weights_norm", 0, 1, fact, &norm);
    if (!status && a->unnormed < LM_BY_KEY && norm != fact && kind != SOFTMAX_OF_CHOSEN)
        return eng_fail(ENG_ERR_UNSUPPORTED, "key %s.expert_weights_norm is %s" ENG_CAUSE "experts' weights of %s models %s normed",
                        l->arch_name, norm ? "true" : "false", l->arch_name, fact ? "are always" : "are never");
    if (status)
        return status;
    kind = kind ? kind : own;
    if (kind != own && (!lm_arch_reads(l, LM_READS_GATING) || kind > ROOT_SOFTPLUS))
        return eng_fail(ENG_ERR_UNSUPPORTED, "key %s.expert_gating_func is %lld" ENG_CAUSE "of routers only %s (%d) is known for %s",
                        l->arch_name, (long long)kind, own == SIGMOID ? "sigmoid" : own == SOFTMAX ? "softmax" :
                        "the root of softplus", (int)own, l->arch_name);
    r->gate = kind == SIGMOID ? LM_GATE_SIGMOID : kind == ROOT_SOFTPLUS ? LM_GATE_ROOT : LM_GATE_SOFTMAX;
    r->normed = kind == SOFTMAX_OF_CHOSEN || (a->unnormed >= LM_BY_KEY ? norm : a->unnormed == LM_NEVER);
    r->first = a->weigh_first;
    r->least = a->weights_least > 0 ? a->weights_least : 1e-20;
    return ENG_OK;
}

static int groups(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    lm_routing *r = &n->routing;
    int64_t count, used;
    int status = lm_key_integer_or(l, "expert_group_count", 0, LM_MAX_EXTENT, 1, &count);
    r->groups = r->groups_used = 1;
    r->group_best = r->gate || l->model->arch->paired_groups ? 2 : 1;
    if (status || count <= 1)
        return status;
    if (!lm_arch_reads(l, LM_READS_GROUPS))
        return eng_fail(ENG_ERR_UNSUPPORTED, "key %s.expert_group_count is %lld" ENG_CAUSE
                        "experts in groups are not known for %s", l->arch_name, (long long)count, l->arch_name);
    status = lm_key_integer(l, "expert_group_used_count", 1, count, &used);
    if (!status && (n->n_experts % count || n->n_experts / count < r->group_best ||
                    n->n_experts / count * used < n->n_used))
        status = eng_fail(ENG_ERR_FORMAT, "key %s.expert_group_count is %lld" ENG_CAUSE "%lld experts, of which %lld are "
                          "used, are not in so many groups of which %lld are used", l->arch_name, (long long)count,
                          (long long)n->n_experts, (long long)n->n_used, (long long)used);
    r->groups = count;
    r->groups_used = status ? 1 : used;
    return status;
}

static int shared_expert(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int64_t count = 0;
    int status = ENG_OK;
    n->d_shared = n->d_expert;
    if (l->model->arch->shared == LM_SHARED_LENGTH)
        status = lm_key_integer_or(l, "expert_shared_feed_forward_length", 0, LM_MAX_EXTENT, n->d_expert, &n->d_shared);
    if (l->model->arch->shared == LM_SHARED_COUNT) {
        status = lm_key_integer(l, "expert_shared_count", 0, 1 << 10, &count);
        n->d_shared = count * n->d_expert;
    }
    lm_letter_add(l->model, 'N', "ffn_shared", n->d_shared);
    return status;
}

static int expert_numbers(lm_loader *l)
{
    bool own = l->model->arch->experts != LM_EXPERTS_MAYBE, beside = l->model->arch->experts == LM_EXPERTS_BESIDE;
    lm_numbers *n = &l->model->n;
    int64_t ff = 0;
    int status = lm_key_integer(l, "expert_count", 1, MOST_EXPERTS, &n->n_experts);
    if (!status)
        status = lm_key_integer(l, "expert_used_count", 1, n->n_experts, &n->n_used);
    if (!status && !beside)
        status = lm_key_integer_or(l, "feed_forward_length", 0, LM_MAX_EXTENT, 0, &ff);
    if (status)
        return status;
    n->d_expert = ff;
    if (own)
        status = lm_key_integer_or(l, "expert_feed_forward_length", 1, LM_MAX_EXTENT, ff / n->n_used, &n->d_expert);
    if (!status)
        status = lm_key_number_or(l, "expert_weights_scale", 0, &n->routing.scale);
    if (!status)
        status = gating(l);
    if (!status)
        status = groups(l);
    if (!status && n->d_expert < 1)
        status = eng_fail(ENG_ERR_FORMAT, "the file has no key %s.%s, which gives the width of the experts", l->arch_name,
                          own ? "expert_feed_forward_length" : "feed_forward_length");
    if (n->routing.scale == 0)
        n->routing.scale = 1;
    lm_letter_add(l->model, 'X', "expert", n->n_experts);
    lm_letter_add(l->model, 'Z', NULL, n->n_experts);
    lm_letter_add(l->model, 'M', "ffn", n->d_expert);
    if (!status && l->model->arch->shared)
        status = shared_expert(l);
    return status;
}

static int dense_widths(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    bool own = lm_arch_reads(l, LM_READS_LAYER_SIZES);
    int status = own ? ENG_OK : lm_key_integer(l, "feed_forward_length", 1, LM_MAX_EXTENT, &n->n_ff);
    for (int i = 0; i <= n->n_layers && !status; i++) {
        if (own && i < n->n_layers && !n->layer[i].alone)
            status = lm_key_layer_integer(l, "feed_forward_length", i, 1, LM_MAX_EXTENT, &n->n_ff);
        n->layer[i].n_ff = n->n_ff;
    }
    lm_letter_add(l->model, 'F', "ffn", n->n_ff);
    return status;
}

/* Which layers have experts; the others' width. */
static int feed_forward(lm_loader *l)
{
    const lm_arch *a = l->model->arch;
    lm_numbers *n = &l->model->n;
    int64_t experts = a->experts == LM_EXPERTS_OWN, lead = 0, step = 1;
    bool dense = false;
    int status = ENG_OK;
    if (a->experts == LM_EXPERTS_MAYBE || a->experts == LM_EXPERTS_BESIDE)
        status = lm_key_integer_or(l, "expert_count", 0, LM_MAX_EXTENT, 0, &experts);
    if (!status && experts)
        status = expert_numbers(l);
    if (!status && lm_arch_reads(l, LM_READS_DENSE_LEAD))
        status = lm_key_integer_or(l, "leading_dense_block_count", 0, n->n_layers_file, 0, &lead);
    if (!status && lm_arch_reads(l, LM_READS_MOE_STEP))
        status = lm_key_integer(l, "interleave_moe_layer_step", 1, LM_MAX_LAYERS, &step);
    for (int i = 0; i < n->n_layers && !status; i++) {
        n->layer[i].moe = experts && i >= lead && (i + 1) % step == 0;
        dense |= !n->layer[i].alone && (!n->layer[i].moe || a->experts == LM_EXPERTS_BESIDE);
    }
    return status || !dense ? status : dense_widths(l);
}

/* -- the block for drafting ----------------------------------------------------------------- */

/* It is a layer like those with attention, behind them. */
static int drafting(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    if (!l->drafts)
        return ENG_OK;
    if (n->n_layers == n->n_layers_file)
        return eng_fail(ENG_ERR_UNSUPPORTED, "the model has no block for drafting" ENG_CAUSE "key %s.nextn_predict_layers "
                        "is absent or 0" ENG_ADVICE "draft from n-grams, or from a second model", l->arch_name);
    if (!l->model->arch->drafts)
        return eng_fail(ENG_ERR_UNSUPPORTED, "the block for drafting of %s is not known" ENG_ADVICE
                        "draft from n-grams, or from a second model", l->arch_name);
    n->n_drafting = 1;
    n->kind[n->n_layers] = LM_LAYER_ATTENTION | LM_LAYER_DRAFTING;
    n->layer[n->n_layers].moe = n->n_experts > 0;
    n->layer[n->n_layers].rotated = true;
    return ENG_OK;
}

int lm_numbers_read(lm_loader *l)
{
    const lm_arch *a = l->model->arch;
    const lm_numbers *n = &l->model->n;
    int status = check_changing(l);
    if (!status)
        status = layers(l);
    if (!status)
        status = common(l);
    if (!status && (n->attention || !a->scans))
        status = rope(l);
    if (!status && a->hybrid)
        status = lm_numbers_recurrent(l);
    if (!status && a->kda)
        status = lm_numbers_kda(l);
    if (!status && a->scans)
        status = a->scans == LM_SCAN_EACH ? lm_numbers_channel_scan(l) : lm_numbers_scan(l);
    if (!status)
        status = scales(l);
    if (!status)
        status = windows(l);
    if (!status)
        status = sizes(l);
    if (!status)
        status = inputs(l);
    if (!status)
        status = altup(l);
    if (!status && lm_arch_reads(l, LM_READS_HYPER))
        status = lm_numbers_hyper(l);
    if (!status && lm_arch_reads(l, LM_READS_MIX))
        status = lm_numbers_mix(l);
    if (!status && lm_arch_reads(l, LM_READS_CLAMPS))
        status = lm_numbers_clamps(l);
    if (!status)
        status = sparsity(l);
    if (!status)
        status = feed_forward(l);
    if (!status && a->more)
        status = a->more(l);
    if (!status)
        status = drafting(l);
    return status;
}
