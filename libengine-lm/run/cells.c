/*
 * Cells: which of them hold which tokens of which sequences.  A cell belongs
 * to every sequence that holds its token with the same tokens before it, so
 * sharing a beginning moves nothing.
 *
 * Devices are told a range of ranks for each cell: the sequences that it
 * belongs to.  One range does, because of two cells' owners either all of one
 * are among the other's, or none is (sequences that part do not meet again):
 * so sequences can be ranked such that the owners of each cell stand side by
 * side.  A sequence that joins or leaves others is moved there: numbers
 * change, never the contents of caches.
 */
#include "config.h"

#include <string.h>

#include "run.h"

void lm_cells_dirty(eng_lm_context *c, uint32_t begin, uint32_t end)
{
    if (c->dirty_begin == c->dirty_end) {
        c->dirty_begin = begin;
        c->dirty_end = end;
        return;
    }
    if (begin < c->dirty_begin)
        c->dirty_begin = begin;
    if (end > c->dirty_end)
        c->dirty_end = end;
}

static void set_owners(eng_lm_context *c, int32_t cell, int32_t first, int32_t last)
{
    c->cell_first[cell] = first;
    c->cell_last[cell] = last;
    lm_cells_dirty(c, (uint32_t)cell, (uint32_t)cell + 1);
}

uint32_t lm_cells_free(const eng_lm_context *c)
{
    return c->p.n_cells - c->cells_used + c->cells_kept;
}

bool lm_cells_take(eng_lm_context *c, uint32_t sequence, int32_t *cell)
{
    lm_sequence *s = &c->sequences[sequence];
    uint32_t i = c->cells_hint;
    while (i < c->p.n_cells && c->cell_holders[i] > 0)
        i++;
    if (i == c->p.n_cells)
        return false;
    c->cell_holders[i] = 1;
    c->cell_pos[i] = lm_cells_next(c, s);
    set_owners(c, (int32_t)i, s->rank, s->rank);
    s->cells[s->n_cells++] = (int32_t)i;
    c->cells_hint = i + 1;
    c->cells_used++;
    if (i >= c->cells_end)
        c->cells_end = i + 1;
    *cell = (int32_t)i;
    return true;
}

/* One holder fewer. */
static void drop(eng_lm_context *c, int32_t cell)
{
    if (--c->cell_holders[cell] > 0)
        return;
    c->cell_pos[cell] = -1;
    set_owners(c, cell, -1, -1);
    c->cells_used--;
    if ((uint32_t)cell < c->cells_hint)
        c->cells_hint = (uint32_t)cell;
}

static void find_end(eng_lm_context *c)
{
    while (c->cells_end > 0 && c->cell_holders[c->cells_end - 1] == 0)
        c->cells_end--;
}

int32_t lm_cells_next(const eng_lm_context *c, const lm_sequence *s)
{
    return s->n_cells ? c->cell_pos[s->cells[s->n_cells - 1]] + 1 : 0;
}

bool lm_cells_alone(const eng_lm_context *c, int32_t cell)
{
    return c->cell_first[cell] == c->cell_last[cell];
}

void lm_cells_hold(eng_lm_context *c, int32_t cell)
{
    c->cell_holders[cell]++;
}

void lm_cells_release(eng_lm_context *c, int32_t cell)
{
    c->cells_kept -= c->cell_first[cell] < 0 && c->cell_holders[cell] == 1;
    drop(c, cell);
    find_end(c);
}

/* Sequences of ranks first .. last get others, and cells of which one of them is the first or last owner follow. */
static void shift_ranks(eng_lm_context *c, int32_t first, int32_t last, int32_t by)
{
    for (uint32_t s = 0; s < c->p.n_sequences; s++)
        if (c->sequences[s].rank >= first && c->sequences[s].rank <= last)
            c->sequences[s].rank += by;
    for (uint32_t i = 0; i < c->cells_end; i++) {
        int32_t a = c->cell_first[i], b = c->cell_last[i];
        int32_t new_a = a >= first && a <= last ? a + by : a, new_b = b >= first && b <= last ? b + by : b;
        if (new_a != a || new_b != b)
            set_owners(c, (int32_t)i, new_a, new_b);
    }
}

/* The sequence goes behind its neighbours up to the rank `last`, out of the ranges that end there: its own cells from
 * `from` on no longer count it. */
static void move_behind(eng_lm_context *c, lm_sequence *s, uint32_t from, int32_t last)
{
    int32_t rank = s->rank;
    for (uint32_t i = from; i < s->n_cells; i++) { /* first: their ranges begin before it, and are shorter by it */
        int32_t cell = s->cells[i];
        set_owners(c, cell, c->cell_first[cell], c->cell_last[cell] - 1);
    }
    if (last == rank)
        return;
    for (uint32_t i = 0; i < c->p.n_sequences; i++)
        if (c->sequences[i].rank > rank && c->sequences[i].rank <= last)
            c->sequences[i].rank--;
    s->rank = last;
    for (uint32_t i = 0; i < c->cells_end; i++) /* those that hold it begin at it or before */
        if (c->cell_first[i] > rank && c->cell_first[i] <= last)
            set_owners(c, (int32_t)i, c->cell_first[i] - 1, c->cell_last[i] - 1);
}

void lm_cells_leave(eng_lm_context *c, uint32_t sequence, uint32_t from)
{
    lm_sequence *s = &c->sequences[sequence];
    if (from >= s->n_cells)
        return;
    move_behind(c, s, from, c->cell_last[s->cells[from]]); /* no cell after it has more owners */
    while (s->n_cells > from) {
        int32_t cell = s->cells[--s->n_cells];
        if (c->cell_last[cell] < c->cell_first[cell]) { /* it was the last of them */
            set_owners(c, cell, -1, -1);
            c->cells_kept += c->cell_holders[cell] > 1;
        }
        drop(c, cell);
    }
    find_end(c);
}

void lm_cells_cut(eng_lm_context *c, uint32_t sequence, uint32_t first, uint32_t n)
{
    lm_sequence *s = &c->sequences[sequence];
    for (uint32_t i = first; i < first + n; i++)
        drop(c, s->cells[i]);
    memmove(s->cells + first, s->cells + first + n, (s->n_cells - first - n) * sizeof *s->cells);
    s->n_cells -= n;
    find_end(c);
}

/* The owners of the last of n cells that has any; false: none has. */
static bool owners_of_last(const eng_lm_context *c, const int32_t *cells, uint32_t n, int32_t *first, int32_t *last)
{
    while (n > 0 && c->cell_first[cells[n - 1]] < 0)
        n--;
    if (n == 0)
        return false;
    *first = c->cell_first[cells[n - 1]];
    *last = c->cell_last[cells[n - 1]];
    return true;
}

void lm_cells_join(eng_lm_context *c, uint32_t sequence, const int32_t *cells, uint32_t n)
{
    lm_sequence *s = &c->sequences[sequence];
    int32_t first, last, rank = s->rank;
    if (owners_of_last(c, cells, n, &first, &last)) { /* next to them */
        s->rank = -1;
        if (rank > last)
            shift_ranks(c, last + 1, rank - 1, 1);
        else
            shift_ranks(c, rank + 1, last, -1);
        s->rank = rank > last ? last + 1 : last;
    }
    for (uint32_t i = 0; i < n; i++) {
        int32_t cell = cells[i];
        int32_t a = c->cell_first[cell], b = c->cell_last[cell];
        bool nobody = a < 0;
        c->cells_kept -= nobody;
        set_owners(c, cell, nobody || a > s->rank ? s->rank : a, nobody || b < s->rank ? s->rank : b);
        c->cell_holders[cell]++;
        s->cells[s->n_cells++] = cell;
    }
}

void lm_cells_place(eng_lm_context *c, lm_sequence *s, const int32_t *positions, const int32_t *which)
{
    for (uint32_t i = s->n_cells; positions && i-- > 0;) {
        int32_t at = positions[which ? which[i] : (int32_t)i];
        c->cell_pos[s->cells[i]] = at;
        if (at > (int32_t)i)
            s->whole = c->model->n.recurrent ? 0 : i;
    }
}
