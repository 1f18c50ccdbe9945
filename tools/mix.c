/*
 * Which types the known mixes give the matrices of a model.  What a mix is called and what it gives to which matrix are
 * facts of the files that are about: llama.cpp's llama-quant.cpp has them.  Left out is what it does for single models
 * (falcon, 70 B).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libengine/util/util.h"
#include "mix.h"

enum kind { OTHER, OUTPUT, ATTENTION_V, ATTENTION_K, ATTENTION_OUT, ATTENTION_QKV, DOWN };

/* Of the layers: the first n-th; or those that count most, by the usual guess: the first and the last eighth, and
 * every third between. */
enum layers { NONE, ALL, FIRST_EIGHTH, FIRST_SIXTEENTH, FIRST_TWO, FIRST_FOUR, MORE_BITS, SHARED_HEADS };

typedef struct exception {
    enum kind kind;
    enum layers layers;
    uint32_t type;
} exception;

struct mix {
    const char *name;
    uint32_t base;
    int file_type;
    exception exceptions[8]; /* the first that fits counts */
};

#define Q(k) ENG_TYPE_Q##k##_K
static const mix mixes[] = {
    {"Q2_K_S", Q(2), 21, {{ATTENTION_V, SHARED_HEADS, Q(4)}, {DOWN, FIRST_EIGHTH, Q(4)}}},
    {"Q2_K_M", Q(2), 10, {{ATTENTION_V, SHARED_HEADS, Q(4)}, {ATTENTION_V, ALL, Q(3)}, {DOWN, ALL, Q(3)},
                          {ATTENTION_OUT, ALL, Q(3)}}},
    {"Q3_K_S", Q(3), 11, {{OTHER, NONE, 0}}},
    {"Q3_K_M", Q(3), 12, {{ATTENTION_V, FIRST_TWO, Q(5)}, {ATTENTION_V, ALL, Q(4)}, {DOWN, FIRST_SIXTEENTH, Q(5)},
                          {DOWN, ALL, Q(4)}, {ATTENTION_OUT, ALL, Q(4)}, {ATTENTION_QKV, ALL, Q(4)}}},
    {"Q3_K_L", Q(3), 13, {{ATTENTION_V, ALL, Q(5)}, {DOWN, ALL, Q(5)}, {ATTENTION_OUT, ALL, Q(5)},
                          {ATTENTION_QKV, ALL, Q(4)}}},
    {"Q4_K_S", Q(4), 14, {{ATTENTION_V, FIRST_FOUR, Q(5)}, {DOWN, FIRST_EIGHTH, Q(5)}}},
    {"Q4_K_M", Q(4), 15, {{ATTENTION_V, MORE_BITS, Q(6)}, {DOWN, MORE_BITS, Q(6)}, {ATTENTION_QKV, ALL, Q(5)}}},
    {"Q5_K_S", Q(5), 16, {{OTHER, NONE, 0}}},
    {"Q5_K_M", Q(5), 17, {{ATTENTION_V, MORE_BITS, Q(6)}, {DOWN, MORE_BITS, Q(6)}, {ATTENTION_QKV, ALL, Q(6)}}},
};
#define N_MIXES (sizeof mixes / sizeof *mixes)

const mix *mix_find(const char *name)
{
    for (size_t i = 0; i < N_MIXES; i++)
        if (strcasecmp(mixes[i].name, name) == 0)
            return &mixes[i];
    return NULL;
}

void mix_print_names(FILE *to)
{
    for (size_t i = 0; i < N_MIXES; i++)
        fprintf(to, "%s %s", i ? "," : "", mixes[i].name);
    fputc('\n', to);
}

const char *mix_name(const mix *m)
{
    return m->name;
}

uint32_t mix_base(const mix *m)
{
    return m->base;
}

int mix_file_type(const mix *m)
{
    return m->file_type;
}

/* -- the model ------------------------------------------------------------------------- */

static int begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static enum kind kind_of(const mix_model *model, const char *name)
{
    static const struct {
        const char *word;
        enum kind kind;
    } known[] = {{"attn_v.", ATTENTION_V},     {"attn_k.", ATTENTION_K},     {"attn_output.", ATTENTION_OUT},
                 {"attn_qkv.", ATTENTION_QKV}, {"ffn_down.", DOWN},          {"ffn_down_exps.", DOWN},
                 {"ffn_down_shexp.", DOWN},    {"attn_kv_b.", ATTENTION_V}};
    if (!strcmp(name, "output.weight") || (model->tied && !strcmp(name, "token_embd.weight")))
        return OUTPUT;
    const char *dot = begins(name, "blk.") ? strchr(name + 4, '.') : NULL;
    for (size_t i = 0; dot && i < sizeof known / sizeof *known; i++)
        if (begins(dot + 1, known[i].word))
            return known[i].kind;
    return OTHER;
}

/* A number of the model's keys, or what it is without the key.  Of several, the first that is not 0. */
static int64_t number(const eng_gguf *g, const char *arch, const char *name, int64_t without)
{
    char path[160];
    int64_t value = 0;
    snprintf(path, sizeof path, "%s.%s", arch, name);
    const eng_gguf_key *key = eng_gguf_key_find(g, path);
    if (!key)
        return without;
    const uint64_t n = key->type == ENG_GGUF_ARRAY ? key->count : 1;
    for (uint64_t i = 0; i < n && value == 0; i++)
        if (eng_gguf_integer(g, path, i, &value) != ENG_OK)
            return without;
    return value ? value : without;
}

void mix_look(const eng_gguf *gguf, mix_model *model)
{
    char arch[96] = "";
    eng_gguf_string text;
    *model = (mix_model){.gguf = gguf, .tied = 1};
    if (eng_gguf_key_find(gguf, "general.architecture") &&
        eng_gguf_text(gguf, "general.architecture", 0, &text) == ENG_OK)
        snprintf(arch, sizeof arch, "%.*s", (int)(text.length < 64 ? text.length : 64), text.data);
    const int64_t heads = number(gguf, arch, "attention.head_count", 1);
    model->heads_per_kv = heads / number(gguf, arch, "attention.head_count_kv", heads);
    model->experts = number(gguf, arch, "expert_count", 0);
    for (uint32_t i = 0; i < eng_gguf_tensor_count(gguf); i++)
        model->tied &= strcmp(eng_gguf_tensor_get(gguf, i)->name, "output.weight") != 0;
    for (uint32_t i = 0; i < eng_gguf_tensor_count(gguf); i++) {
        const enum kind kind = kind_of(model, eng_gguf_tensor_get(gguf, i)->name);
        model->n_down += kind == DOWN;
        model->n_v += kind == ATTENTION_V;
    }
}

static long layer_of(const char *name)
{
    return begins(name, "blk.") ? strtol(name + 4, NULL, 10) : 0;
}

/* How many matrices of the kind are in layers before, or before it in its own. */
static uint32_t rank_of(const mix_model *model, enum kind kind, const eng_gguf_tensor *t)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < eng_gguf_tensor_count(model->gguf); i++) {
        const eng_gguf_tensor *o = eng_gguf_tensor_get(model->gguf, i);
        const long difference = layer_of(o->name) - layer_of(t->name);
        rank += kind_of(model, o->name) == kind &&
                (difference < 0 || (difference == 0 && strcmp(o->name, t->name) < 0));
    }
    return rank;
}

static int among(const mix_model *model, enum layers layers, uint32_t i, uint32_t n)
{
    switch (layers) {
    case ALL: return 1;
    case FIRST_EIGHTH: return i < n / 8;
    case FIRST_SIXTEENTH: return i < n / 16;
    case FIRST_TWO: return i < 2;
    case FIRST_FOUR: return i < 4;
    case MORE_BITS: return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
    case SHARED_HEADS: return model->heads_per_kv >= 4;
    default: return 0;
    }
}

uint32_t mix_type(const mix *m, const mix_model *model, const eng_gguf_tensor *t)
{
    const enum kind kind = kind_of(model, t->name);
    const uint32_t n = kind == DOWN ? model->n_down : model->n_v;
    const uint32_t i = kind == DOWN || kind == ATTENTION_V ? rank_of(model, kind, t) : 0;
    if (kind == OUTPUT)
        return ENG_TYPE_Q6_K;
    if (model->experts == 8 && (kind == ATTENTION_V || kind == ATTENTION_K)) /* small beside the experts */
        return ENG_TYPE_Q8_0;
    if (model->experts == 8 && kind == ATTENTION_OUT && m->base != ENG_TYPE_Q5_K)
        return m->file_type == 13 || m->file_type == 21 ? m->base : ENG_TYPE_Q5_K;
    for (const exception *e = m->exceptions; e < m->exceptions + 8 && e->layers != NONE; e++)
        if (e->kind == kind && among(model, e->layers, i, n))
            return e->type;
    return m->base;
}
