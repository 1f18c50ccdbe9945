/* Reading the tokenizer of a GGUF file, and what can be asked of it. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inner.h"
#include "unicode.h"

#define KEY(name) "tokenizer.ggml." name

static int no_memory(void)
{
    return eng_fail_code(EU_NO_MEMORY("the tokenizer"));
}

/* Is it an array of strings?  Says so if not. */
static int find_texts(const eng_gguf *g, const char *name, uint64_t *n)
{
    const eng_gguf_key *key = eng_gguf_key_find(g, name);

    if (!key)
        return eng_fail(ENG_ERR_NOTFOUND,
                        "the model has no key \"%s\": it was made without a tokenizer" ENG_ADVICE
                        "convert it again", name);
    if (key->type != ENG_GGUF_ARRAY || key->element != ENG_GGUF_STRING)
        return eng_fail(ENG_ERR_FORMAT, "key \"%s\" must be an array of strings", name);
    *n = key->count;
    return ENG_OK;
}

/* -- the vocabulary --------------------------------------------------------------- */

#define MOST_BYTES 65536u /* of a token: what is longer costs memory and time, and helps nobody */
static int read_token(eng_tokenizer *t, const eng_gguf *g, uint32_t id)
{
    char empty[32];
    eng_gguf_string text;
    int status = eng_gguf_text(g, KEY("tokens"), id, &text);

    if (status)
        return status;
    if (text.length == 0) {
        text.length = (uint64_t)snprintf(empty, sizeof empty, "[EMPTY_%u]", id);
        text.data = empty;
    }
    if (text.length > MOST_BYTES)
        return eng_fail(ENG_ERR_UNSUPPORTED, "token %u has %" PRIu64 " bytes, at most %u are possible", id, text.length, MOST_BYTES);
    uint32_t known = eng_tokenizer_symbol(t, text.data, text.length);
    if (known == NO_SYMBOL) {
        uint32_t symbol;
        return eng_tokenizer_intern(t, text.data, text.length, &symbol);
    }
    return eng_strings_add(&t->symbols, text.data, text.length); /* a second one is only ever decoded */
}

static int read_vocabulary(eng_tokenizer *t, const eng_gguf *g)
{
    uint64_t n, n_merges = 0;
    int status = find_texts(g, KEY("tokens"), &n);

    if (!status && t->kind == TOKENIZER_BPE)
        status = find_texts(g, KEY("merges"), &n_merges);
    if (status)
        return status;
    if (n == 0 || n > INT32_MAX / 4 || n_merges > INT32_MAX / 4)
        return eng_fail(ENG_ERR_FORMAT, "the model's vocabulary has %" PRIu64 " tokens and %" PRIu64 " merges", n,
                        n_merges);
    t->n = (uint32_t)n;
    t->types = malloc(n);
    t->ends = calloc(n, 1);
    t->scores = calloc(n, sizeof *t->scores);
    if (!t->types || !t->ends || !t->scores)
        return no_memory();
    memset(t->types, TOKEN_NORMAL, n);
    status = eng_tokenizer_reserve(t, n, n_merges);
    for (uint32_t i = 0; i < n && !status; i++)
        status = read_token(t, g, i);
    return status;
}

/* Optional arrays must have an entry for every token. */
static int check_length(const eng_tokenizer *t, const eng_gguf *g, const char *name, bool *present)
{
    const eng_gguf_key *key = eng_gguf_key_find(g, name);

    *present = key != NULL;
    if (key && (key->type != ENG_GGUF_ARRAY || key->count != t->n))
        return eng_fail(ENG_ERR_FORMAT, "key \"%s\" has %" PRIu64 " entries: expected %u, one for each token", name,
                        key->count, t->n);
    return ENG_OK;
}

static int read_types(eng_tokenizer *t, const eng_gguf *g)
{
    bool types, scores;
    int status = check_length(t, g, KEY("token_type"), &types);

    if (!status)
        status = check_length(t, g, KEY("scores"), &scores);
    if (!status && !scores && t->kind == TOKENIZER_UNIGRAM)
        status = eng_fail(ENG_ERR_NOTFOUND, "the model has no key \"" KEY("scores") "\"" ENG_CAUSE
                          "its tokenizer, unigram, takes the pieces whose scores are best" ENG_ADVICE
                          "convert the model again");
    for (uint32_t i = 0; i < t->n && !status; i++) {
        int64_t type = TOKEN_NORMAL;
        double score = 0;
        if (types)
            status = eng_gguf_integer(g, KEY("token_type"), i, &type);
        if (scores && !status)
            status = eng_gguf_number(g, KEY("scores"), i, &score);
        t->types[i] = type >= 0 && type <= TOKEN_BYTE ? (uint8_t)type : TOKEN_UNDEFINED;
        t->scores[i] = score == score ? (float)score : 0; /* NaN has no place in an order */
    }
    return status;
}

static int read_merge(eng_tokenizer *t, const eng_gguf *g, uint32_t rank)
{
    eng_gguf_string text;
    uint32_t left, right;
    int status = eng_gguf_text(g, KEY("merges"), rank, &text);

    if (status)
        return status;
    const char *gap = text.length > 2 ? memchr(text.data + 1, ' ', text.length - 1) : NULL;
    if (!gap || gap + 1 == text.data + text.length)
        return eng_fail(ENG_ERR_FORMAT,
                        "key \"" KEY("merges") "\": merge number %u is not two parts with a space between", rank);
    size_t n = (size_t)(gap - text.data);
    status = eng_tokenizer_intern(t, text.data, n, &left);
    if (!status)
        status = eng_tokenizer_intern(t, gap + 1, text.length - n - 1, &right);
    return status ? status : eng_tokenizer_add_merge(t, left, right, rank);
}

static int read_merges(eng_tokenizer *t, const eng_gguf *g)
{
    uint64_t n;
    int status = find_texts(g, KEY("merges"), &n);

    for (uint32_t i = 0; !status && i < n; i++)
        status = read_merge(t, g, i);
    for (uint32_t byte = 0; byte < 256 && !status && !t->plain; byte++) {
        char text[4];
        size_t length = eng_utf8_encode(eng_byte_character((uint8_t)byte), text);
        status = eng_tokenizer_intern(t, text, length, &t->byte_symbol[byte]);
    }
    return status;
}

static void find_bytes(eng_tokenizer *t)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        char text[8];
        int length = snprintf(text, sizeof text, "<0x%02X>", byte);
        t->byte_symbol[byte] = eng_tokenizer_symbol(t, text, (size_t)length);
        text[0] = (char)byte;
        if (t->byte_symbol[byte] == NO_SYMBOL)
            t->byte_symbol[byte] = eng_tokenizer_symbol(t, text, 1);
    }
}

/* -- special tokens --------------------------------------------------------------- */

static int read_id(const eng_tokenizer *t, const eng_gguf *g, const char *name, int32_t *id)
{
    int64_t value;

    if (!eng_gguf_key_find(g, name))
        return ENG_OK;
    int status = eng_gguf_integer(g, name, 0, &value);
    if (status)
        return status;
    if (value == UINT32_MAX)
        value = -1; /* how converters say "none" */
    if (value < -1 || value >= t->n)
        return eng_fail(ENG_ERR_FORMAT, "key \"%s\" is %" PRId64 ": the vocabulary has %u tokens", name, value, t->n);
    *id = (int32_t)value;
    return ENG_OK;
}

static int read_flag(const eng_gguf *g, const char *name, bool *flag)
{
    int64_t value;

    if (!eng_gguf_key_find(g, name))
        return ENG_OK;
    int status = eng_gguf_integer(g, name, 0, &value);
    if (!status)
        *flag = value != 0;
    return status;
}

static void mark_end(eng_tokenizer *t, int32_t id)
{
    if (id >= 0)
        t->ends[id] = 1;
}

/* What ends a generation: by key, and by the spellings that are in use. */
static int read_ends(eng_tokenizer *t, const eng_gguf *g)
{
    static const char *const keys[] = {KEY("eot_token_id"), KEY("eom_token_id"), KEY("fim_pad_token_id"),
                                       KEY("fim_rep_token_id"), KEY("fim_sep_token_id")};
    static const char *const texts[] = {"<|im_end|>",    "<|eot_id|>",      "<|end|>",    "<end_of_turn>", "<turn|>",
                                        "<|endoftext|>", "<|end_of_text|>", "<|eom_id|>", "</s>",          "<EOT>",
                                        "<eos>",         "<|return|>",      "<|call|>",   "<|calls|>",     "<|flush|>"};
    int status = ENG_OK;

    mark_end(t, t->eos);
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !status; i++) {
        int32_t id = -1;
        status = read_id(t, g, keys[i], &id);
        if (!status)
            mark_end(t, id);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !status; i++)
        mark_end(t, eng_tokenizer_find(t, texts[i]));
    /* where answers end with these, "<|end|>" ends but a part of one: what was thought before it, for example */
    const int32_t part = eng_tokenizer_find(t, "<|end|>");
    const bool calls = eng_tokenizer_find(t, "<|call|>") >= 0 || eng_tokenizer_find(t, "<|calls|>") >= 0;
    if (part >= 0 && part != t->eos && calls &&
        (eng_tokenizer_find(t, "<|return|>") >= 0 || eng_tokenizer_find(t, "<|flush|>") >= 0))
        t->ends[part] = 0;
    return status;
}

/* What files leave out because each kind has it so. */
static void assume_ids(eng_tokenizer *t)
{
    static const struct {
        uint32_t kind;
        int32_t bos, eos, unknown;
        bool add_bos, add_eos, add_space;
    } usual[] = {
        {TOKENIZER_SPM, 1, 2, 0, true, false, true},
        {TOKENIZER_UNIGRAM, -1, 1, 2, false, true, true},
        {TOKENIZER_WORDPIECE, 101, 102, 100, true, true, true},
    };

    t->bos = t->eos = t->unknown = -1;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (usual[i].kind == t->kind) {
            t->bos = usual[i].bos < (int32_t)t->n ? usual[i].bos : -1;
            t->eos = usual[i].eos < (int32_t)t->n ? usual[i].eos : -1;
            t->unknown = usual[i].unknown < (int32_t)t->n ? usual[i].unknown : -1;
            t->add_bos = usual[i].add_bos;
            t->add_eos = usual[i].add_eos;
            t->add_space = usual[i].add_space;
        }
}

/* WordPiece's texts begin with CLS and end with SEP, whatever a file calls beginning and end. */
static int read_edges(eng_tokenizer *t, const eng_gguf *g)
{
    const bool words = t->kind == TOKENIZER_WORDPIECE;
    int status = read_id(t, g, KEY("bos_token_id"), &t->bos);

    if (!status && words)
        status = read_id(t, g, KEY("cls_token_id"), &t->bos);
    if (!status)
        status = read_id(t, g, words ? KEY("seperator_token_id") : KEY("eos_token_id"), &t->eos); /* files spell it so */
    if (!status && words)
        status = read_flag(g, KEY("add_sep_token"), &t->add_eos);
    return status;
}

static int read_special_ids(eng_tokenizer *t, const eng_gguf *g)
{
    assume_ids(t);
    int status = read_edges(t, g);
    if (!status)
        status = read_id(t, g, KEY("unknown_token_id"), &t->unknown);
    if (!status)
        status = read_flag(g, KEY("add_bos_token"), &t->add_bos);
    t->add_bos |= t->plain && t->whole_words; /* Gemma's files say otherwise that want it */
    if (!status && t->kind != TOKENIZER_WORDPIECE)
        status = read_flag(g, KEY("add_eos_token"), &t->add_eos);
    if (!status && (t->kind == TOKENIZER_SPM || t->kind == TOKENIZER_UNIGRAM))
        status = read_flag(g, KEY("add_space_prefix"), &t->add_space);
    return status ? status : read_ends(t, g);
}

/* -- what tokens stand for ----------------------------------------------------------- */

static int hexadecimal(char c)
{
    return c >= '0' && c <= '9' ? c - '0' :
           c >= 'A' && c <= 'F' ? c - 'A' + 10 :
           c >= 'a' && c <= 'f' ? c - 'a' + 10 :
                                  -1;
}

/* The byte that <0x..> spells, two digits and no sign, else -1. */
static int spelled_byte(const char *text, size_t length)
{
    int high = length == 6 ? hexadecimal(text[3]) : -1, low = length == 6 ? hexadecimal(text[4]) : -1;
    bool framed = length == 6 && memcmp(text, "<0x", 3) == 0 && text[5] == '>';
    return framed && high >= 0 && low >= 0 ? high * 16 + low : -1;
}

/* Writes the bytes of token `id` to `out`, which has room for its spelling. */
static size_t token_bytes(const eng_tokenizer *t, uint32_t id, char *out)
{
    const char *text = string_text(&t->symbols, id);
    size_t length = string_length(&t->symbols, id), n = 0, used;
    uint32_t type = t->types[id];

    if (type == TOKEN_UNUSED || type == TOKEN_UNDEFINED)
        return 0;
    if (type == TOKEN_BYTE && spelled_byte(text, length) >= 0) {
        out[0] = (char)spelled_byte(text, length);
        return 1;
    }
    if (t->kind == TOKENIZER_GREEDY && type == TOKEN_NORMAL)
        return eng_greedy_bytes(text, length, out);
    const bool bytes = t->kind == TOKENIZER_BPE && !t->plain;
    if (type != TOKEN_NORMAL && type != TOKEN_BYTE && (bytes || type != TOKEN_USER)) {
        memcpy(out, text, length);
        return length;
    }
    for (size_t at = 0; at < length; at += used) {
        uint32_t c;
        used = eng_utf8_decode(text + at, length - at, &c);
        int decoded = bytes ? eng_character_byte(c) : c == 0x2581 ? ' ' : -1;
        if (decoded >= 0) {
            out[n++] = (char)decoded;
        } else {
            memcpy(out + n, text + at, used);
            n += used;
        }
    }
    return n;
}

static int spell_pieces(eng_tokenizer *t)
{
    size_t longest = 0;
    int status = ENG_OK;

    for (uint32_t i = 0; i < t->n; i++)
        if (string_length(&t->symbols, i) > longest)
            longest = string_length(&t->symbols, i);
    char *bytes = malloc(longest + 1);
    if (!bytes)
        return no_memory();
    for (uint32_t i = 0; i < t->n && !status; i++)
        status = eng_strings_add(&t->pieces, bytes, token_bytes(t, i, bytes));
    free(bytes);
    return status;
}

/* -- creating -------------------------------------------------------------------------- */

static bool text_is(eng_gguf_string text, const char *wanted)
{
    return text.length == strlen(wanted) && memcmp(text.data, wanted, text.length) == 0;
}

static int unknown_split(eng_gguf_string pre)
{
    size_t n = 0;

    while (eng_split_nth(n))
        n++;
    return eng_fail(ENG_ERR_UNSUPPORTED, "the pre-tokenizer \"%.*s\" is not known" ENG_CAUSE
                    "known are gpt-2, llama-bpe, qwen2 and %zu others (docs/language-models.md)",
                    (int)(pre.length < 64 ? pre.length : 64), pre.data, n - 3);
}

/* `model` is its own pre-tokenizer, if it is one. */
static int choose_split(eng_tokenizer *t, const eng_gguf *g, eng_gguf_string model)
{
    eng_gguf_string pre = model;
    const bool named_so = text_is(model, "gemma4");

    if (!named_so && !eng_gguf_key_find(g, KEY("pre")))
        return eng_fail(ENG_ERR_FORMAT,
                        "the model has no key \"" KEY("pre") "\", so how its tokenizer cuts words is not "
                                                             "known: convert it again with a present-day converter");
    int status = named_so ? ENG_OK : eng_gguf_text(g, KEY("pre"), 0, &pre);
    if (status)
        return status;
    const split_name *named = eng_split_named(pre.data, pre.length);
    if (!named)
        return unknown_split(pre);
    t->split = named->split;
    t->plain = named->split == SPLIT_LINES;
    t->whole_words = named->whole_words;
    t->add_bos = named->add_bos;
    if (named->rule && !(t->rule = eng_rule_create(named->rule)))
        return no_memory();
    return ENG_OK;
}

static int refuse(eng_gguf_string model)
{
    return eng_fail(ENG_ERR_UNSUPPORTED, "the tokenizer \"%.*s\" is not known" ENG_CAUSE
                    "gpt2 (BPE), llama (SPM), gemma4, t5 (unigram), bert (WordPiece) and rwkv are" ENG_ADVICE
                    "make tokens with the model's own tokenizer and give those",
                    (int)(model.length < 64 ? model.length : 64), model.data);
}

static int choose_kind(eng_tokenizer *t, const eng_gguf *g)
{
    static const struct {
        const char *name;
        uint32_t kind;
    } kinds[] = {{"gpt2", TOKENIZER_BPE},   {"gemma4", TOKENIZER_BPE},    {"llama", TOKENIZER_SPM},
                 {"t5", TOKENIZER_UNIGRAM}, {"bert", TOKENIZER_WORDPIECE}, {"rwkv", TOKENIZER_GREEDY}};
    eng_gguf_string model;

    if (!eng_gguf_key_find(g, KEY("model")))
        return eng_fail(ENG_ERR_NOTFOUND,
                        "the model has no key \"" KEY("model") "\": it was made without a tokenizer; convert it again");
    int status = eng_gguf_text(g, KEY("model"), 0, &model);
    if (status)
        return status;
    if (text_is(model, "none"))
        return eng_fail(ENG_ERR_NOTFOUND, "the model says that it has no tokenizer (key \"" KEY("model") "\")");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !t->kind; i++)
        if (text_is(model, kinds[i].name))
            t->kind = kinds[i].kind;
    if (!t->kind)
        return refuse(model);
    return t->kind == TOKENIZER_BPE ? choose_split(t, g, model) : ENG_OK;
}

static int read_charsmap(eng_tokenizer *t, const eng_gguf *g)
{
    const char *name = KEY("precompiled_charsmap");
    const eng_gguf_key *key = eng_gguf_key_find(g, name);
    int status = read_flag(g, KEY("remove_extra_whitespaces"), &t->fewer_spaces);

    if (status || !key || key->count == 0)
        return status;
    if (key->type != ENG_GGUF_ARRAY || (key->element != ENG_GGUF_U8 && key->element != ENG_GGUF_I8))
        return eng_fail(ENG_ERR_FORMAT, "key \"%s\" must be an array of bytes", name);
    return eng_charsmap_create(&t->charsmap, key->data, key->count);
}

/* What a kind makes of its vocabulary, once. */
static int prepare(eng_tokenizer *t, const eng_gguf *g)
{
    int status = ENG_OK;

    switch (t->kind) {
    case TOKENIZER_UNIGRAM:
        status = read_charsmap(t, g);
        return status ? status : eng_unigram_prepare(t);
    case TOKENIZER_SPM: return eng_spm_prepare(t);
    case TOKENIZER_WORDPIECE: return eng_wordpiece_prepare(t);
    case TOKENIZER_GREEDY: return eng_greedy_prepare(t);
    default: return ENG_OK;
    }
}

int eng_tokenizer_create(const eng_gguf *gguf, eng_tokenizer **tokenizer)
{
    eng_tokenizer *t = calloc(1, sizeof *t);

    if (!t)
        return no_memory();
    int status = choose_kind(t, gguf);
    if (!status)
        status = read_vocabulary(t, gguf);
    if (!status)
        status = read_types(t, gguf);
    if (!status && t->kind == TOKENIZER_BPE)
        status = read_merges(t, gguf);
    if (!status && (t->kind == TOKENIZER_SPM || t->kind == TOKENIZER_UNIGRAM || t->plain))
        find_bytes(t);
    if (!status)
        status = read_special_ids(t, gguf);
    if (!status)
        status = spell_pieces(t);
    if (!status)
        status = eng_special_collect(t);
    if (!status)
        status = prepare(t, gguf);
    if (status) {
        eng_tokenizer_destroy(t);
        return status;
    }
    *tokenizer = t;
    return ENG_OK;
}

void eng_tokenizer_destroy(eng_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    eng_tokenizer_tables_free(tokenizer);
    eng_strings_free(&tokenizer->pieces);
    free(tokenizer->scores);
    free(tokenizer->types);
    free(tokenizer->ends);
    free(tokenizer->special);
    eng_trie_free(&tokenizer->words);
    eng_trie_free(&tokenizer->user);
    eng_charsmap_free(&tokenizer->charsmap);
    free(tokenizer->joined);
    eng_rule_free(tokenizer->rule);
    free(tokenizer);
}

/* -- questions ----------------------------------------------------------------------------- */

uint32_t eng_tokenizer_count(const eng_tokenizer *tokenizer)
{
    return tokenizer->n;
}

static bool is_token(const eng_tokenizer *t, int32_t id)
{
    return id >= 0 && (uint32_t)id < t->n;
}

const char *eng_tokenizer_spelling(const eng_tokenizer *tokenizer, int32_t id)
{
    return is_token(tokenizer, id) ? string_text(&tokenizer->symbols, (uint32_t)id) : NULL;
}

int32_t eng_tokenizer_find(const eng_tokenizer *tokenizer, const char *spelling)
{
    uint32_t symbol = eng_tokenizer_symbol(tokenizer, spelling, strlen(spelling));

    return symbol < tokenizer->n ? (int32_t)symbol : -1;
}

int32_t eng_tokenizer_bos(const eng_tokenizer *tokenizer)
{
    return tokenizer->bos;
}

int32_t eng_tokenizer_eos(const eng_tokenizer *tokenizer)
{
    return tokenizer->eos;
}

int32_t eng_tokenizer_unknown(const eng_tokenizer *tokenizer)
{
    return tokenizer->unknown;
}

bool eng_tokenizer_adds_bos(const eng_tokenizer *tokenizer)
{
    return tokenizer->add_bos && tokenizer->bos >= 0;
}

bool eng_tokenizer_is_end(const eng_tokenizer *tokenizer, int32_t id)
{
    return is_token(tokenizer, id) && tokenizer->ends[id];
}

bool eng_tokenizer_is_control(const eng_tokenizer *tokenizer, int32_t id)
{
    return is_token(tokenizer, id) && (tokenizer->types[id] == TOKEN_CONTROL || tokenizer->types[id] == TOKEN_UNKNOWN);
}

const char *eng_tokenizer_piece(const eng_tokenizer *tokenizer, int32_t id, bool special, size_t *length)
{
    *length = 0;
    if (!is_token(tokenizer, id))
        return NULL;
    if (special || !eng_tokenizer_is_control(tokenizer, id))
        *length = string_length(&tokenizer->pieces, (uint32_t)id);
    return string_text(&tokenizer->pieces, (uint32_t)id);
}
