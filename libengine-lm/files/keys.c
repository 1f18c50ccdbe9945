/* Numbers of a model from the keys of its file. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../internal.h"

#define KEY_BYTES 128

static const char *full_name(const lm_loader *l, const char *name, char text[KEY_BYTES])
{
    snprintf(text, KEY_BYTES, "%s.%s", l->arch_name, name);
    return text;
}

static int in_range(const char *key, int64_t value, int64_t least, int64_t most)
{
    if (value < least || value > most)
        return eng_fail(ENG_ERR_FORMAT, "key %s is %lld, which is not between %lld and %lld: the file is damaged or "
                        "of a kind that is not known", key, (long long)value, (long long)least, (long long)most);
    return ENG_OK;
}

int lm_key_integer(const lm_loader *l, const char *name, int64_t least, int64_t most, int64_t *value)
{
    char key[KEY_BYTES];
    int64_t found = 0;
    full_name(l, name, key);
    int status = eng_gguf_integer(l->gguf, key, 0, &found);
    if (status == ENG_ERR_NOTFOUND)
        return eng_fail(ENG_ERR_FORMAT, "the file has no key %s, which a %s model needs", key, l->arch_name);
    if (!status)
        status = in_range(key, found, least, most);
    if (!status)
        *value = found;
    return status;
}

int lm_key_integer_or(const lm_loader *l, const char *name, int64_t least, int64_t most, int64_t otherwise,
                      int64_t *value)
{
    char key[KEY_BYTES];
    if (eng_gguf_key_find(l->gguf, full_name(l, name, key)))
        return lm_key_integer(l, name, least, most, value);
    *value = otherwise;
    return ENG_OK;
}

int lm_key_number_or(const lm_loader *l, const char *name, double otherwise, double *value)
{
    char key[KEY_BYTES];
    double found = otherwise;
    if (eng_gguf_key_find(l->gguf, full_name(l, name, key))) {
        int status = eng_gguf_number(l->gguf, key, 0, &found);
        if (status)
            return status;
        if (!isfinite(found))
            return eng_fail(ENG_ERR_FORMAT, "key %s is not a finite number", key);
    }
    *value = found;
    return ENG_OK;
}

static bool text_is(const eng_gguf_string *s, const char *text)
{
    return s->length == strlen(text) && memcmp(s->data, text, s->length) == 0;
}

/* rope.scaling.*: linear and YaRN stretching of the positions. */
static int rope_scaling(const lm_loader *l, eng_rope_params *r)
{
    char key[KEY_BYTES];
    eng_gguf_string type = {"linear", 6};
    if (eng_gguf_key_find(l->gguf, full_name(l, "rope.scaling.type", key))) {
        int status = eng_gguf_text(l->gguf, key, 0, &type);
        if (status)
            return status;
    }
    double factor, old;
    int status = lm_key_number_or(l, "rope.scale_linear", 0, &old);
    if (!status)
        status = lm_key_number_or(l, "rope.scaling.factor", old, &factor);
    if (status || text_is(&type, "none") || factor == 0)
        return status;
    if (factor < 0)
        return eng_fail(ENG_ERR_FORMAT, "key %s.rope.scaling.factor is negative", l->arch_name);
    r->freq_scale = 1 / factor;
    if (text_is(&type, "linear"))
        return ENG_OK;
    if (!text_is(&type, "yarn"))
        return eng_fail(ENG_ERR_UNSUPPORTED, "rope scaling \"%.*s\" is not known: none, linear and yarn are",
                        (int)(type.length < 40 ? type.length : 40), type.data);
    r->ext_factor = 1;
    r->beta_fast = 32;
    r->beta_slow = 1;
    return lm_key_number_or(l, "rope.scaling.attn_factor", 1, &r->attn_factor);
}

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

int lm_key_rope(const lm_loader *l, int mode, int64_t n_rot)
{
    lm_numbers *n = &l->model->n;
    eng_rope_params *r = &n->rope;
    eng_rope_defaults(r);
    r->mode = mode;
    int status = lm_key_integer_or(l, "rope.dimension_count", 2, n->d_k, n_rot, &r->n_dims);
    if (!status)
        status = lm_key_number_or(l, "rope.freq_base", 10000, &r->base);
    if (!status)
        status = lm_key_integer_or(l, "rope.scaling.original_context_length", 1, INT32_MAX, n->n_ctx_train,
                                   &r->n_ctx_orig);
    if (!status)
        status = rope_scaling(l, r);
    if (status)
        return status;
    if (r->n_dims % 2 || r->base <= 0)
        return eng_fail(ENG_ERR_FORMAT, "%s.rope.dimension_count must be even and rope.freq_base positive",
                        l->arch_name);
    if (mode != ENG_ROPE_IMROPE)
        return ENG_OK;
    char key[KEY_BYTES];
    full_name(l, "rope.dimension_sections", key);
    for (int i = 0; i < 4; i++) {
        status = eng_gguf_integer(l->gguf, key, (uint64_t)i, &r->sections[i]);
        if (!status)
            status = in_range(key, r->sections[i], 0, LM_MAX_EXTENT);
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

void lm_letter_add(eng_lm_model *model, char letter, const char *axis, int64_t extent)
{
    if (model->n_letters < sizeof model->letters / sizeof *model->letters)
        model->letters[model->n_letters++] = (lm_letter){letter, axis, extent};
}
