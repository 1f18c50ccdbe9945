/* A whole context in a file (state_file.c says what is in it): what sequences share is there once. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "state.h"

/* Number of cell or row `at` among those of the file: one more if it has none yet. */
static int32_t number_of(int32_t *numbers, int32_t *list, uint32_t *n, int32_t at)
{
    if (numbers[at] < 0) {
        numbers[at] = (int32_t)*n;
        list[(*n)++] = at;
    }
    return numbers[at];
}

static int32_t *filled(size_t n, int value)
{
    int32_t *list = lm_calloc(n + 1, sizeof *list);
    if (list)
        memset(list, value, n * sizeof *list);
    return list;
}

/* -- saving -------------------------------------------------------------------------------------------- */

/* All that the tables are made of; lists of the context's cells and rows in the file's order. */
typedef struct lists {
    int32_t *tokens, *lengths, *cells, *positions, *history_lengths, *histories;
    int32_t *cell_number, *row_number, *cell_list, *row_list;
    uint32_t n_tokens, n_cells, n_histories, n_rows;
} lists;

static void lists_end(lists *l)
{
    int32_t *all[] = {l->tokens, l->lengths, l->cells, l->positions, l->history_lengths, l->histories,
                      l->cell_number, l->row_number, l->cell_list, l->row_list};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static int lists_begin(lists *l, const eng_lm_context *c, size_t n_tokens)
{
    size_t n = c->p.n_sequences, cells = c->cells_end, slots = (size_t)c->p.n_snapshots * n;
    l->tokens = filled(n_tokens, 0);
    l->cells = filled(n_tokens, 0);
    l->lengths = filled(n, 0);
    l->positions = filled(cells, 0);
    l->cell_number = filled(cells, 0xff);
    l->cell_list = filled(cells, 0);
    l->history_lengths = filled(n, 0);
    l->histories = filled(slots, 0);
    l->row_number = filled(c->rows.n_rows, 0xff);
    l->row_list = filled(c->rows.n_rows, 0);
    return l->tokens && l->cells && l->lengths && l->positions && l->cell_number && l->cell_list &&
                   l->history_lengths && l->histories && l->row_number && l->row_list
               ? ENG_OK
               : ENG_ERR_NOMEM;
}

static void add_sequence(lists *l, const eng_lm_context *c, uint32_t sequence)
{
    const lm_sequence *s = &c->sequences[sequence];
    const int32_t *history = lm_rows_history(&c->rows, sequence);
    l->lengths[sequence] = (int32_t)s->length;
    for (int64_t i = 0; i < s->length; i++) {
        int32_t cell = number_of(l->cell_number, l->cell_list, &l->n_cells, s->cells[i]);
        l->positions[cell] = c->cell_pos[s->cells[i]];
        l->cells[l->n_tokens] = cell;
        l->tokens[l->n_tokens++] = s->tokens[i];
    }
    l->history_lengths[sequence] = (int32_t)c->rows.n_history[sequence];
    for (uint32_t i = 0; i < c->rows.n_history[sequence]; i++)
        l->histories[l->n_histories++] =
            history[i] < 0 ? -1 : number_of(l->row_number, l->row_list, &l->n_rows, history[i]);
}

int eng_lm_context_save(eng_lm_context *c, const char *path)
{
    size_t n_tokens = 0;
    if (!c || !path)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_context_save" ENG_CAUSE "a context and a path are needed");
    for (uint32_t s = 0; s < c->p.n_sequences; s++) {
        if (c->sequences[s].broken)
            return eng_fail(ENG_ERR_STATE, "sequence %u holds nothing of use since a device failed: remove it", s);
        n_tokens += (size_t)c->sequences[s].length;
    }
    if (n_tokens == 0)
        return eng_fail(ENG_ERR_STATE, "the context holds no tokens" ENG_CAUSE "there is nothing to save");
    if (n_tokens > INT32_MAX)
        return eng_fail(ENG_ERR_UNSUPPORTED, "the context's sequences have %zu tokens" ENG_CAUSE
                        "a file holds %d at most" ENG_ADVICE "save single sequences", n_tokens, INT32_MAX);
    lists l = {0};
    int status = lists_begin(&l, c, n_tokens);
    for (uint32_t s = 0; s < c->p.n_sequences && !status; s++)
        add_sequence(&l, c, s);
    int64_t n = c->p.n_sequences, states = c->model->n.recurrent;
    lm_state m = {.c = c, .version = LM_STATE_CONTEXT, .n_cells = l.n_cells, .cells = l.cell_list, .n_states = l.n_rows,
                  .states = l.row_list,
                  .tables = {[LM_STATE_TOKENS] = {l.tokens, l.n_tokens}, [LM_STATE_POSITIONS] = {l.positions, l.n_cells},
                             [LM_STATE_LENGTHS] = {l.lengths, n}, [LM_STATE_CELLS] = {l.cells, l.n_tokens},
                             [LM_STATE_HISTORY_LENGTHS] = {l.history_lengths, states ? n : 0},
                             [LM_STATE_HISTORIES] = {l.histories, states ? l.n_histories : 0}}};
    if (!status)
        status = lm_state_write(&m, path);
    lists_end(&l);
    return status;
}

/* -- what a file must be ------------------------------------------------------------------------------------ */

/* Where each sequence's part of the tables begins, and with how many cells of which one before it begins. */
typedef struct part {
    uint32_t first, n, history, n_history, alike, with;
} part;

typedef struct loading {
    lm_state m;
    part *parts;
    uint32_t n_parts;
    int32_t *by;     /* [cells]: the sequence that has it first                  */
    int32_t *cells, *rows; /* of the context, by their numbers in the file          */
} loading;

static int damaged(const char *path, const char *why)
{
    return eng_fail(ENG_ERR_FORMAT, "%s is damaged" ENG_CAUSE "%s", path, why);
}

static int find_parts(loading *l, const char *path)
{
    const lm_state *m = &l->m;
    bool states = m->tables[LM_STATE_HISTORIES].n > 0;
    int64_t tokens = 0, histories = 0;
    l->n_parts = (uint32_t)m->tables[LM_STATE_LENGTHS].n;
    l->parts = lm_calloc(l->n_parts, sizeof *l->parts);
    if (!l->parts)
        return ENG_ERR_NOMEM;
    if (m->tables[LM_STATE_CELLS].n != m->tables[LM_STATE_TOKENS].n ||
        (states && m->tables[LM_STATE_HISTORY_LENGTHS].n != l->n_parts))
        return damaged(path, "its tables are not of the same tokens and sequences");
    for (uint32_t s = 0; s < l->n_parts; s++) {
        int32_t n = m->tables[LM_STATE_LENGTHS].data[s];
        int32_t n_history = states ? m->tables[LM_STATE_HISTORY_LENGTHS].data[s] : 1;
        if (n < 0 || n_history < 1)
            return damaged(path, "a sequence has less than nothing");
        l->parts[s] = (part){(uint32_t)tokens, (uint32_t)n, (uint32_t)histories, (uint32_t)n_history, 0, 0};
        tokens += n;
        histories += n_history;
        if (tokens > m->tables[LM_STATE_TOKENS].n || (states && histories > m->tables[LM_STATE_HISTORIES].n))
            break;
    }
    if (tokens != m->tables[LM_STATE_TOKENS].n || (states && histories != m->tables[LM_STATE_HISTORIES].n))
        return damaged(path, "its sequences have other lengths than its tables");
    return ENG_OK;
}

/* A sequence begins with another's cells, which are those of the same tokens, and all behind are its own. */
static bool check_cells(loading *l, uint32_t s)
{
    const lm_state *m = &l->m;
    const int32_t *cells = m->tables[LM_STATE_CELLS].data, *tokens = m->tables[LM_STATE_TOKENS].data;
    const int32_t *positions = m->tables[LM_STATE_POSITIONS].data;
    part *p = &l->parts[s];
    for (uint32_t i = 0; i < p->n; i++) {
        int32_t cell = cells[p->first + i];
        if (cell < 0 || (uint32_t)cell >= m->n_cells)
            return false;
        int32_t at = positions[cell];
        if (at < (int64_t)i || at >= INT32_MAX - LM_MAX_CELLS || (i > 0 && at <= positions[cells[p->first + i - 1]]))
            return false;
        if (l->by[cell] < 0)
            l->by[cell] = (int32_t)s;
        else if (p->alike == i && l->by[cell] != (int32_t)s)
            p->alike++;
        else
            return false;
    }
    if (p->alike == 0)
        return true;
    p->with = (uint32_t)l->by[cells[p->first + p->alike - 1]];
    const part *other = &l->parts[p->with];
    return other->n >= p->alike && memcmp(cells + other->first, cells + p->first, p->alike * sizeof *cells) == 0 &&
           memcmp(tokens + other->first, tokens + p->first, p->alike * sizeof *tokens) == 0;
}

/* Rows that there are, and behind them perhaps the empty state. */
static bool check_history(const loading *l, uint32_t s)
{
    const part *p = &l->parts[s];
    const int32_t *histories = l->m.tables[LM_STATE_HISTORIES].data;
    for (uint32_t i = 0; i < p->n_history && histories; i++) {
        int32_t row = histories[p->history + i];
        bool empty = i + 1 == p->n_history && p->n == i;
        if (row < (empty ? -1 : 0) || row >= (int64_t)l->m.n_states)
            return false;
    }
    return true;
}

static int check_sequences(loading *l, const char *path)
{
    int status = find_parts(l, path);
    if (status)
        return status;
    l->by = filled(l->m.n_cells, 0xff);
    if (!l->by)
        return ENG_ERR_NOMEM;
    for (uint32_t s = 0; s < l->n_parts; s++) {
        if (!check_cells(l, s))
            return damaged(path, "the cells of its sequences contradict one another");
        if (!check_history(l, s))
            return damaged(path, "the states of its sequences are not those that it has");
    }
    for (uint32_t i = 0; i < l->m.n_cells; i++)
        if (l->by[i] < 0)
            return damaged(path, "it has cells of no sequence");
    return ENG_OK;
}

static int check_room(const loading *l, const char *path)
{
    const eng_lm_context *c = l->m.c;
    for (uint32_t s = c->p.n_sequences; s < l->n_parts; s++)
        if (l->parts[s].n)
            return eng_fail(ENG_ERR_STATE, "%s holds a sequence %u" ENG_CAUSE "the context was made for %u" ENG_ADVICE
                            "make it for more sequences", path, s, c->p.n_sequences);
    if (l->m.n_cells > c->p.n_cells)
        return eng_fail(ENG_ERR_STATE, "%s holds %u tokens" ENG_CAUSE "the context has %u cells" ENG_ADVICE
                        "make the context larger (-c)", path, l->m.n_cells, c->p.n_cells);
    return ENG_OK;
}

/* -- loading -------------------------------------------------------------------------------------------------- */

static int reserve(loading *l)
{
    eng_lm_context *c = l->m.c;
    l->cells = filled(l->m.n_cells, 0xff);
    l->rows = filled(l->m.n_states, 0xff);
    if (!l->cells || !l->rows)
        return ENG_ERR_NOMEM;
    for (uint32_t s = 0; s < l->n_parts && s < c->p.n_sequences; s++)
        if (!lm_sequence_reserve(&c->sequences[s], l->parts[s].n))
            return eng_fail_code(EU_NO_MEMORY("the cells of a sequence"));
    return ENG_OK;
}

static int restore_cells(loading *l, uint32_t sequence)
{
    eng_lm_context *c = l->m.c;
    lm_sequence *s = &c->sequences[sequence];
    const part *p = &l->parts[sequence];
    const int32_t *numbers = l->m.tables[LM_STATE_CELLS].data + p->first;
    int32_t cell;
    if (p->alike)
        lm_cells_join(c, sequence, c->sequences[p->with].cells, p->alike);
    for (uint32_t i = p->alike; i < p->n; i++) {
        if (!lm_cells_take(c, sequence, &cell))
            return eng_fail(ENG_ERR_INTERNAL, "cells ran out while a context was loaded");
        l->cells[numbers[i]] = cell;
    }
    if (p->n)
        memcpy(s->tokens, l->m.tables[LM_STATE_TOKENS].data + p->first, p->n * sizeof *s->tokens);
    s->length = p->n;
    lm_cells_place(c, s, l->m.tables[LM_STATE_POSITIONS].data, numbers);
    return ENG_OK;
}

/* As many of the newest states as there is room for; what is shared gets one row. */
static int restore_states(loading *l, uint32_t sequence)
{
    eng_lm_context *c = l->m.c;
    const part *p = &l->parts[sequence];
    uint32_t n = p->n_history < c->p.n_snapshots ? p->n_history : c->p.n_snapshots;
    int32_t *rows = c->chosen + (size_t)sequence * c->p.n_snapshots;
    for (uint32_t i = 0; i < n; i++) {
        int32_t number = l->m.tables[LM_STATE_HISTORIES].data[p->history + i];
        rows[i] = number < 0 ? -1 : l->rows[number];
        if (number >= 0 && rows[i] < 0 && (rows[i] = l->rows[number] = lm_rows_take(&c->rows)) < 0)
            return eng_fail(ENG_ERR_INTERNAL, "rows for states ran out while a context was loaded");
    }
    lm_rows_set(&c->rows, sequence, rows, n);
    return ENG_OK;
}

static int restore(loading *l, const eng_gguf *f)
{
    eng_lm_context *c = l->m.c;
    int status = ENG_OK;
    for (uint32_t s = 0; s < c->p.n_sequences; s++)
        lm_sequence_empty(c, s);
    lm_kept_make_room(c, l->m.n_cells);
    for (uint32_t s = 0; s < l->n_parts && s < c->p.n_sequences && !status; s++) {
        status = restore_cells(l, s);
        if (!status && c->model->n.recurrent)
            status = restore_states(l, s);
    }
    for (uint32_t i = 0; i < l->m.n_states; i++)
        lm_rows_release(&c->rows, l->rows[i]); /* the sequences hold them */
    l->m.cells = l->cells;
    l->m.states = l->rows;
    if (!status)
        status = lm_state_upload(&l->m, f);
    for (uint32_t s = 0; s < c->p.n_sequences; s++)
        c->sequences[s].broken = status != ENG_OK;
    lm_kept_trim(c);
    return status;
}

int eng_lm_context_load(eng_lm_context *c, const char *path)
{
    eng_gguf *f;
    if (!c || !path)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_context_load" ENG_CAUSE "a context and a path are needed");
    int status = eng_gguf_open(path, &f);
    if (status)
        return status;
    loading l = {.m = {.c = c, .version = LM_STATE_CONTEXT}};
    status = lm_state_check(&l.m, f, path);
    if (!status)
        status = check_sequences(&l, path);
    if (!status)
        status = check_room(&l, path);
    if (!status)
        status = reserve(&l);
    if (!status)
        status = restore(&l, f);
    free(l.parts);
    free(l.by);
    free(l.cells);
    free(l.rows);
    eng_gguf_close(f);
    return status;
}
