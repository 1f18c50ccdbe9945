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

void lm_sequence_empty(eng_lm_context *c, uint32_t sequence)
{
    lm_sequence *s = &c->sequences[sequence];
    lm_cells_leave(c, sequence, 0);
    lm_rows_clear(&c->rows, sequence);
    s->length = s->prompt = 0;
    s->whole = INT64_MAX;
    s->broken = false;
}

int lm_sequence_share(eng_lm_context *c, uint32_t from, uint32_t to)
{
    lm_sequence *a = &c->sequences[from], *b = &c->sequences[to];
    if (!lm_sequence_reserve(b, (size_t)a->length))
        return eng_fail_code(EU_NO_MEMORY("the cells of a sequence"));
    lm_sequence_empty(c, to);
    lm_cells_join(c, to, a->cells, (uint32_t)a->length);
    if (a->length > 0)
        memcpy(b->tokens, a->tokens, (size_t)a->length * sizeof *b->tokens);
    lm_rows_share(&c->rows, from, to);
    b->length = a->length;
    b->whole = a->whole;
    return ENG_OK;
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
    lm_kept_add(c, sequence, c->sequences[sequence].length);
    lm_sequence_empty(c, sequence);
    lm_kept_trim(c);
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
    if (s->length <= s->whole)
        s->whole = INT64_MAX;
    lm_kept_trim(c);
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
    if (c->sequences[from].broken)
        return eng_fail(ENG_ERR_STATE, "sequence %u holds nothing of use since a device failed: remove it", from);
    lm_kept_add(c, to, c->sequences[to].length);
    status = lm_sequence_share(c, from, to);
    lm_kept_trim(c);
    return status;
}

/* -- tokens in the middle ----------------------------------------------------------------- */

/* Cells of one sequence alone, whatever is kept: of those before a cell that is, some may be others' too. */
static bool alone_from(const eng_lm_context *c, const lm_sequence *s, int64_t first)
{
    return first == s->length || lm_cells_alone(c, s->cells[first]);
}

void lm_sequence_cut(eng_lm_context *c, uint32_t sequence, int64_t first, int64_t n)
{
    lm_sequence *s = &c->sequences[sequence];
    lm_kept_cut(c, sequence, first);
    lm_cells_cut(c, sequence, (uint32_t)first, (uint32_t)n);
    memmove(s->tokens + first, s->tokens + first + n, (size_t)(s->length - first - n) * sizeof *s->tokens);
    s->length -= n;
    c->n_dropped += (uint64_t)n;
    if (!c->model->n.recurrent) {
        s->whole = first < s->whole ? first : s->whole;
        return;
    }
    s->whole = 0; /* its states have seen them */
    lm_rows_cut(&c->rows, sequence, s->length - first); /* not back to the gap, which nobody would see then */
}

int64_t lm_sequence_first_alone(const eng_lm_context *c, const lm_sequence *s)
{
    int64_t low = 0, high = s->length; /* cells further on have no more owners */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (alone_from(c, s, middle))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

int64_t lm_sequence_first_dropped(const eng_lm_context *c, uint32_t sequence)
{
    int64_t alone = lm_sequence_first_alone(c, &c->sequences[sequence]);
    return alone > c->p.n_keep ? alone : c->p.n_keep;
}

int64_t lm_sequence_droppable(const eng_lm_context *c, uint32_t sequence)
{
    if (c->model->n.pool)
        return 0;
    int64_t n = c->sequences[sequence].length - 1 - lm_sequence_first_dropped(c, sequence); /* all but the last */
    return c->p.on_full == ENG_LM_FULL_DROP && n > 0 ? n : 0;
}

int eng_lm_sequence_drop(eng_lm_context *c, uint32_t sequence, int64_t first, int64_t n)
{
    if (!c)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sequence_drop" ENG_CAUSE "a context is needed");
    int status = lm_sequence_check(c, sequence);
    if (status)
        return status;
    const lm_sequence *s = &c->sequences[sequence];
    if (first < 0 || n < 0 || first > s->length || n >= s->length - first)
        return eng_fail(ENG_ERR_INVALID, "%lld tokens from %lld on cannot be dropped" ENG_CAUSE
                        "sequence %u holds %lld, of which the last one stays", (long long)n, (long long)first,
                        sequence, (long long)s->length);
    if (s->broken)
        return eng_fail(ENG_ERR_STATE, "sequence %u holds nothing of use since a device failed: remove it", sequence);
    if (n > 0 && c->model->n.pool)
        return eng_fail(ENG_ERR_UNSUPPORTED, "tokens of a %s model cannot be dropped" ENG_CAUSE "its indexer chooses tokens in "
                        "pools of %lld, one behind the other" ENG_ADVICE "truncate the sequence, or run the text without them",
                        c->model->arch->name, (long long)c->model->n.pool);
    if (n > 0 && !alone_from(c, s, first))
        return eng_fail(ENG_ERR_STATE, "tokens from %lld on cannot be dropped from sequence %u" ENG_CAUSE
                        "it shares those before %lld with other sequences" ENG_ADVICE
                        "drop later ones, or remove the others", (long long)first, sequence,
                        (long long)lm_sequence_first_alone(c, s));
    if (n > 0)
        lm_sequence_cut(c, sequence, first, n);
    return ENG_OK;
}
