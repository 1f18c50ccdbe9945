/* Sequences: what hosts do with them.  cells.c and rows.c keep what is whose; nothing here moves data. */
#include "config.h"

#include <string.h>

#include "run.h"

int lm_sequence_check(const eng_lm_context *c, uint32_t sequence)
{
    if (sequence >= c->p.n_sequences)
        return eng_fail(ENG_ERR_INVALID, "sequence %u does not exist" ENG_CAUSE "the context was made for %u", sequence,
                        c->p.n_sequences);
    return ENG_OK;
}

int lm_after_failure(int status, eng_fence fence)
{
    char text[1024];
    strncpy(text, eng_last_error(), sizeof text - 1);
    text[sizeof text - 1] = 0;
    return eng_fence_wait(fence, UINT64_MAX) < 0 ? eng_fail(status, "%s", text) : status;
}

bool lm_sequence_reserve(lm_sequence *s, size_t n)
{
    return n == 0 || (eu_reserve(s->tokens, s->tokens_room, n) && eu_reserve(s->cells, s->cells_room, n));
}

/* -- what hosts call ------------------------------------------------------------------- */

int64_t eng_lm_sequence_length(const eng_lm_context *c, uint32_t sequence)
{
    return c && sequence < c->p.n_sequences ? c->sequences[sequence].length : -1;
}

int64_t eng_lm_sequence_tokens(const eng_lm_context *c, uint32_t sequence, const int32_t **tokens)
{
    if (!c || !tokens || sequence >= c->p.n_sequences)
        return -1;
    *tokens = c->sequences[sequence].tokens;
    return c->sequences[sequence].length;
}

int64_t eng_lm_sequence_rollback_limit(const eng_lm_context *c, uint32_t sequence)
{
    if (!c || sequence >= c->p.n_sequences)
        return -1;
    const lm_sequence *s = &c->sequences[sequence];
    return s->broken ? 0 : c->model->n.recurrent ? (int64_t)c->rows.n_history[sequence] - 1 : s->length;
}

int eng_lm_sequence_remove(eng_lm_context *c, uint32_t sequence)
{
    if (!c)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sequence_remove" ENG_CAUSE "a context is needed");
    int status = lm_sequence_check(c, sequence);
    if (status)
        return status;
    lm_sequence *s = &c->sequences[sequence];
    lm_cells_leave(c, sequence, 0);
    lm_rows_clear(&c->rows, sequence);
    s->length = 0;
    s->broken = false;
    return ENG_OK;
}

int eng_lm_sequence_rollback(eng_lm_context *c, uint32_t sequence, int64_t n)
{
    if (!c)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sequence_rollback" ENG_CAUSE "a context is needed");
    int status = lm_sequence_check(c, sequence);
    if (status)
        return status;
    lm_sequence *s = &c->sequences[sequence];
    if (n < 0 || n > s->length)
        return eng_fail(ENG_ERR_INVALID, "sequence %u holds %lld tokens" ENG_CAUSE
                        "%lld cannot be taken back", sequence,
                        (long long)s->length, (long long)n);
    if (n == 0)
        return ENG_OK;
    if (n == s->length)
        return eng_lm_sequence_remove(c, sequence);
    int64_t limit = eng_lm_sequence_rollback_limit(c, sequence);
    if (n > limit)
        return eng_fail(ENG_ERR_STATE, "%lld tokens of sequence %u cannot be taken back" ENG_CAUSE
                        "its recurrent states reach "
                        "back %lld now" ENG_ADVICE
                        "ask for more snapshots (the context has %u), or remove the sequence and run "
                        "its tokens again", (long long)n, sequence, (long long)limit, c->p.n_snapshots);
    if (c->model->n.recurrent)
        lm_rows_rollback(&c->rows, sequence, (uint32_t)n);
    s->length -= n;
    lm_cells_leave(c, sequence, (uint32_t)s->length);
    return ENG_OK;
}

int eng_lm_sequence_copy(eng_lm_context *c, uint32_t from, uint32_t to)
{
    if (!c)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sequence_copy" ENG_CAUSE "a context is needed");
    int status = lm_sequence_check(c, from);
    if (!status)
        status = lm_sequence_check(c, to);
    if (status || from == to)
        return status;
    lm_sequence *a = &c->sequences[from], *b = &c->sequences[to];
    if (a->broken)
        return eng_fail(ENG_ERR_STATE, "sequence %u holds nothing of use since a device failed: remove it", from);
    if (!lm_sequence_reserve(b, (size_t)a->length))
        return eng_fail_code(EU_NO_MEMORY("the cells of a sequence"));
    eng_lm_sequence_remove(c, to);
    lm_cells_join(c, to, a->cells, (uint32_t)a->length);
    if (a->length > 0)
        memcpy(b->tokens, a->tokens, (size_t)a->length * sizeof *b->tokens);
    lm_rows_share(&c->rows, from, to);
    b->length = a->length;
    return ENG_OK;
}
