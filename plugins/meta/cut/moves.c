/* From one cut of a tensor to another: which bytes of whose shard go where. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "libengine/util/util.h"

/* Of one dimension: `n` stretches of `len` elements, where they begin on both sides and
 * how far apart they are. */
typedef struct stretch {
    int64_t n, len;
    int64_t from, to, from_step, to_step;
} stretch;

typedef struct stretches {
    stretch *items;
    uint32_t n;
    size_t capacity;
    bool failed;
} stretches;

static void add(stretches *s, stretch one)
{
    stretch *last = s->n ? &s->items[s->n - 1] : NULL;

    if (last && one.n == 1 && one.len == last->len) { /* one more of the same? */
        int64_t from_step = one.from - last->from, to_step = one.to - last->to;
        if (last->n == 1) {
            last->from_step = from_step;
            last->to_step = to_step;
        }
        if (from_step == last->n * last->from_step && to_step == last->n * last->to_step) {
            last->n++;
            return;
        }
    }
    if (!eu_reserve(s->items, s->capacity, (size_t)s->n + 1))
        s->failed = true;
    else
        s->items[s->n++] = one;
}

/* A walk over the stretches that a rank has of a cut dimension, in order. */
typedef struct walk {
    const meta_cut *cut;
    uint32_t rank, seg;
    int64_t rep, seg_at, local; /* repetition, where the segment begins, elements passed  */
} walk;

static bool here(const walk *w, int64_t *begin, int64_t *len)
{
    if (w->seg == w->cut->n_segs)
        return false;
    int64_t inner = w->cut->segs[w->seg].inner;
    *begin = w->seg_at + w->rep * w->cut->part->extent * inner + meta_part_begin(w->cut->part, w->rank) * inner;
    *len = meta_part_length(w->cut->part, w->rank) * inner;
    return true;
}

static void next(walk *w)
{
    const meta_seg *s = &w->cut->segs[w->seg];

    w->local += meta_part_length(w->cut->part, w->rank) * s->inner;
    if (++w->rep == s->outer) {
        w->seg_at += s->outer * w->cut->part->extent * s->inner;
        w->rep = 0;
        w->seg++;
    }
}

/* Both sides are cut along this dimension: what they have in common. */
static void both(stretches *s, const meta_cut *from, uint32_t source, const meta_cut *to, uint32_t target)
{
    walk a = {.cut = from, .rank = source}, b = {.cut = to, .rank = target};
    int64_t a0, a_len, b0, b_len;

    while (here(&a, &a0, &a_len) && here(&b, &b0, &b_len) && !s->failed) {
        int64_t begin = a0 > b0 ? a0 : b0, a1 = a0 + a_len, b1 = b0 + b_len;
        int64_t end = a1 < b1 ? a1 : b1;
        if (begin < end)
            add(s, (stretch){.n = 1, .len = end - begin, .from = a.local + begin - a0, .to = b.local + begin - b0});
        next(a1 <= b1 ? &a : &b);
    }
}

/* One side is cut along this dimension, the other has all of it. */
static void one_side(stretches *s, const meta_cut *cut, uint32_t rank, bool source)
{
    int64_t at = 0, local = 0, length = meta_part_length(cut->part, rank);

    for (uint32_t i = 0; i < cut->n_segs && length > 0; i++) {
        int64_t inner = cut->segs[i].inner, step = cut->part->extent * inner;
        int64_t whole = at + meta_part_begin(cut->part, rank) * inner;
        add(s, (stretch){.n = cut->segs[i].outer,
                         .len = length * inner,
                         .from = source ? local : whole,
                         .to = source ? whole : local,
                         .from_step = source ? length * inner : step,
                         .to_step = source ? step : length * inner});
        local += cut->segs[i].outer * length * inner;
        at += cut->segs[i].outer * step;
    }
}

/* Appends a loop, joining it with what lies below where it goes on without a gap.  There is room: a dimension adds one
 * for its length, and the two that may be cut one more for their stretches. */
static void add_loop(meta_move *m, int64_t n, uint64_t from, uint64_t to)
{
    meta_loop *last = m->n_loops ? &m->loops[m->n_loops - 1] : NULL;

    if (n == 1)
        return;
    if (!last && from == m->run && to == m->run) {
        m->run *= (uint64_t)n;
        return;
    }
    if (last && from == last->from * last->n && to == last->to * last->n) {
        last->n *= (uint64_t)n;
        return;
    }
    m->loops[m->n_loops++] = (meta_loop){(uint64_t)n, from, to};
}

typedef struct sides {
    const int64_t *ne;
    const eng_type_info *type;
    const meta_cut *from, *to;
    uint32_t source, target;
} sides;

/* The move of one stretch in each of the cut dimensions. */
static void make_move(const sides *s, const stretch *at_from, const stretch *at_to, meta_move *m)
{
    uint64_t from = s->type->block_bytes, to = from; /* bytes from one to the next       */

    memset(m, 0, sizeof *m);
    m->source = s->source;
    m->run = from;
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++) {
        const stretch whole = {.n = 1, .len = s->ne[d]};
        const stretch *x = d == s->from->dim ? at_from : d == s->to->dim ? at_to : &whole;
        int64_t block = d == 0 ? s->type->block : 1;
        m->from += (uint64_t)(x->from / block) * from;
        m->to += (uint64_t)(x->to / block) * to;
        add_loop(m, x->len / block, from, to);
        add_loop(m, x->n, (uint64_t)(x->from_step / block) * from, (uint64_t)(x->to_step / block) * to);
        from *= (uint64_t)((d == s->from->dim ? meta_cut_local(s->from, s->source) : s->ne[d]) / block);
        to *= (uint64_t)((d == s->to->dim ? meta_cut_local(s->to, s->target) : s->ne[d]) / block);
    }
}

static uint32_t make_all(const sides *s, const stretches *a, const stretches *b, meta_move *moves, uint32_t room)
{
    const stretch none = {0};
    uint32_t n = 0;

    for (uint32_t i = 0; i < a->n; i++) {
        for (uint32_t j = 0; j < (b ? b->n : 1); j++) {
            meta_move m;
            make_move(s, &a->items[i], b ? &b->items[j] : &none, &m);
            if (n < room)
                moves[n] = m;
            n++;
        }
    }
    return n;
}

bool meta_cut_moves(const int64_t *ne, const eng_type_info *type, const meta_cut *from, uint32_t source,
                    const meta_cut *to, uint32_t target, meta_move *moves, uint32_t room, uint32_t *n)
{
    sides s = {ne, type, from, to, source, target};
    stretches a = {0}, b = {0};
    bool failed = false, empty = false;

    *n = 0;
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        empty |= ne[d] == 0;
    if (from->dim == to->dim) {
        both(&a, from, source, to, target);
    } else {
        one_side(&a, from, source, true);
        one_side(&b, to, target, false);
    }
    failed = a.failed || b.failed;
    if (!failed && !empty)
        *n = make_all(&s, &a, from->dim == to->dim ? NULL : &b, moves, room);
    free(a.items);
    free(b.items);
    return !failed;
}

uint64_t meta_move_bytes(const meta_move *move)
{
    uint64_t bytes = move->run;

    for (uint32_t i = 0; i < move->n_loops; i++)
        bytes *= move->loops[i].n;
    return bytes;
}

void meta_move_copy(const meta_move *move, char *to, const char *from)
{
    uint64_t count[META_MOVE_LOOPS] = {0};
    uint32_t i = 0;

    to += move->to;
    from += move->from;
    for (;;) {
        memcpy(to, from, move->run);
        for (i = 0; i < move->n_loops; i++) {
            const meta_loop *l = &move->loops[i];
            to += l->to;
            from += l->from;
            if (++count[i] < l->n)
                break;
            to -= l->to * l->n;
            from -= l->from * l->n;
            count[i] = 0;
        }
        if (i == move->n_loops)
            return;
    }
}
