/* A sequence in a file (state_file.c says what is in it). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "state.h"

/* Does the sequence lack tokens in the middle? */
static bool is_cut(const eng_lm_context *c, const lm_sequence *s)
{
    return lm_cells_next(c, s) != s->length;
}

int eng_lm_sequence_save(eng_lm_context *c, uint32_t sequence, const char *path)
{
    if (!c || !path)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sequence_save" ENG_CAUSE "a context and a path are needed");
    int status = lm_sequence_check(c, sequence);
    if (status)
        return status;
    const lm_sequence *s = &c->sequences[sequence];
    if (s->broken)
        return eng_fail(ENG_ERR_STATE, "sequence %u holds nothing of use since a device failed: remove it", sequence);
    if (s->length == 0)
        return eng_fail(ENG_ERR_STATE, "sequence %u holds no tokens" ENG_CAUSE "there is nothing to save", sequence);
    lm_state m = {.c = c, .version = LM_STATE_SEQUENCE, .n_cells = (uint32_t)s->length, .cells = s->cells,
                  .states = lm_rows_history(&c->rows, sequence),
                  .tables = {[LM_STATE_TOKENS] = {s->tokens, s->length}}};
    while (m.n_states < c->rows.n_history[sequence] && m.states[m.n_states] >= 0)
        m.n_states++;
    int32_t *positions = NULL;
    if (is_cut(c, s)) {
        positions = lm_calloc((size_t)s->length, sizeof *positions);
        for (int64_t i = 0; i < s->length && positions; i++)
            positions[i] = c->cell_pos[s->cells[i]];
        m.version = LM_STATE_CUT;
        m.tables[LM_STATE_POSITIONS].data = positions;
        m.tables[LM_STATE_POSITIONS].n = s->length;
    }
    status = is_cut(c, s) && !positions ? ENG_ERR_NOMEM : lm_state_write(&m, path);
    free(positions);
    return status;
}

/* -- loading ------------------------------------------------------------------------------------------- */

/* Where a sequence's tokens are: from 0 on they rise. */
static int check_positions(const lm_state *m, const char *path)
{
    const int32_t *at = m->tables[LM_STATE_POSITIONS].data;
    bool good = !at || m->tables[LM_STATE_POSITIONS].n == m->n_cells;
    for (uint32_t i = 0; i < m->n_cells && at && good; i++)
        good = at[i] >= (int64_t)i && at[i] < INT32_MAX - LM_MAX_CELLS && (i == 0 || at[i] > at[i - 1]);
    if (good && at && m->c->model->n.pool)
        return eng_fail(ENG_ERR_UNSUPPORTED, "%s cannot be loaded" ENG_CAUSE "it lacks tokens in the middle, and an indexer "
                        "chooses tokens in pools, one behind the other" ENG_ADVICE "run the text", path);
    return good ? ENG_OK
                : eng_fail(ENG_ERR_FORMAT, "%s is damaged" ENG_CAUSE "the positions of its tokens do not rise", path);
}

/* Cells that would be free if the sequence held none. */
static uint32_t cells_without(const eng_lm_context *c, const lm_sequence *s)
{
    return lm_cells_free(c) + (uint32_t)(s->length - lm_sequence_first_alone(c, s));
}

static int load(eng_lm_context *c, uint32_t sequence, const eng_gguf *f, lm_state *m)
{
    lm_sequence *s = &c->sequences[sequence];
    uint32_t n = m->n_cells, slots = c->p.n_snapshots, saved = m->n_states, kept = saved < slots ? saved : slots;
    const int32_t *positions = m->tables[LM_STATE_POSITIONS].data;
    int32_t *rows = c->chosen + (size_t)sequence * slots, cell, *states = lm_calloc(saved + 1u, sizeof *states);
    if (!states)
        return ENG_ERR_NOMEM;
    eng_lm_sequence_remove(c, sequence);
    lm_kept_make_room(c, n);
    int status = ENG_OK;
    for (uint32_t i = 0; i < n && !status; i++)
        if (!lm_cells_take(c, sequence, &cell))
            status = eng_fail(ENG_ERR_INTERNAL, "cells ran out while a sequence was loaded");
    if (!status && kept > 0 && !lm_rows_choose(&c->rows, sequence, kept, rows))
        status = eng_fail(ENG_ERR_INTERNAL, "rows for states ran out while a sequence was loaded");
    if (!status) {
        memcpy(s->tokens, m->tables[LM_STATE_TOKENS].data, n * sizeof *s->tokens);
        s->length = n;
        lm_cells_place(c, s, positions, NULL);
        lm_rows_restore(&c->rows, sequence, rows, kept, kept == n && !positions);
        for (uint32_t i = 0; i < saved; i++)
            states[i] = i < kept ? rows[i] : -1;
        m->cells = s->cells;
        m->states = states;
        status = lm_state_upload(m, f);
    }
    free(states);
    return status;
}

int eng_lm_sequence_load(eng_lm_context *c, uint32_t sequence, const char *path)
{
    if (!c || !path)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sequence_load" ENG_CAUSE "a context and a path are needed");
    int status = lm_sequence_check(c, sequence);
    if (status)
        return status;
    eng_gguf *f;
    status = eng_gguf_open(path, &f);
    if (status)
        return status;
    lm_sequence *s = &c->sequences[sequence];
    lm_state m = {.c = c, .version = LM_STATE_SEQUENCE};
    status = lm_state_check(&m, f, path);
    if (!status)
        status = check_positions(&m, path);
    if (!status && m.n_cells > cells_without(c, s))
        status = eng_fail(ENG_ERR_STATE, "%s holds %u tokens" ENG_CAUSE "%u cells are free" ENG_ADVICE
                          "make the context larger (-c), or remove sequences", path, m.n_cells, cells_without(c, s));
    if (!status && !lm_sequence_reserve(s, m.n_cells))
        status = eng_fail_code(EU_NO_MEMORY("the cells of a sequence"));
    if (!status) {
        status = load(c, sequence, f, &m);
        s->broken = status != ENG_OK;
    }
    eng_gguf_close(f);
    return status;
}
