/* Tokens to text, at once or as they come. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "inner.h"
#include "unicode.h"

static int no_memory(void)
{
    return eng_fail_code(EU_NO_MEMORY("turning tokens into text"));
}

/* The bytes of a token; the first one loses the space that SPM puts before text. */
static const char *next_piece(const eng_tokenizer *t, int32_t id, uint32_t flags, bool *started, size_t *length)
{
    const char *piece = eng_tokenizer_piece(t, id, (flags & ENG_DETOKENIZE_SPECIAL) != 0, length);

    if (*length > 0 && !*started) {
        *started = true;
        if (t->add_space && !(flags & ENG_DETOKENIZE_KEEP_SPACE) && piece[0] == ' ') {
            piece++;
            --*length;
        }
    }
    return piece;
}

int eng_tokenizer_decode(const eng_tokenizer *tokenizer, const int32_t *ids, size_t n, uint32_t flags, char **text,
                         size_t *length)
{
    size_t total = 0, used = 0, piece_length;
    bool started = false;

    for (size_t i = 0; i < n; i++) {
        if (!eng_tokenizer_piece(tokenizer, ids[i], true, &piece_length))
            return eng_fail(ENG_ERR_INVALID, "token %d" ENG_CAUSE "the vocabulary has %u tokens", ids[i], tokenizer->n);
        total += piece_length;
    }
    char *result = malloc(total + 1);
    if (!result)
        return no_memory();
    for (size_t i = 0; i < n; i++) {
        const char *piece = next_piece(tokenizer, ids[i], flags, &started, &piece_length);
        memcpy(result + used, piece, piece_length);
        used += piece_length;
    }
    result[used] = 0;
    *text = result;
    *length = used;
    return ENG_OK;
}

void eng_detokenizer_init(eng_detokenizer *d, const eng_tokenizer *tokenizer, uint32_t flags)
{
    memset(d, 0, sizeof *d);
    d->tokenizer = tokenizer;
    d->flags = flags;
}

int eng_detokenizer_next(eng_detokenizer *d, int32_t id, const char **text, size_t *length)
{
    size_t n, held = d->n_held;
    const char *piece = next_piece(d->tokenizer, id, d->flags, &d->started, &n);

    if (!piece)
        return eng_fail(ENG_ERR_INVALID, "token %d" ENG_CAUSE "the vocabulary has %u tokens", id, d->tokenizer->n);
    if (!eu_reserve(d->buffer, d->room, held + n + 1))
        return no_memory();
    memcpy(d->buffer, d->held, held);
    memcpy(d->buffer + held, piece, n);
    n += held;
    d->n_held = (uint32_t)eng_utf8_incomplete(d->buffer, n);
    n -= d->n_held;
    memcpy(d->held, d->buffer + n, d->n_held);
    d->buffer[n] = 0;
    *text = d->buffer;
    *length = n;
    return ENG_OK;
}

int eng_detokenizer_finish(eng_detokenizer *d, const char **text, size_t *length)
{
    *text = d->held;
    *length = d->n_held;
    d->n_held = 0;
    return ENG_OK;
}

void eng_detokenizer_free(eng_detokenizer *d)
{
    free(d->buffer);
    d->buffer = NULL;
    d->room = 0;
}
