/* Text, streams of text and samplers, as hosts see them. */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine/chat.h"
#include "files/model.h"
#include "sampling/sampler.h"

static int need_tokenizer(const eng_lm_model *m, const char *call)
{
    if (!m)
        return eng_fail(ENG_ERR_INVALID, "%s" ENG_CAUSE "a model is needed", call);
    if (!m->tokenizer)
        return eng_fail(m->tokenizer_status, "%s" ENG_CAUSE "%s", call, m->tokenizer_error);
    return ENG_OK;
}

static uint32_t tokenize_flags(uint32_t flags)
{
    uint32_t own = 0;
    own |= flags & ENG_LM_ADD_SPECIAL ? ENG_TOKENIZE_ADD_SPECIAL : 0;
    own |= flags & ENG_LM_PARSE_SPECIAL ? ENG_TOKENIZE_PARSE_SPECIAL : 0;
    return own;
}

int eng_lm_tokenize(const eng_lm_model *m, const char *text, size_t length, uint32_t flags, int32_t **ids, size_t *n)
{
    int status = need_tokenizer(m, "eng_lm_tokenize");
    if (status)
        return status;
    if ((!text && length) || !ids || !n)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_tokenize" ENG_CAUSE "a text and places for the tokens are needed");
    return eng_tokenizer_encode(m->tokenizer, text, length, tokenize_flags(flags), ids, n);
}

/* Ranges of bytes, in order, within the text. */
static bool in_order(const eng_lm_range *r, size_t n, size_t length)
{
    for (size_t i = 0; i < n; i++)
        if (r[i].from > r[i].to || r[i].to > length || (i && r[i].from < r[i - 1].to))
            return false;
    return true;
}

_Static_assert(sizeof(eng_lm_range) == sizeof(eng_tokenizer_range), "they are the same");

int eng_lm_tokenize_given(const eng_lm_model *m, const char *text, size_t length, uint32_t flags,
                          const eng_lm_range *given, size_t n_given, int32_t **ids, size_t *n)
{
    int status = need_tokenizer(m, "eng_lm_tokenize_given");
    if (status)
        return status;
    if ((!text && length) || (!given && n_given) || !ids || !n)
        return eng_fail(ENG_ERR_INVALID,
                        "eng_lm_tokenize_given" ENG_CAUSE "a text, its ranges and places for the tokens are needed");
    if (!in_order(given, n_given, length))
        return eng_fail(ENG_ERR_INVALID,
                        "eng_lm_tokenize_given" ENG_CAUSE "ranges overlap, or are not in order, or not of the text");
    return eng_tokenizer_encode_around(m->tokenizer, text, length, tokenize_flags(flags),
                                       (const eng_tokenizer_range *)(const void *)given, n_given, ids, n);
}

int eng_lm_text(const eng_lm_model *m, const int32_t *ids, size_t n, int special, char **text, size_t *length)
{
    int status = need_tokenizer(m, "eng_lm_text");
    if (status)
        return status;
    if ((!ids && n) || !text || !length)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_text" ENG_CAUSE "tokens and places for the text are needed");
    return eng_tokenizer_decode(m->tokenizer, ids, n, special ? ENG_DETOKENIZE_SPECIAL : 0, text, length);
}

void eng_lm_free(void *memory)
{
    free(memory);
}

int eng_lm_is_end(const eng_lm_model *m, int32_t token)
{
    return m && m->tokenizer && eng_tokenizer_is_end(m->tokenizer, token);
}

/* -- streams ------------------------------------------------------------------ */

struct eng_lm_stream {
    eng_detokenizer detokenizer;
};

int eng_lm_stream_create(const eng_lm_model *m, int special, eng_lm_stream **stream)
{
    int status = need_tokenizer(m, "eng_lm_stream_create");
    if (status)
        return status;
    eng_lm_stream *s = lm_calloc(1, sizeof *s);
    if (!s)
        return ENG_ERR_NOMEM;
    const bool goes_on = special == ENG_LM_STREAM_GOES_ON || special == (ENG_LM_STREAM_GOES_ON | ENG_LM_STREAM_SPECIAL);
    eng_detokenizer_init(&s->detokenizer, m->tokenizer, (goes_on ? ENG_DETOKENIZE_KEEP_SPACE : 0) |
                         (special && special != ENG_LM_STREAM_GOES_ON ? ENG_DETOKENIZE_SPECIAL : 0));
    *stream = s;
    return ENG_OK;
}

void eng_lm_stream_destroy(eng_lm_stream *s)
{
    if (!s)
        return;
    eng_detokenizer_free(&s->detokenizer);
    free(s);
}

int eng_lm_stream_next(eng_lm_stream *s, int32_t token, const char **text, size_t *length)
{
    if (!s || !text || !length)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_stream_next" ENG_CAUSE "a stream and places for the text are needed");
    return token < 0 ? eng_detokenizer_finish(&s->detokenizer, text, length) :
                       eng_detokenizer_next(&s->detokenizer, token, text, length);
}

/* -- samplers -------------------------------------------------------------------- */

void eng_lm_sampler_init(eng_lm_sampler_params *p, size_t size)
{
    eng_lm_sampler_params own;
    eng_sampler_defaults(&own);
    memset(p, 0, size);
    memcpy(p, &own, size < sizeof own ? size : sizeof own);
    p->size = (uint32_t)size;
}

void (eng_lm_sampler_defaults)(eng_lm_sampler_params *p) /* of hosts built with 3.0, whose struct ended there */
{
    eng_lm_sampler_init(p, offsetof(eng_lm_sampler_params, typical_p));
}

static const char *piece(const void *owner, int32_t token, size_t *length)
{
    return eng_tokenizer_piece(owner, token, false, length);
}

int eng_lm_sampler_create(const eng_lm_model *m, const eng_lm_sampler_params *params, eng_lm_sampler **sampler)
{
    if (!m || !sampler)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sampler_create" ENG_CAUSE
                        "a model and a place for the sampler are needed");
    eng_sampler_settings settings;
    eng_sampler_defaults(&settings);
    int status = params ? lm_take("eng_lm_sampler_create", &settings, sizeof settings, params, 2 * sizeof(uint32_t)) :
                          ENG_OK;
    if (status)
        return status;
    eng_lm_sampler *s = lm_calloc(1, sizeof *s);
    if (!s)
        return ENG_ERR_NOMEM;
    const lm_words words = {(uint32_t)m->n.n_vocab, m->tokenizer ? piece : NULL, m->tokenizer};
    status = eng_sampler_create(&settings, &words, &s->sampler);
    if (status) {
        free(s);
        return status;
    }
    *sampler = s;
    return ENG_OK;
}

void eng_lm_sampler_destroy(eng_lm_sampler *s)
{
    if (!s)
        return;
    eng_sampler_destroy(s->sampler);
    free(s);
}

uint32_t eng_lm_sampler_seed(const eng_lm_sampler *s)
{
    return s ? eng_sampler_seed(s->sampler) : 0;
}

int eng_lm_sampler_choose(eng_lm_sampler *s, const float *logits, int32_t *token)
{
    if (!s || !logits || !token)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sampler_choose" ENG_CAUSE
                        "a sampler, logits and a place for the token are "
                        "needed");
    return eng_sampler_sample(s->sampler, logits, token);
}

int eng_lm_sampler_choose_top(eng_lm_sampler *s, const int32_t *tokens, const float *logits, uint32_t n, int32_t *token)
{
    if (!s || !tokens || !logits || n == 0 || !token)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sampler_choose_top" ENG_CAUSE
                        "a sampler, tokens, their logits and a place for the token are needed");
    return eng_sampler_sample_of(s->sampler, tokens, logits, n, token);
}

void eng_lm_sampler_accept(eng_lm_sampler *s, int32_t token)
{
    if (s)
        eng_sampler_accept(s->sampler, token);
}

int eng_lm_sampler_rollback(eng_lm_sampler *s, size_t n)
{
    if (!s)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sampler_rollback" ENG_CAUSE "a sampler is needed");
    return eng_sampler_rollback(s->sampler, n);
}
