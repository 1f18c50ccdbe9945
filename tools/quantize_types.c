/* Which type a tensor gets: the mix's or the one asked for, rules by pattern, and what fits. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quantize.h"
#include "weighted.h"

#define SMALL 4096 /* matrices with fewer elements stay */

static int ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* A matrix that is multiplied with, or looked up in, as a whole. */
static int is_matrix(const eng_gguf_tensor *t)
{
    static const char *const kept[] = {"_norm.weight", "ssm_conv1d.weight", "_ape.weight", "ffn_gate_inp.weight",
                                       "ffn_gate_inp_shexp.weight"};
    int64_t elements = t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];

    if (t->rank < 2 || t->ne[1] == 1 || elements < SMALL || !ends_with(t->name, ".weight"))
        return 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (ends_with(t->name, kept[i]))
            return 0;
    return !is_integer(t->type);
}

static int fits(uint32_t type, int64_t columns)
{
    return columns % eng_type_get(type)->block == 0;
}

static bool is_read(uint32_t type)
{
    return eng_type_get(type) || eu_plain_bytes(type);
}

uint64_t quantize_row_bytes(uint32_t type, int64_t columns)
{
    return eu_plain_bytes(type) ? eu_plain_bytes(type) * (uint64_t)columns : eng_row_bytes(type, columns);
}

/* What stays as it is: of doubles only the type, which no op reads. */
static uint32_t kept_type(const eng_gguf_tensor *t)
{
    return eu_plain_bytes(t->type) == 8 ? ENG_TYPE_F32 : t->type;
}

static uint32_t wanted_type(job *j, const eng_gguf_tensor *t)
{
    uint32_t type = !is_matrix(t) ? kept_type(t) : j->mix ? mix_type(j->mix, &j->model, t) : j->type;

    if (is_read(t->type) && !is_integer(t->type))
        for (uint32_t i = 0; i < j->n_rules; i++)
            if (eu_pattern_found(j->rules[i].pattern, t->name)) {
                j->rules[i].used++;
                type = j->rules[i].type;
                break;
            }
    return type;
}

/* What a tensor that needs importance becomes where the matrix has none of it (embeddings are looked up, not
 * multiplied). */
static int without_importance(job *j, const eng_gguf_tensor *t, uint32_t *type)
{
    const float *values = NULL;
    int64_t sets;
    if (!weighted_needs(*type))
        return ENG_OK;
    const char *name = eng_type_get(*type)->name;
    if (!j->importance)
        return eng_fail(ENG_ERR_INVALID,
                        "tensor \"%s\"" ENG_CAUSE "with so few bits as %s has, a model is worth something only if "
                        "the weights that count most are known" ENG_ADVICE
                        "collect an importance matrix (engine-generate --imatrix-out) and give it (--imatrix)",
                        t->name, name);
    int status = importance_find(j->importance, t->name, t->ne[0], t->ne[2], &values, &sets);
    if (!status && !values) {
        *type = ENG_TYPE_Q4_K;
        if (!j->quiet)
            printf("%s: %s does not say what is important in it: q4_K instead of %s\n", t->name, j->imatrix, name);
    }
    return status;
}

int quantize_choose_types(job *j)
{
    uint32_t n = eng_gguf_tensor_count(j->gguf), other = 0;

    j->types = calloc(n ? n : 1, sizeof *j->types);
    if (!j->types)
        return eng_fail_code(EU_NO_MEMORY("the types of the tensors"));
    mix_look(j->gguf, j->importance != NULL, &j->model);
    for (uint32_t i = 0; i < n; i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(j->gguf, i);
        uint32_t wanted = wanted_type(j, t), type = wanted;
        if (type != t->type && !is_read(t->type))
            return eng_fail(ENG_ERR_UNSUPPORTED,
                            "tensor \"%s\" is of type %u (%s), which cannot be decoded: begin with an f16 or f32 model",
                            t->name, t->type, eng_type_name(t->type));
        if (type != t->type && !fits(type, t->ne[0]))
            type = fits(ENG_TYPE_Q8_0, t->ne[0]) ? ENG_TYPE_Q8_0 : ENG_TYPE_F16;
        else if (type != t->type) {
            int status = without_importance(j, t, &type);
            if (status)
                return status;
            wanted = type;
        }
        if (type != wanted && !j->quiet && ++other)
            printf("%s: rows of %" PRId64 " elements are no blocks of %s: %s instead\n", t->name, t->ne[0],
                   eng_type_get(wanted)->name, eng_type_get(type)->name);
        else if (j->mix && type != j->type && type != t->type && !j->quiet)
            printf("%s: %s\n", t->name, eng_type_get(type)->name);
        j->types[i] = type;
    }
    for (uint32_t i = 0; i < j->n_rules; i++) {
        eu_pattern_state state = eu_pattern_get_state(j->rules[i].pattern);
        if (state == EU_PATTERN_NO_MEMORY)
            return eng_fail_code(EU_NO_MEMORY("a search"));
        if (state != EU_PATTERN_FINE)
            return eng_fail(ENG_ERR_INVALID, "--tensor %s" ENG_CAUSE EU_PATTERN_CAUSE ENG_ADVICE EU_PATTERN_ADVICE,
                            j->rules[i].text);
        if (j->rules[i].used == 0)
            return eng_fail(ENG_ERR_INVALID, "--tensor %s" ENG_CAUSE
                            "no tensor's name matches, or an earlier pattern took it",
                            j->rules[i].text);
    }
    return ENG_OK;
}
