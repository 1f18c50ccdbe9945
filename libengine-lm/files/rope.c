/* The numbers of a model's rope, from the keys "<architecture>.rope.*" of its file. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model.h"

/* -- which keys there are ---------------------------------------------------------- */

typedef struct rope_kind {
    bool yarn, sections, local; /* keys of these kinds are read                   */
} rope_kind;

/* What is read.  A key that is not would change what the model computes, so it is no key to be passed over. */
static const struct {
    const char *name; /* behind "rope."                                           */
    rope_kind only;   /* read by ropes of this kind alone                         */
} known[] = {
    {"dimension_count", {0}},
    {"freq_base", {0}},
    {"scale_linear", {0}},
    {"scaling.type", {0}},
    {"scaling.factor", {0}},
    {"scaling.attn_factor", {0}},
    {"scaling.original_context_length", {0}},
    {"scaling.finetuned", {0}}, /* how the model came about: no number follows from it */
    {"scaling.yarn_ext_factor", {.yarn = true}},
    {"scaling.yarn_attn_factor", {.yarn = true}},
    {"scaling.yarn_beta_fast", {.yarn = true}},
    {"scaling.yarn_beta_slow", {.yarn = true}},
    {"scaling.yarn_log_multiplier", {.yarn = true}},
    {"dimension_sections", {.sections = true}},
    {"freq_base_swa", {.local = true}},
    {"dimension_count_swa", {.local = true}},
};

static bool text_is(const eng_gguf_string *s, const char *text)
{
    return s->length == strlen(text) && memcmp(s->data, text, s->length) == 0;
}

/* 0 says nothing, in a key of any kind. */
static bool is_zero(const lm_loader *l, const char *name)
{
    char key[LM_KEY_BYTES];
    double value;
    return eng_gguf_number(l->gguf, lm_key_name(l, name, key), 0, &value) == ENG_OK && value == 0;
}

/* The rest of a key's name, "rope." and all before it taken off: is it read? */
static int check_key(const lm_loader *l, const eng_gguf_string *rest, rope_kind kind)
{
    char name[LM_KEY_BYTES];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!text_is(rest, known[i].name))
            continue;
        snprintf(name, sizeof name, "rope.%s", known[i].name);
        if (known[i].only.yarn && !kind.yarn && !is_zero(l, name))
            return eng_fail(ENG_ERR_UNSUPPORTED, "key %s.%s is of YaRN, but %s.rope.scaling.type is not \"yarn\": the "
                            "file must have both or neither", l->arch_name, name, l->arch_name);
        if (known[i].only.local && !kind.local)
            break;
        if (known[i].only.sections && !kind.sections)
            return eng_fail(ENG_ERR_UNSUPPORTED, "key %s.%s is of ropes with several position streams, which no %s "
                            "model has", l->arch_name, name, l->arch_name);
        return ENG_OK;
    }
    return eng_fail(ENG_ERR_UNSUPPORTED, "key %s.rope.%.*s is not known: without it the model would compute something "
                    "else", l->arch_name, (int)(rest->length < 80 ? rest->length : 80), rest->data);
}

static int check_keys(const lm_loader *l, rope_kind kind)
{
    char prefix[LM_KEY_BYTES];
    size_t n = strlen(lm_key_name(l, "rope.", prefix));
    int status = ENG_OK;
    for (uint64_t i = 0; i < eng_gguf_key_count(l->gguf) && !status; i++) {
        const eng_gguf_string *name = &eng_gguf_key_get(l->gguf, i)->name;
        if (name->length < n || memcmp(name->data, prefix, n) != 0)
            continue;
        eng_gguf_string rest = {name->data + n, name->length - n};
        status = check_key(l, &rest, kind);
    }
    return status;
}

/* -- stretched positions ------------------------------------------------------------- */

static int positive(const lm_loader *l, const char *name, double value)
{
    if (value > 0)
        return ENG_OK;
    return eng_fail(ENG_ERR_FORMAT, "key %s.%s must be positive, got %g", l->arch_name, name, value);
}

/* Reads a key that must be positive where it is. */
static int factor_or(const lm_loader *l, const char *name, double otherwise, double *value)
{
    int status = lm_key_number_or(l, name, otherwise, value);
    return status ? status : positive(l, name, *value);
}

/*
 * YaRN (Peng et al., arXiv:2309.00071): between beta_fast and beta_slow turns over the original context pairs go from
 * their own angle to the stretched one, and what is rotated grows by 1 + 0.1 ln(factor).  yarn_attn_factor takes the
 * place of that growth (the models' code calls it attention_factor), yarn_log_multiplier divides it by the same
 * expression with the logarithm so many times (mscale_all_dim).
 */
static int yarn(const lm_loader *l, double factor, eng_rope_params *r)
{
    double times = 0, growth = 1 + 0.1 * log(factor), size = 0;
    int status = lm_key_number_or(l, "rope.scaling.yarn_log_multiplier", 0, &times);
    if (!status && factor < 1)
        status = eng_fail(ENG_ERR_FORMAT, "key %s.rope.scaling.factor must be at least 1 for YaRN, got %g",
                          l->arch_name, factor);
    if (!status && times < 0)
        status = eng_fail(ENG_ERR_FORMAT, "key %s.rope.scaling.yarn_log_multiplier must not be negative, got %g",
                          l->arch_name, times);
    if (!status)
        status = factor_or(l, "rope.scaling.yarn_attn_factor", growth / (1 + 0.1 * times * log(factor)), &size);
    if (!status)
        status = factor_or(l, "rope.scaling.yarn_beta_fast", 32, &r->beta_fast);
    if (!status)
        status = factor_or(l, "rope.scaling.yarn_beta_slow", 1, &r->beta_slow);
    if (!status)
        status = lm_key_number_or(l, "rope.scaling.yarn_ext_factor", 1, &r->ext_factor);
    if (status)
        return status;
    if (r->beta_fast < r->beta_slow)
        return eng_fail(ENG_ERR_FORMAT,
                        "key %s.rope.scaling.yarn_beta_fast must be at least yarn_beta_slow, got %g and %g",
                        l->arch_name, r->beta_fast, r->beta_slow);
    if (r->ext_factor < 0)
        return eng_fail(ENG_ERR_FORMAT, "key %s.rope.scaling.yarn_ext_factor must not be negative, got %g",
                        l->arch_name, r->ext_factor);
    r->attn_factor *= r->ext_factor != 0 ? size / growth : size; /* the op multiplies by the growth if it mixes */
    return ENG_OK;
}

static int scaling_type(const lm_loader *l, eng_gguf_string *type)
{
    char key[LM_KEY_BYTES];
    *type = (eng_gguf_string){"linear", 6};
    if (!eng_gguf_key_find(l->gguf, lm_key_name(l, "rope.scaling.type", key)))
        return ENG_OK;
    return eng_gguf_text(l->gguf, key, 0, type);
}

/* rope.scaling.*: linear and YaRN stretching of the positions. */
static int scaling(const lm_loader *l, eng_rope_params *r, bool *with_yarn)
{
    eng_gguf_string type;
    double factor, old;
    int status = scaling_type(l, &type);
    if (!status)
        status = lm_key_number_or(l, "rope.scale_linear", 0, &old);
    if (!status)
        status = lm_key_number_or(l, "rope.scaling.factor", old, &factor);
    if (!status)
        status = factor_or(l, "rope.scaling.attn_factor", 1, &r->attn_factor);
    *with_yarn = !status && text_is(&type, "yarn");
    if (!status && factor == 0 && *with_yarn)
        return eng_fail(ENG_ERR_FORMAT, "the file has no key %s.rope.scaling.factor, which YaRN needs", l->arch_name);
    if (status || factor == 0 || text_is(&type, "none"))
        return status;
    if (!*with_yarn && !text_is(&type, "linear"))
        return eng_fail(ENG_ERR_UNSUPPORTED, "rope scaling \"%.*s\" is not known: none, linear and yarn are",
                        (int)(type.length < 40 ? type.length : 40), type.data);
    status = positive(l, "rope.scaling.factor", factor);
    if (status)
        return status;
    r->freq_scale = 1 / factor;
    return *with_yarn ? yarn(l, factor, r) : ENG_OK;
}

/* -- position streams ---------------------------------------------------------------- */

/*
 * Does a pair of an interleaved multi-section rope use the fourth position
 * stream, which is 0 for text?  If none does, all streams it uses are equal and
 * it is the plain one.
 */
static bool uses_fourth_stream(const eng_rope_params *r)
{
    int64_t sum = r->sections[0] + r->sections[1] + r->sections[2] + r->sections[3];
    for (int64_t i = 0; sum > 0 && i < r->n_dims / 2; i++) {
        int64_t q = i % sum, limit[3] = {3 * r->sections[0], 3 * r->sections[1], 3 * r->sections[2]};
        if (q >= limit[q % 3])
            return true;
    }
    return false;
}

static int sections(const lm_loader *l, lm_numbers *n)
{
    char key[LM_KEY_BYTES];
    eng_rope_params *r = &n->rope;
    lm_key_name(l, "rope.dimension_sections", key);
    for (int i = 0; i < 4; i++) {
        int status = eng_gguf_integer(l->gguf, key, (uint64_t)i, &r->sections[i]);
        if (!status)
            status = lm_key_in_range(key, r->sections[i], 0, LM_MAX_EXTENT);
        if (status == ENG_ERR_NOTFOUND)
            return eng_fail(ENG_ERR_FORMAT, "the file has no key %s of four integers, which a %s model needs", key,
                            l->arch_name);
        if (status)
            return status;
    }
    n->rope_streams = uses_fourth_stream(r);
    if (!n->rope_streams)
        r->mode = ENG_ROPE_NEOX;
    return ENG_OK;
}

/* -- all of it ------------------------------------------------------------------------- */

int lm_key_rope(const lm_loader *l, int mode, int64_t n_rot)
{
    lm_numbers *n = &l->model->n;
    eng_rope_params *r = &n->rope;
    char key[LM_KEY_BYTES];
    bool one = l->model->arch->one_stream;
    rope_kind kind = {.sections = mode == ENG_ROPE_IMROPE || one, .local = l->model->arch->reads & LM_READS_WINDOW};
    eng_rope_defaults(r);
    r->mode = mode;
    int status = lm_key_integer_or(l, "rope.dimension_count", lm_least_turned(l->model->arch), n->d_k, n_rot,
                                   &r->n_dims);
    if (!status)
        status = factor_or(l, "rope.freq_base", 10000, &r->base);
    if (!status)
        status = lm_key_integer_or(l, "rope.scaling.original_context_length", 1, INT32_MAX, n->n_ctx_train,
                                   &r->n_ctx_orig);
    if (!status && r->n_dims % 2)
        status = eng_fail(ENG_ERR_FORMAT, "key %s.rope.dimension_count must be even, got %lld", l->arch_name,
                          (long long)r->n_dims);
    if (!status)
        status = scaling(l, r, &kind.yarn);
    if (!status && kind.sections && !one)
        status = sections(l, n);
    if (one)
        lm_unread_not(l, lm_key_name(l, "rope.dimension_sections", key));
    return status ? status : check_keys(l, kind);
}
