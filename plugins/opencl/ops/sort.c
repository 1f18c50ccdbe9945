/* See sort.h, and kernels/sort.cl for how it is done. */
#include "rows.h"
#include "sort.h"

enum { EACH_ITEM = 8, LEAST_TILE = 4096 }; /* columns of a simt work-item; of a tile of family vec, at least */
enum { KEY_BITS = 32 };
#define TEMPORARY (UINT64_C(64) << 20) /* bytes, for the rows that are sorted together: one row may need more */

typedef struct sort {
    const cl_order *order;
    int64_t tile, tiles;                  /* columns of a tile, tiles of a row   */
    int64_t most;                         /* rows that are sorted together, at most */
    int64_t first_row, rows;              /* those of these launches, in the part */
    uint64_t keys[2], indices[2], counts; /* temporary memory                    */
} sort;

/* Bits of a digit: family vec counts in its cache, simt in local memory. */
static unsigned bits_of(const cl_device *device)
{
    return device->vec ? 8 : 4;
}

static int64_t tile_of(const cl_device *device, int64_t n, int64_t rows)
{
    if (!device->vec)
        return (int64_t)cl_group_of(device) * EACH_ITEM;
    const int64_t share = n * rows / (4 * (int64_t)device->compute_units) + 1;
    return share > LEAST_TILE ? share : LEAST_TILE;
}

/* Temporary memory for a row: keys and indices, each to read and to write, and the counts of its tiles. */
static uint64_t row_bytes(const cl_device *device, int64_t n, int64_t tile)
{
    const uint64_t tiles = (uint64_t)((n + tile - 1) / tile);
    return 16 * (uint64_t)n + 4 * (tiles << bits_of(device));
}

bool cl_sort_fits(const cl_device *device, int64_t n)
{
    return row_bytes(device, n, tile_of(device, n, 1)) + 5 * CL_ALIGN <= device->hard_limit;
}

static void launch(cl_recorder *r, const char *kernel, bool first, bool last, const sort *s)
{
    char options[96];
    cl_row_options(r->device, options, sizeof options, "-DBITS=%u -DEACH_ITEM=%d%s%s%s", bits_of(r->device), EACH_ITEM,
                   first ? " -DFIRST=1" : "", last ? " -DLAST=1" : "", s->order->ascending ? " -DASCENDING=1" : "");
    cl_launch(r, "sort", kernel, options);
}

/* What a pass reads: the part's values, or the keys that the one before wrote. */
static void arg_from(cl_recorder *r, const cl_walk *w, const sort *s, unsigned pass)
{
    if (pass == 0)
        cl_arg_walk(r, w, 0);
    else
        cl_arg_temporary(r, s->keys[pass % 2]);
}

static void arg_shape(cl_recorder *r, const cl_walk *w, const sort *s, unsigned pass)
{
    cl_arg_extents(r, w);
    cl_arg_strides(r, w, 0);
    cl_arg_long(r, s->first_row);
    cl_arg_long(r, s->tile);
    cl_arg_long(r, s->tiles);
    cl_arg_int(r, (int32_t)(pass * bits_of(r->device)));
}

static void record_pass(cl_recorder *r, const cl_walk *w, const sort *s, unsigned pass)
{
    const bool first = pass == 0, last = pass + 1 == KEY_BITS / bits_of(r->device);
    const size_t group = r->device->vec ? 1 : cl_group_of(r->device);
    const uint64_t items = (uint64_t)(s->rows * s->tiles) * group;

    launch(r, "sort_count", first, last, s);
    arg_from(r, w, s, pass);
    cl_arg_temporary(r, s->counts);
    arg_shape(r, w, s, pass);
    cl_size1(r, items, group);

    launch(r, "sort_scan", first, last, s);
    cl_arg_temporary(r, s->counts);
    cl_arg_long(r, s->tiles);
    cl_size1(r, (uint64_t)s->rows * group, group);

    launch(r, "sort_move", first, last, s);
    arg_from(r, w, s, pass);
    if (first)
        cl_arg_none(r);
    else
        cl_arg_temporary(r, s->indices[pass % 2]);
    cl_arg_temporary(r, s->counts);
    cl_arg_temporary(r, s->keys[(pass + 1) % 2]);
    if (last)
        cl_arg_walk(r, w, 1);
    else
        cl_arg_temporary(r, s->indices[(pass + 1) % 2]);
    arg_shape(r, w, s, pass);
    cl_arg_long(r, s->order->k);
    cl_size1(r, items, group);
}

static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    sort *s = ctx;
    const int64_t rows = w->ne[1] * w->ne[2] * w->ne[3];
    for (s->first_row = 0; s->first_row < rows; s->first_row += s->most) {
        s->rows = rows - s->first_row < s->most ? rows - s->first_row : s->most;
        for (unsigned pass = 0; pass < KEY_BITS / bits_of(r->device); pass++)
            record_pass(r, w, s, pass);
    }
}

int cl_sort_record(cl_recorder *r, const cl_walk *w, const cl_order *order)
{
    const int64_t n = w->ne[0];
    int64_t rows = 1;
    for (unsigned d = 1; d < ENG_MAX_RANK; d++)
        rows *= w->ne[d];
    if (n == 0 || rows == 0)
        return r->status;
    const int64_t fit = (int64_t)(TEMPORARY / row_bytes(r->device, n, tile_of(r->device, n, 1)));
    sort s = {.order = order, .most = fit == 0 ? 1 : fit < rows ? fit : rows};
    s.tile = tile_of(r->device, n, s.most);
    s.tiles = (n + s.tile - 1) / s.tile;
    for (unsigned i = 0; i < 2; i++) {
        s.keys[i] = cl_temporary(r, (uint64_t)(n * s.most) * 4);
        s.indices[i] = cl_temporary(r, (uint64_t)(n * s.most) * 4);
    }
    s.counts = cl_temporary(r, (uint64_t)(s.tiles * s.most) * 4 << bits_of(r->device));
    return cl_walk_run(r, w, 4, part, &s);
}
