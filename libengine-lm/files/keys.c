/* Numbers of a model from the keys of its file. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model.h"

const char *lm_key_name(const lm_loader *l, const char *name, char text[LM_KEY_BYTES])
{
    snprintf(text, LM_KEY_BYTES, "%s.%s", l->arch_name, name);
    return text;
}

bool lm_key_is(const lm_loader *l, const char *name)
{
    char key[LM_KEY_BYTES];
    return eng_gguf_key_find(l->gguf, lm_key_name(l, name, key)) != NULL;
}

/* A list of values of which one layer has another than the rest is not one value. */
static int one_value(const lm_loader *l, const char *key)
{
    const eng_gguf_key *k = eng_gguf_key_find(l->gguf, key);
    double first = 0, other = 0;
    int status = ENG_OK;
    for (uint64_t i = 0; k && k->type == ENG_GGUF_ARRAY && i < k->count && !status; i++) {
        status = eng_gguf_number(l->gguf, key, i, i ? &other : &first);
        if (!status && i && other != first)
            status = eng_fail(ENG_ERR_UNSUPPORTED, "key %s is %.10g for layer 0 and %.10g for layer %llu" ENG_CAUSE
                              "layers that differ in it are not known for %s", key, first, other, (unsigned long long)i,
                              l->arch_name);
    }
    return status;
}

int lm_key_in_range(const char *key, int64_t value, int64_t least, int64_t most)
{
    if (value < least || value > most)
        return eng_fail(ENG_ERR_FORMAT, "key %s is %lld, which is not between %lld and %lld: the file is damaged or "
                        "of a kind that is not known", key, (long long)value, (long long)least, (long long)most);
    return ENG_OK;
}

int lm_key_integer(const lm_loader *l, const char *name, int64_t least, int64_t most, int64_t *value)
{
    char key[LM_KEY_BYTES];
    int64_t found = 0;
    lm_unread_not(l, lm_key_name(l, name, key));
    int status = eng_gguf_integer(l->gguf, key, 0, &found);
    if (status == ENG_ERR_NOTFOUND)
        return eng_fail(ENG_ERR_FORMAT, "the file has no key %s, which a %s model needs", key, l->arch_name);
    if (!status)
        status = one_value(l, key);
    if (!status)
        status = lm_key_in_range(key, found, least, most);
    if (!status)
        *value = found;
    return status;
}

int lm_key_integer_or(const lm_loader *l, const char *name, int64_t least, int64_t most, int64_t otherwise,
                      int64_t *value)
{
    char key[LM_KEY_BYTES];
    if (eng_gguf_key_find(l->gguf, lm_key_name(l, name, key)))
        return lm_key_integer(l, name, least, most, value);
    *value = otherwise;
    return ENG_OK;
}

/* Of which element of the key is the layer's value?  A list has one for each. */
static int layer_index(const lm_loader *l, const char *key, int layer, uint64_t *index)
{
    const eng_gguf_key *k = eng_gguf_key_find(l->gguf, key);
    bool list = k && k->type == ENG_GGUF_ARRAY;
    lm_unread_not(l, key);
    *index = list ? (uint64_t)layer : 0;
    if (list && k->count < (uint64_t)l->model->n.n_layers)
        return eng_fail(ENG_ERR_FORMAT, "key %s has %llu values, expected one for each of %d layers", key,
                        (unsigned long long)k->count, l->model->n.n_layers);
    return k ? ENG_OK : eng_fail(ENG_ERR_FORMAT, "the file has no key %s, which a %s model needs", key, l->arch_name);
}

int lm_key_layer_number(const lm_loader *l, const char *name, int layer, double *value)
{
    char key[LM_KEY_BYTES];
    uint64_t index;
    int status = layer_index(l, lm_key_name(l, name, key), layer, &index);
    if (!status)
        status = eng_gguf_number(l->gguf, key, index, value);
    if (!status && (isnan(*value) || *value > 1e30))
        status = eng_fail(ENG_ERR_FORMAT, "key %s is %g for layer %d, expected a number", key, *value, layer);
    return status;
}

int lm_key_layer_integer(const lm_loader *l, const char *name, int layer, int64_t least, int64_t most, int64_t *value)
{
    char key[LM_KEY_BYTES];
    int64_t found = 0;
    uint64_t index;
    int status = layer_index(l, lm_key_name(l, name, key), layer, &index);
    if (!status)
        status = eng_gguf_integer(l->gguf, key, index, &found);
    if (!status)
        status = lm_key_in_range(key, found, least, most);
    if (!status)
        *value = found;
    return status;
}

int lm_key_number_or(const lm_loader *l, const char *name, double otherwise, double *value)
{
    char key[LM_KEY_BYTES];
    double found = otherwise;
    if (eng_gguf_key_find(l->gguf, lm_key_name(l, name, key))) {
        lm_unread_not(l, key);
        int status = eng_gguf_number(l->gguf, key, 0, &found);
        if (!status)
            status = one_value(l, key);
        if (status)
            return status;
        if (!isfinite(found))
            return eng_fail(ENG_ERR_FORMAT, "key %s is not a finite number", key);
    }
    *value = found;
    return ENG_OK;
}

void lm_letter_add(eng_lm_model *model, char letter, const char *axis, int64_t extent)
{
    if (model->n_letters < sizeof model->letters / sizeof *model->letters)
        model->letters[model->n_letters++] = (lm_letter){letter, axis, extent};
}

void lm_layer_letters(const eng_lm_model *model, int layer, lm_letter letters[LM_MAX_LETTERS])
{
    memcpy(letters, model->letters, sizeof model->letters);
    if (layer < 0)
        return;
    const lm_layer *a = &model->n.layer[layer];
    for (uint32_t i = 0; i < model->n_letters; i++)
        switch (letters[i].letter) {
        case 'H': letters[i].extent = a->n_head_kv; break;
        case 'G': letters[i].extent = model->n.n_head / a->n_head_kv; break;
        case 'D': letters[i].extent = a->d_k; break;
        case 'F': letters[i].extent = a->n_ff; break;
        case 's': letters[i].extent = a->ratio; break;
        case 'u': letters[i].extent = a->chooses ? 2 : 1; break;
        default: break;
        }
}
