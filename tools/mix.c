/*
 * Which types the known mixes give the matrices of a model.  What a mix is called and what it gives to which matrix are
 * facts of the files that are about: llama.cpp's src/llama-quant.cpp has them, and the names tools/quantize.  Left out
 * is what it does for single models (falcon, 70 B).
 */
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libengine/util/util.h"
#include "mix.h"

/* general.file_type of the mix that goes by what is an expert. */
#define MXFP4_MOE 38

enum kind {
    OTHER, EMBEDDING, OUTPUT, ATTENTION_V, ATTENTION_K, ATTENTION_Q, ATTENTION_OUT, ATTENTION_QKV, DOWN, UP, GATE
};

/* Of the layers: the first n-th; or those that count most, by the usual guess: the first and the last eighth, and
 * every third between.  Or where heads share K and V, or there are that many experts. */
enum layers {
    NONE, ALL, FIRST_EIGHTH, FIRST_SIXTEENTH, FIRST_TWO, FIRST_FOUR, MIDDLE, MORE_BITS, SHARED_HEADS, SHARED_OR_EXPERTS,
    EIGHT_EXPERTS, MORE_BITS_OF_EIGHT
};

/* Only with an importance matrix, only without one. */
enum { WITH = 64, WITHOUT = 128 };

typedef struct exception {
    enum kind kind;
    uint32_t where; /* one of enum layers, | WITH or WITHOUT */
    uint32_t type;
} exception;

/* Of models of eight experts, beside which attention is small: V and K are q8_0, and its output is q5_K. */
enum eight { OWN, VALUES, OUTPUTS_TOO };

#define MOST 10 /* exceptions of a mix */
struct mix {
    const char *name;  /* NULL: it is a type's */
    const char *usual; /* what others call it; NULL: the same */
    uint32_t base;
    int file_type;
    uint32_t output;
    enum eight eight;
    exception exceptions[MOST]; /* the first that fits counts */
};

#define Q(k) ENG_TYPE_Q##k##_K
#define IQ(x) ENG_TYPE_IQ##x
/* What has so few bits that a part of the model gets `more`. */
#define FEW(more)                                                                                                      \
    {ATTENTION_V, SHARED_OR_EXPERTS, Q(4)}, {ATTENTION_V, ALL, more}, {ATTENTION_QKV, SHARED_OR_EXPERTS, Q(4)},        \
    {ATTENTION_QKV, ALL, more}, {ATTENTION_K, EIGHT_EXPERTS, Q(4)}, {DOWN, FIRST_EIGHTH, more},                        \
    {EMBEDDING, ALL, more}, {ATTENTION_OUT, EIGHT_EXPERTS, Q(5)}
static const struct mix mixes[] = {
    {"Q2_K_S", NULL, Q(2), 21, Q(6), VALUES, {{ATTENTION_V, SHARED_HEADS, Q(4)}, {DOWN, FIRST_EIGHTH, Q(4)}}},
    {"Q2_K_M", "Q2_K", Q(2), 10, Q(6), OUTPUTS_TOO,
     {{ATTENTION_V, SHARED_HEADS, Q(4)}, {ATTENTION_V, ALL, Q(3)}, {DOWN, ALL, Q(3)}, {ATTENTION_OUT, ALL, Q(3)}}},
    {"Q3_K_S", NULL, Q(3), 11, Q(6), OUTPUTS_TOO, {{OTHER, NONE, 0}}},
    {"Q3_K_M", "Q3_K", Q(3), 12, Q(6), OUTPUTS_TOO,
     {{ATTENTION_V, FIRST_TWO, Q(5)}, {ATTENTION_V, ALL, Q(4)}, {DOWN, FIRST_SIXTEENTH, Q(5)}, {DOWN, ALL, Q(4)},
      {ATTENTION_OUT, ALL, Q(4)}, {ATTENTION_QKV, ALL, Q(4)}}},
    {"Q3_K_L", NULL, Q(3), 13, Q(6), VALUES,
     {{ATTENTION_V, ALL, Q(5)}, {DOWN, ALL, Q(5)}, {ATTENTION_OUT, ALL, Q(5)}, {ATTENTION_QKV, ALL, Q(4)}}},
    {"Q4_K_S", NULL, Q(4), 14, Q(6), OUTPUTS_TOO, {{ATTENTION_V, FIRST_FOUR, Q(5)}, {DOWN, FIRST_EIGHTH, Q(5)}}},
    {"Q4_K_M", "Q4_K", Q(4), 15, Q(6), OUTPUTS_TOO,
     {{ATTENTION_V, MORE_BITS, Q(6)}, {DOWN, MORE_BITS, Q(6)}, {ATTENTION_QKV, ALL, Q(5)}}},
    {"Q5_K_S", NULL, Q(5), 16, Q(6), VALUES, {{OTHER, NONE, 0}}},
    {"Q5_K_M", "Q5_K", Q(5), 17, Q(6), VALUES,
     {{ATTENTION_V, MORE_BITS, Q(6)}, {DOWN, MORE_BITS, Q(6)}, {ATTENTION_QKV, ALL, Q(6)}}},
    {NULL, "Q6_K", Q(6), 18, Q(6), VALUES, {{OTHER, NONE, 0}}},
    {NULL, "IQ1_S", IQ(1_S), 24, Q(5), OWN, {FEW(Q(2)), {ATTENTION_OUT, ALL, IQ(2_XXS)}}},
    {NULL, "IQ1_M", IQ(1_M), 31, Q(5), OWN, {FEW(Q(2)), {ATTENTION_OUT, ALL, IQ(2_XXS)}}},
    {NULL, "IQ2_XXS", IQ(2_XXS), 19, Q(5), OWN, {FEW(Q(2))}},
    {NULL, "IQ2_XS", IQ(2_XS), 20, Q(5), OWN, {FEW(Q(2))}},
    {NULL, "IQ2_S", IQ(2_XS), 28, Q(5), OWN, {FEW(IQ(3_S)), {ATTENTION_OUT, ALL, IQ(3_S)}}},
    {"IQ2_M", NULL, IQ(2_S), 29, Q(5), OWN, {FEW(IQ(3_S)), {ATTENTION_OUT, ALL, IQ(3_S)}}},
    {NULL, "IQ3_XXS", IQ(3_XXS), 23, Q(5), OUTPUTS_TOO,
     {{ATTENTION_V, SHARED_HEADS, Q(4)}, {ATTENTION_V, ALL | WITHOUT, IQ(3_S)}, {ATTENTION_K, ALL, IQ(2_S)},
      {ATTENTION_Q, ALL, IQ(2_S)}, {DOWN, FIRST_EIGHTH | WITHOUT, Q(4)}, {DOWN, ALL | WITHOUT, Q(3)},
      {ATTENTION_OUT, ALL, IQ(3_S)}, {EMBEDDING, ALL, IQ(3_S)}, {ATTENTION_QKV, SHARED_HEADS, Q(4)},
      {ATTENTION_QKV, ALL | WITHOUT, IQ(3_S)}}},
    {"IQ3_XS", NULL, IQ(3_S), 22, Q(6), OUTPUTS_TOO,
     {{ATTENTION_V, SHARED_HEADS, Q(4)}, {ATTENTION_QKV, SHARED_HEADS, Q(4)}, {ATTENTION_K, ALL, IQ(3_XXS)},
      {ATTENTION_Q, ALL, IQ(3_XXS)}, {UP, MIDDLE, IQ(3_XXS)}, {GATE, MIDDLE, IQ(3_XXS)}}},
    {NULL, "IQ3_S", IQ(3_S), 26, Q(6), OUTPUTS_TOO,
     {{ATTENTION_V, SHARED_HEADS, Q(4)}, {ATTENTION_QKV, SHARED_HEADS, Q(4)}}},
    {"IQ3_M", NULL, IQ(3_S), 27, Q(6), OUTPUTS_TOO,
     {{ATTENTION_V, ALL, Q(4)}, {ATTENTION_QKV, ALL, Q(4)}, {DOWN, FIRST_EIGHTH, Q(4)},
      {DOWN, MORE_BITS_OF_EIGHT, Q(4)}, {ATTENTION_OUT, ALL, Q(4)}}},
    {NULL, "IQ4_NL", IQ(4_NL), 25, Q(6), OUTPUTS_TOO,
     {{ATTENTION_V, SHARED_HEADS, Q(5)}, {ATTENTION_QKV, SHARED_HEADS, Q(5)}, {DOWN, FIRST_EIGHTH | WITHOUT, Q(5)}}},
    {NULL, "IQ4_XS", IQ(4_XS), 30, Q(6), OUTPUTS_TOO,
     {{ATTENTION_V, SHARED_HEADS, Q(5)}, {ATTENTION_QKV, SHARED_HEADS, Q(5)}, {DOWN, FIRST_EIGHTH | WITHOUT, Q(5)}}},
    {NULL, "TQ1_0", ENG_TYPE_TQ1_0, 36, Q(6), VALUES, {{EMBEDDING, ALL, Q(4)}}},
    {NULL, "TQ2_0", ENG_TYPE_TQ2_0, 37, Q(6), VALUES, {{EMBEDDING, ALL, Q(4)}}},
    {NULL, "Q1_0", ENG_TYPE_Q1_0, 40, Q(6), VALUES, {{OTHER, NONE, 0}}},
    {NULL, "Q2_0", ENG_TYPE_Q2_0, 41, Q(6), VALUES, {{EMBEDDING, ALL, Q(4)}}},
    {NULL, "Q4_0", ENG_TYPE_Q4_0, 2, Q(6), VALUES, {{DOWN, FIRST_EIGHTH | WITH, ENG_TYPE_Q4_1}}},
    {NULL, "Q4_1", ENG_TYPE_Q4_1, 3, Q(6), VALUES, {{OTHER, NONE, 0}}},
    {NULL, "Q5_0", ENG_TYPE_Q5_0, 8, Q(6), VALUES, {{DOWN, FIRST_EIGHTH | WITH, ENG_TYPE_Q5_1}}},
    {NULL, "Q5_1", ENG_TYPE_Q5_1, 9, Q(6), VALUES, {{OTHER, NONE, 0}}},
    {NULL, "Q8_0", ENG_TYPE_Q8_0, 7, ENG_TYPE_Q8_0, VALUES, {{OTHER, NONE, 0}}},
    {"MXFP4_MOE", NULL, ENG_TYPE_MXFP4, MXFP4_MOE, ENG_TYPE_Q8_0, OWN, {{OTHER, NONE, 0}}},
};
#define N_MIXES (sizeof mixes / sizeof *mixes)

static bool is_called(const char *name, const char *asked)
{
    return name && strcasecmp(name, asked) == 0;
}

const mix *mix_find(const char *name, bool usual)
{
    for (size_t i = 0; i < N_MIXES; i++)
        if (is_called(mixes[i].name, name) || (usual && is_called(mixes[i].usual, name)))
            return &mixes[i];
    return NULL;
}

bool mix_is_usual(const char *name)
{
    const mix *m = mix_find(name, true);
    return m && !is_called(m->name, name) && m->output != m->base;
}

const char *mix_why_not(const char *name)
{
    static const struct {
        const char *name, *why;
    } known[] = {
        {"COPY", "nothing would change: copy the file"},
        {"Q4_0_4_4", "such files have q4_0 in the order of one processor, which no tool writes any more: take q4_0"},
        {"Q4_0_4_8", "such files have q4_0 in the order of one processor, which no tool writes any more: take q4_0"},
        {"Q4_0_8_8", "such files have q4_0 in the order of one processor, which no tool writes any more: take q4_0"},
        {"Q2_K_L", "a publisher's: Q2_K_M with -T '^(token_embd|output)\\.weight$=q8_0'"},
        {"Q3_K_XL", "a publisher's: Q3_K_L with -T '^(token_embd|output)\\.weight$=q8_0'"},
        {"Q4_K_L", "a publisher's: Q4_K_M with -T '^(token_embd|output)\\.weight$=q8_0'"},
        {"Q5_K_L", "a publisher's: Q5_K_M with -T '^(token_embd|output)\\.weight$=q8_0'"},
        {"Q6_K_L", "a publisher's: q6_K with -T '^(token_embd|output)\\.weight$=q8_0'"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_called(known[i].name, name))
            return known[i].why;
    return strncasecmp(name, "UD-", 3) ? NULL : "a publisher's, another one for each model: give -T what its file has";
}

static void print_names(FILE *to, bool usual)
{
    for (size_t i = 0, n = 0; i < N_MIXES; i++) {
        const char *name = usual ? mixes[i].usual : mixes[i].name;
        if (name)
            fprintf(to, "%s %s", n++ ? "," : "", name);
    }
    fputc('\n', to);
}

void mix_print_names(FILE *to)
{
    print_names(to, false);
}

void mix_print_usual_names(FILE *to)
{
    print_names(to, true);
}

const char *mix_name(const mix *m)
{
    return m->name ? m->name : m->usual;
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
                 {"ffn_down_shexp.", DOWN},    {"attn_kv_b.", ATTENTION_V},  {"attn_q.", ATTENTION_Q},
                 {"ffn_up", UP},               {"ffn_gate", GATE}};
    const bool embedding = !strcmp(name, "token_embd.weight");
    if (!strcmp(name, "output.weight") || (model->tied && embedding))
        return OUTPUT;
    if (embedding || !strcmp(name, "per_layer_token_embd.weight"))
        return EMBEDDING;
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

void mix_look(const eng_gguf *gguf, bool importance, mix_model *model)
{
    char arch[96] = "";
    eng_gguf_string text;
    *model = (mix_model){.gguf = gguf, .tied = 1, .importance = importance};
    if (eng_gguf_key_find(gguf, "general.architecture") &&
        eng_gguf_text(gguf, "general.architecture", 0, &text) == ENG_OK)
        snprintf(arch, sizeof arch, "%.*s", (int)(text.length < 64 ? text.length : 64), text.data);
    const int64_t heads = number(gguf, arch, "attention.head_count", 1);
    const int64_t kv_heads = number(gguf, arch, "attention.head_count_kv", heads);
    model->heads_per_kv = heads > 0 && kv_heads > 0 ? heads / kv_heads : 1;
    model->experts = number(gguf, arch, "expert_count", 0);
    for (uint32_t i = 0; i < eng_gguf_tensor_count(gguf); i++)
        model->tied &= strcmp(eng_gguf_tensor_get(gguf, i)->name, "output.weight") != 0;
    for (uint32_t i = 0; i < eng_gguf_tensor_count(gguf); i++) {
        const enum kind kind = kind_of(model, eng_gguf_tensor_get(gguf, i)->name);
        model->n[kind]++;
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
    case MIDDLE: return i >= n / 8 && i < 7 * n / 8;
    case MORE_BITS_OF_EIGHT: return model->experts == 8 && among(model, MORE_BITS, i, n);
    case SHARED_HEADS: return model->heads_per_kv >= 4;
    case SHARED_OR_EXPERTS: return model->heads_per_kv >= 4 || model->experts >= 4;
    case EIGHT_EXPERTS: return model->experts == 8;
    default: return 0;
    }
}

static bool fits(const exception *e, const mix_model *model, enum kind kind, uint32_t i)
{
    const uint32_t not_now = model->importance ? WITHOUT : WITH;
    return e->kind == kind && !(e->where & not_now) && among(model, e->where & ~(WITH | WITHOUT), i, model->n[kind]);
}

uint32_t mix_type(const mix *m, const mix_model *model, const eng_gguf_tensor *t)
{
    const enum kind kind = kind_of(model, t->name);
    const bool ranked = kind == DOWN || kind == UP || kind == GATE || kind == ATTENTION_V;
    const uint32_t i = ranked ? rank_of(model, kind, t) : 0;
    if (kind == OUTPUT)
        return m->output;
    if (m->file_type == MXFP4_MOE)
        return t->ne[2] > 1 ? m->base : ENG_TYPE_Q8_0;
    if (model->experts == 8 && m->eight != OWN) { /* small beside the experts */
        if (kind == ATTENTION_V || kind == ATTENTION_K)
            return ENG_TYPE_Q8_0;
        if (kind == ATTENTION_OUT)
            return m->eight == OUTPUTS_TOO ? ENG_TYPE_Q5_K : m->base;
    }
    for (const exception *e = m->exceptions; e < m->exceptions + MOST && e->where != NONE; e++)
        if (fits(e, model, kind, i))
            return e->type;
    return m->base;
}
