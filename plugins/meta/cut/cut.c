/* Cuts: where an axis stands in a tensor, and what shapes do to that. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "cut.h"

int64_t meta_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

int64_t meta_lcm(int64_t a, int64_t b)
{
    return a / meta_gcd(a, b) * b;
}

/* One segment: the axis' factor and what stands outside and inside of it. */
static bool segment_of(const eng_segment *s, const meta_partition *part, meta_seg *seg, bool *present)
{
    seg->outer = seg->inner = 1;
    *present = false;
    for (uint32_t i = 0; i < s->n_factors; i++) {
        const eng_factor *f = &s->factors[i];
        if (f->axis == part->axis) {
            if (*present || f->extent != part->extent)
                return false;
            *present = true;
        } else if (*present) {
            seg->inner *= f->extent;
        } else {
            seg->outer *= f->extent;
        }
    }
    return true;
}

bool meta_cut_from_dims(const eng_dim *dims, uint32_t rank, const int64_t *ne, const meta_partition *part,
                        meta_cut *cut)
{
    bool found = false;
    meta_cut c = {.part = part};

    if (!dims || part->axis == ENG_AXIS_NONE)
        return false;
    for (uint32_t d = 0; d < rank; d++) {
        uint32_t with = 0;
        for (uint32_t s = 0; s < dims[d].n_segments; s++) {
            meta_seg seg;
            bool present;
            if (!segment_of(&dims[d].segments[s], part, &seg, &present))
                return false;
            if (!present)
                continue;
            if (found && c.dim != d)
                return false;
            found = true;
            c.dim = d;
            with++;
            if (!meta_cut_append(&c, seg))
                return false;
        }
        if (with && with != dims[d].n_segments)
            return false;
    }
    if (!found || meta_cut_full(&c) != ne[c.dim])
        return false;
    *cut = c;
    return true;
}

bool meta_cut_equal(const meta_cut *a, const meta_cut *b)
{
    if (a->part != b->part || a->dim != b->dim || a->n_segs != b->n_segs)
        return false;
    for (uint32_t s = 0; s < a->n_segs; s++)
        if (a->segs[s].outer != b->segs[s].outer || a->segs[s].inner != b->segs[s].inner)
            return false;
    return true;
}

bool meta_cut_same(const meta_cut *a, const meta_cut *b)
{
    if (a->dim != b->dim || a->n_segs != b->n_segs)
        return false;
    for (uint32_t s = 0; s < a->n_segs; s++) {
        int64_t i = a->segs[s].inner, k = b->segs[s].inner;
        if (a->segs[s].outer != b->segs[s].outer || a->part->extent * i != b->part->extent * k)
            return false;
        for (uint32_t r = 0; r < META_MAX_RANKS; r++)
            if (meta_part_begin(a->part, r) * i != meta_part_begin(b->part, r) * k)
                return false;
    }
    return true;
}

bool meta_cut_append(meta_cut *cut, meta_seg seg)
{
    if (seg.outer == 0 || seg.inner == 0)
        return true;
    if (cut->n_segs && cut->segs[cut->n_segs - 1].inner == seg.inner) {
        cut->segs[cut->n_segs - 1].outer += seg.outer;
        return true;
    }
    if (cut->n_segs == META_MAX_SEGS)
        return false;
    cut->segs[cut->n_segs++] = seg;
    return true;
}

int64_t meta_cut_full(const meta_cut *cut)
{
    int64_t n = 0;
    for (uint32_t s = 0; s < cut->n_segs; s++)
        n += cut->segs[s].outer * cut->part->extent * cut->segs[s].inner;
    return n;
}

int64_t meta_cut_local(const meta_cut *cut, uint32_t rank)
{
    int64_t n = 0, length = meta_part_length(cut->part, rank);
    for (uint32_t s = 0; s < cut->n_segs; s++)
        n += cut->segs[s].outer * length * cut->segs[s].inner;
    return n;
}

bool meta_cut_range(const meta_cut *cut, int64_t begin, int64_t length, meta_cut *part)
{
    meta_cut out = {.part = cut->part, .dim = cut->dim};
    int64_t at = 0, end = begin + length;

    for (uint32_t s = 0; s < cut->n_segs; s++) {
        int64_t step = cut->part->extent * cut->segs[s].inner;
        int64_t from = begin > at ? begin : at;
        int64_t size = cut->segs[s].outer * step;
        int64_t to = end < at + size ? end : at + size;
        if (from < to) {
            if ((from - at) % step || (to - at) % step)
                return false;
            meta_seg seg = {(to - from) / step, cut->segs[s].inner};
            if (!meta_cut_append(&out, seg))
                return false;
        }
        at += size;
    }
    if (!out.n_segs)
        return false;
    *part = out;
    return true;
}

int64_t meta_cut_local_position(const meta_cut *cut, uint32_t rank, int64_t p)
{
    int64_t at = 0, local = 0, length = meta_part_length(cut->part, rank);

    for (uint32_t s = 0; s < cut->n_segs; s++) {
        int64_t inner = cut->segs[s].inner, step = cut->part->extent * inner, size = cut->segs[s].outer * step;
        if (p < at + size) {
            int64_t reps = (p - at) / step, rest = p - at - reps * step - meta_part_begin(cut->part, rank) * inner;
            rest = rest < 0 ? 0 : rest > length * inner ? length * inner : rest;
            return local + reps * length * inner + rest;
        }
        local += cut->segs[s].outer * length * inner;
        at += size;
    }
    return local;
}

bool meta_cut_aligned(const meta_cut *cut, int64_t block)
{
    bool repeats = cut->n_segs > 1 || cut->segs[0].outer > 1;

    if (cut->dim != 0 || block <= 1)
        return true;
    for (uint32_t s = 0; s < cut->n_segs; s++) {
        if (repeats && cut->part->extent * cut->segs[s].inner % block)
            return false;
        for (uint32_t r = 1; r < cut->part->n_ranks; r++) {
            int64_t begin = cut->part->begin[r];
            if (begin != cut->part->extent && begin * cut->segs[s].inner % block)
                return false;
        }
    }
    return true;
}

/* The unit with which every boundary is at a multiple of `block` in the cut's dimension. */
static int64_t unit_of(const meta_cut *cut, int64_t block)
{
    bool repeats = cut->n_segs > 1 || cut->segs[0].outer > 1;
    int64_t unit = 1;

    for (uint32_t s = 0; s < cut->n_segs; s++) {
        if (repeats && cut->part->extent * cut->segs[s].inner % block)
            return 0;
        unit = meta_lcm(unit, block / meta_gcd(block, cut->segs[s].inner));
    }
    return unit;
}

int64_t meta_cut_unit(const meta_cut *cut, int64_t block)
{
    return cut->dim != 0 || block <= 1 ? 1 : unit_of(cut, block);
}

int64_t meta_cut_row_unit(const meta_cut *cut, int64_t rows)
{
    return cut->dim != 1 || rows <= 1 ? 1 : unit_of(cut, rows);
}

static int64_t product(const int64_t *ne, uint32_t from, uint32_t to)
{
    int64_t n = 1;
    for (uint32_t i = from; i < to; i++)
        n *= ne[i];
    return n;
}

/*
 * A cut with one segment is, in the tensor's linear order, an outer count, the
 * axis and an inner run; it survives where one dimension of the new shape
 * holds the axis whole.  Several segments survive where the dimension itself
 * does.
 */
bool meta_cut_reshape(const meta_cut *cut, const int64_t *from, const int64_t *to, meta_cut *result)
{
    int64_t below_from = product(from, 0, cut->dim);
    meta_cut out = {.part = cut->part};

    if (cut->n_segs > 1) {
        for (uint32_t d = 0; d < ENG_MAX_RANK; d++) {
            if (to[d] != from[cut->dim] || product(to, 0, d) != below_from)
                continue;
            *result = *cut;
            result->dim = d;
            return true;
        }
        return false;
    }
    int64_t run = cut->segs[0].inner * below_from; /* elements of one unit */
    int64_t below = 1;
    if (run == 0) /* no elements: nothing tells where the axis stands */
        return false;
    for (uint32_t d = 0; d < ENG_MAX_RANK; below *= to[d], d++) {
        if (below == 0 || run % below)
            return false;
        int64_t inner = run / below, span = inner * cut->part->extent;
        if (span > to[d] || to[d] % span)
            continue;
        out.dim = d;
        out.n_segs = 1;
        out.segs[0].outer = to[d] / span;
        out.segs[0].inner = inner;
        *result = out;
        return true;
    }
    return false;
}

void meta_cut_pieces(const meta_cut *cut, uint32_t rank, const int64_t *ne, const eng_type_info *type,
                     meta_piece *pieces)
{
    uint64_t below = 1, above = 1;
    int64_t begin = meta_part_begin(cut->part, rank), length = meta_part_length(cut->part, rank);
    int64_t at = 0, local_at = 0;
    uint64_t block = type->block, bytes = type->block_bytes;

    /* bytes of `below` elements are whole blocks for dim > 0, single elements
     * (turned into bytes after multiplying) for dim 0 */
    for (uint32_t d = 0; d < cut->dim; d++)
        below *= (uint64_t)ne[d];
    for (uint32_t d = cut->dim + 1; d < ENG_MAX_RANK; d++)
        above *= (uint64_t)ne[d];
#define BYTES(elements) ((uint64_t)(elements)*below / block * bytes)
    for (uint32_t s = 0; s < cut->n_segs; s++) {
        int64_t inner = cut->segs[s].inner, step = cut->part->extent * inner;
        meta_piece *p = &pieces[s];
        p->run = BYTES(length * inner);
        p->n1 = (uint64_t)cut->segs[s].outer;
        p->n2 = above;
        p->full = BYTES(at + begin * inner);
        p->full_s1 = BYTES(step);
        p->full_s2 = BYTES(ne[cut->dim]);
        p->local = BYTES(local_at);
        p->local_s1 = p->run;
        p->local_s2 = BYTES(meta_cut_local(cut, rank));
        at += cut->segs[s].outer * step;
        local_at += cut->segs[s].outer * length * inner;
    }
#undef BYTES
}

int meta_cut_to_letter(const meta_cut *cut, const int64_t *extents, uint32_t n, meta_cut *letter)
{
    if (n == 1) {
        *letter = *cut;
        return 0;
    }
    for (uint32_t j = 0; j < n; j++) {
        int64_t outside = product(extents, 0, j), inside = product(extents, j + 1, n);
        if (outside * extents[j] * inside == extents[j]) { /* the others are 1 */
            *letter = *cut;
            return (int)j;
        }
        if (outside == 0 || inside == 0)
            continue;
        if (cut->n_segs != 1 || cut->segs[0].outer % outside || cut->segs[0].inner % inside)
            continue;
        *letter = *cut;
        letter->segs[0].outer /= outside;
        letter->segs[0].inner /= inside;
        return (int)j;
    }
    return -1;
}

bool meta_cut_from_letter(const meta_cut *letter, const int64_t *extents, uint32_t n, uint32_t which, uint32_t dim,
                          meta_cut *cut)
{
    int64_t outside = product(extents, 0, which), inside = product(extents, which + 1, n);
    meta_cut out = {.part = letter->part, .dim = dim};

    for (int64_t o = 0; o < outside; o++) {
        for (uint32_t s = 0; s < letter->n_segs; s++) {
            meta_seg seg = {letter->segs[s].outer, letter->segs[s].inner * inside};
            if (letter->n_segs == 1) {
                seg.outer *= outside;
                o = outside; /* all repetitions at once */
            }
            if (!meta_cut_append(&out, seg))
                return false;
        }
    }
    *cut = out;
    return true;
}
