/*
 * Dimensions as segments of factors: loading, normal form, comparing, saving,
 * and regrouping (what a reshape does to axes).
 */
#include "config.h"

#include <string.h>

#include "graph.h"

void eng_dim_anonymous(eng_dim_work *w, int64_t extent)
{
    w->n = 1;
    w->s[0].n = 1;
    w->s[0].f[0] = (eng_factor){.axis = ENG_AXIS_NONE, .extent = extent};
}

static int64_t segment_extent(const eng_dim_work *w, uint32_t s)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < w->s[s].n; i++)
        n *= w->s[s].f[i].extent;
    return n;
}

int64_t eng_dim_extent(const eng_dim_work *w)
{
    int64_t n = 0;
    for (uint32_t s = 0; s < w->n; s++)
        n += segment_extent(w, s);
    return n;
}

/* Is there room for it, and does no product of its extents overflow? */
static bool loadable(const eng_dim *dim)
{
    if (dim == NULL || dim->n_segments == 0 || dim->n_segments > ENG_MAX_SEGMENTS || dim->segments == NULL)
        return false;
    for (uint32_t s = 0; s < dim->n_segments; s++) {
        const eng_segment *segment = &dim->segments[s];
        uint64_t full = 1;
        if (segment->n_factors > ENG_MAX_FACTORS || (segment->n_factors > 0 && segment->factors == NULL))
            return false;
        for (uint32_t i = 0; i < segment->n_factors; i++) {
            int64_t e = segment->factors[i].extent;
            if (e < 0 || !eu_mul(full, e > 0 ? (uint64_t)e : 1, &full) || full > INT64_MAX / ENG_MAX_SEGMENTS)
                return false;
        }
    }
    return true;
}

bool eng_dim_load(eng_dim_work *w, const eng_dim *dim, int64_t extent)
{
    if (!loadable(dim)) {
        eng_dim_anonymous(w, extent);
        return dim == NULL || dim->n_segments == 0;
    }
    w->n = dim->n_segments;
    for (uint32_t s = 0; s < w->n; s++) {
        w->s[s].n = dim->segments[s].n_factors;
        if (w->s[s].n > 0)
            memcpy(w->s[s].f, dim->segments[s].factors, w->s[s].n * sizeof w->s[s].f[0]);
    }
    if (eng_dim_extent(w) == extent)
        return true;
    eng_dim_anonymous(w, extent);
    return false;
}

bool eng_dim_named(const eng_dim_work *w)
{
    for (uint32_t s = 0; s < w->n; s++)
        for (uint32_t i = 0; i < w->s[s].n; i++)
            if (w->s[s].f[i].axis != ENG_AXIS_NONE)
                return true;
    return false;
}

static uint32_t times_in_segment(const eng_dim_work *w, uint32_t s, uint32_t axis)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->s[s].n; i++)
        n += w->s[s].f[i].axis == axis;
    return n;
}

/* An axis cuts a dimension only if it cuts every segment, once, by one extent. */
static void drop_partial_axes(eng_dim_work *w)
{
    for (uint32_t s = 0; s < w->n; s++)
        for (uint32_t i = 0; i < w->s[s].n; i++) {
            uint32_t axis = w->s[s].f[i].axis;
            bool whole = true;
            for (uint32_t other = 0; other < w->n; other++)
                whole = whole && times_in_segment(w, other, axis) == 1;
            for (uint32_t other = 0; other < w->n && !whole; other++)
                for (uint32_t k = 0; k < w->s[other].n; k++)
                    if (w->s[other].f[k].axis == axis)
                        w->s[other].f[k].axis = ENG_AXIS_NONE;
        }
}

static void merge_factors(eng_dim_work *w, uint32_t s)
{
    uint32_t n = 0;
    eng_factor *f = w->s[s].f;
    for (uint32_t i = 0; i < w->s[s].n; i++) {
        if (f[i].axis == ENG_AXIS_NONE && f[i].extent == 1)
            continue;
        if (n > 0 && f[i].axis == ENG_AXIS_NONE && f[n - 1].axis == ENG_AXIS_NONE)
            f[n - 1].extent *= f[i].extent;
        else
            f[n++] = f[i];
    }
    if (n == 0)
        f[n++] = (eng_factor){.axis = ENG_AXIS_NONE, .extent = 1};
    w->s[s].n = n;
}

void eng_dim_normalise(eng_dim_work *w)
{
    int64_t extent = eng_dim_extent(w);
    drop_partial_axes(w);
    for (uint32_t s = 0; s < w->n; s++)
        merge_factors(w, s);
    if (w->n > 1 && !eng_dim_named(w))
        eng_dim_anonymous(w, extent);
}

bool eng_dim_equal(const eng_dim_work *a, const eng_dim_work *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t s = 0; s < a->n; s++) {
        if (a->s[s].n != b->s[s].n)
            return false;
        for (uint32_t i = 0; i < a->s[s].n; i++)
            if (a->s[s].f[i].axis != b->s[s].f[i].axis || a->s[s].f[i].extent != b->s[s].f[i].extent)
                return false;
    }
    return true;
}

bool eng_dim_save(eu_arena *arena, const eng_dim_work *w, eng_dim *dim)
{
    memset(dim, 0, sizeof *dim);
    if (!eng_dim_named(w))
        return true;
    eng_segment *segments = eu_arena_alloc(arena, w->n * sizeof *segments);
    if (segments == NULL)
        return false;
    for (uint32_t s = 0; s < w->n; s++) {
        eng_factor *factors = eu_arena_alloc(arena, w->s[s].n * sizeof *factors);
        if (factors == NULL)
            return false;
        memcpy(factors, w->s[s].f, w->s[s].n * sizeof *factors);
        segments[s].n_factors = w->s[s].n;
        segments[s].factors = factors;
    }
    dim->n_segments = w->n;
    dim->segments = segments;
    return true;
}

/* -- regrouping --------------------------------------------------------------- */

/*
 * All dimensions as one list, outermost first.  A dimension of several segments
 * is one item: it moves as a whole or loses its axes.
 */
typedef struct item {
    eng_factor f;
    int dim; /* >= 0: that whole dimension                                    */
} item;

typedef struct item_list {
    item at[ENG_MAX_RANK * ENG_MAX_FACTORS];
    uint32_t n, next;
    bool lost; /* from here on the factors do not line up                     */
} item_list;

static void list_items(const eng_dim_work *from, uint32_t n_from, item_list *list)
{
    list->n = list->next = 0;
    list->lost = false;
    for (int d = (int)n_from - 1; d >= 0; d--) {
        if (from[d].n > 1) {
            list->at[list->n++] = (item){{.extent = eng_dim_extent(&from[d])}, d};
            continue;
        }
        for (uint32_t i = 0; i < from[d].s[0].n; i++)
            if (from[d].s[0].f[i].axis != ENG_AXIS_NONE || from[d].s[0].f[i].extent != 1)
                list->at[list->n++] = (item){from[d].s[0].f[i], -1};
    }
}

/* Moves items to a dimension of `want` elements until they fill it. */
static void fill_dim(const eng_dim_work *from, item_list *list, int64_t want, eng_dim_work *to)
{
    int64_t have = 1;
    eng_dim_anonymous(to, want);
    if (list->lost)
        return;
    to->s[0].n = 0;
    while (list->next < list->n && to->s[0].n < ENG_MAX_FACTORS) {
        item *it = &list->at[list->next];
        int64_t left = want / have, e = it->f.extent;
        if (have == want && !(e == 1 && want == 1 && to->s[0].n == 0))
            break;
        if (e == 0 || want % have != 0)
            goto lost;
        if (it->dim >= 0) {
            if (have != 1 || e != want)
                goto lost;
            *to = from[it->dim];
            list->next++;
            return;
        }
        if (left % e == 0) {
            to->s[0].f[to->s[0].n++] = it->f;
            have *= e;
            list->next++;
        } else if (it->f.axis == ENG_AXIS_NONE && e % left == 0) {
            to->s[0].f[to->s[0].n++] = (eng_factor){.axis = ENG_AXIS_NONE, .extent = left};
            it->f.extent = e / left;
            have = want;
        } else {
            goto lost;
        }
    }
    if (have == want) {
        if (to->s[0].n == 0)
            eng_dim_anonymous(to, want);
        return;
    }
lost:
    list->lost = true;
    eng_dim_anonymous(to, want);
}

void eng_dims_regroup(const eng_dim_work *from, uint32_t n_from, const int64_t *ne, eng_dim_work *to, uint32_t n_to)
{
    item_list list;
    list_items(from, n_from, &list);
    for (int d = (int)n_to - 1; d >= 0; d--)
        fill_dim(from, &list, ne[d], &to[d]);
}
