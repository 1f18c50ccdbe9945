/* Sequences that begin as texts do that are known: of other sequences, or kept (kept.c). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "run.h"

/* Where the first tokens of a text are: a sequence's, or the tree's. */
typedef struct source {
    int64_t n;
    int64_t sequence; /* -1: the tree                                              */
    lm_kept_found kept;
} source;

/* How many of the first n tokens a sequence holds, and could be taken back to. */
static int64_t held_by(const eng_lm_context *c, uint32_t sequence, const int32_t *tokens, int64_t n)
{
    const lm_sequence *s = &c->sequences[sequence];
    int64_t k = 0, most = s->broken ? 0 : s->length < n ? s->length : n;
    if (most > s->whole)
        most = s->whole;
    while (k < most && s->tokens[k] == tokens[k])
        k++;
    return s->length - k <= eng_lm_sequence_rollback_limit(c, sequence) ? k : 0;
}

/* The longest; among equals the sequence that wants it, which has nothing to do then. */
static source find(const eng_lm_context *c, int64_t wanted_by, const int32_t *tokens, int64_t n)
{
    source best = {.sequence = -1, .kept = lm_kept_find(c, tokens, n)};
    best.n = best.kept.n;
    for (uint32_t i = 0; i < c->p.n_sequences; i++) {
        int64_t k = held_by(c, i, tokens, n);
        if (k > best.n || (k == best.n && k > 0 && i == wanted_by)) {
            best.n = k;
            best.sequence = i;
        }
    }
    return best;
}

/* The sequence holds it, and nothing else. */
static int take_kept(eng_lm_context *c, uint32_t sequence, const lm_kept_found *found, const int32_t *tokens)
{
    lm_sequence *s = &c->sequences[sequence];
    size_t n = (size_t)found->n;
    int32_t *cells = lm_calloc(n, sizeof *cells);
    if (!cells || !lm_sequence_reserve(s, n)) {
        free(cells);
        return eng_fail_code(EU_NO_MEMORY("the cells of a sequence"));
    }
    int32_t row = lm_kept_take(c, found, cells);
    lm_sequence_empty(c, sequence);
    lm_cells_join(c, sequence, cells, (uint32_t)n);
    free(cells);
    memmove(s->tokens, tokens, n * sizeof *tokens); /* they may be its own */
    s->length = found->n;
    if (row >= 0) {
        lm_rows_hold(&c->rows, row);
        lm_rows_restore(&c->rows, sequence, &row, 1, n == 1);
    }
    return ENG_OK;
}

static int take(eng_lm_context *c, uint32_t sequence, const source *from, const int32_t *tokens)
{
    if (from->n == 0) {
        lm_sequence_empty(c, sequence);
        return ENG_OK;
    }
    if (from->sequence < 0)
        return take_kept(c, sequence, &from->kept, tokens);
    if (from->sequence != (int64_t)sequence) {
        int status = lm_sequence_share(c, (uint32_t)from->sequence, sequence);
        if (status)
            return status;
    }
    return eng_lm_sequence_rollback(c, sequence, c->sequences[sequence].length - from->n);
}

static int check(const char *what, const eng_lm_context *c, const int32_t *tokens, size_t n)
{
    if (!c || (!tokens && n > 0) || n > LM_MAX_CELLS)
        return eng_fail(ENG_ERR_INVALID, "%s" ENG_CAUSE "a context and up to %d tokens are needed", what, LM_MAX_CELLS);
    return ENG_OK;
}

/* As when the sequence is removed, but not in the place of what the text begins with. */
static void keep(eng_lm_context *c, uint32_t sequence, const int32_t *tokens, int64_t n)
{
    source from = c->kept.budget ? find(c, sequence, tokens, n) : (source){.sequence = -1};
    c->kept.spared = from.sequence < 0 ? from.kept.node : NULL;
    lm_kept_add(c, sequence, c->sequences[sequence].length);
    c->kept.spared = NULL;
}

int eng_lm_sequence_reuse(eng_lm_context *c, uint32_t sequence, const int32_t *tokens, size_t n, size_t *reused)
{
    int status = check("eng_lm_sequence_reuse", c, tokens, n);
    if (!status)
        status = lm_sequence_check(c, sequence);
    if (status)
        return status;
    int64_t most = n > 0 ? (int64_t)n - 1 : 0;
    keep(c, sequence, tokens, most);
    source from = find(c, sequence, tokens, most);
    status = take(c, sequence, &from, tokens);
    lm_kept_trim(c);
    if (status)
        return status;
    c->sequences[sequence].prompt = (int64_t)n;
    c->kept.found += from.n > 0;
    c->kept.found_tokens += (uint64_t)from.n;
    if (reused)
        *reused = (size_t)from.n;
    return ENG_OK;
}

int eng_lm_sequence_truncate(eng_lm_context *c, uint32_t sequence, int64_t length)
{
    if (!c)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sequence_truncate" ENG_CAUSE "a context is needed");
    int status = lm_sequence_check(c, sequence);
    if (status)
        return status;
    const lm_sequence *s = &c->sequences[sequence];
    if (length < 0 || length > s->length)
        return eng_fail(ENG_ERR_INVALID, "sequence %u holds %lld tokens" ENG_CAUSE "%lld of them cannot be left",
                        sequence, (long long)s->length, (long long)length);
    if (s->length - length <= eng_lm_sequence_rollback_limit(c, sequence) || length == 0 || length > s->whole)
        return eng_lm_sequence_rollback(c, sequence, s->length - length);
    lm_kept_found found = lm_kept_find(c, s->tokens, length);
    if (found.n < length)
        return eng_lm_sequence_rollback(c, sequence, s->length - length); /* it says why not */
    status = take_kept(c, sequence, &found, s->tokens);
    lm_kept_trim(c);
    return status;
}

int64_t eng_lm_reusable(const eng_lm_context *c, const int32_t *tokens, size_t n)
{
    if (check("eng_lm_reusable", c, tokens, n))
        return -1;
    return find(c, -1, tokens, n > 0 ? (int64_t)n - 1 : 0).n;
}

int eng_lm_sequence_keep(eng_lm_context *c, uint32_t sequence)
{
    if (!c)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sequence_keep" ENG_CAUSE "a context is needed");
    int status = lm_sequence_check(c, sequence);
    if (status)
        return status;
    if (c->kept.budget == 0)
        return eng_fail(ENG_ERR_STATE, "nothing can be kept" ENG_CAUSE "the context has no bytes for it" ENG_ADVICE
                        "make it with kept_bytes");
    lm_kept_add(c, sequence, c->sequences[sequence].length);
    return ENG_OK;
}

int eng_lm_kept_clear(eng_lm_context *c)
{
    if (!c)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_kept_clear" ENG_CAUSE "a context is needed");
    lm_kept_clear(c);
    return ENG_OK;
}
