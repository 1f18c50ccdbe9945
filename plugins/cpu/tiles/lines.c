/* A chunk of a strip's weights as lines (planes.h). */
#include "config.h"

#include "planes.h"

void cpu_tiles_make_lines(const tile_run *w, int64_t m)
{
    const int64_t rows = w->end - m < STRIP ? w->end - m : STRIP;
    const strip_panel panel = {w->near->lines, {w->near->d, w->near->m, NULL, NULL}, true};
    planes_types[w->g->type].type->tiles(w->g, w->k0, w->units * w->form.elements, rows_at(w->g, m, rows, w->k0), &panel,
                                         w->form.sums == TWELVE);
}

void cpu_tiles_lines_as_met(const tile_run *w, int64_t group, uint8_t to[GROUP * STRIP])
{
    const vbytes bias = (vbytes)w_all(w->given.bias);
    const int64_t each = w->form.elements * STRIP;
    for (int64_t i = 0; i < GROUP * STRIP; i += sizeof(vbytes)) {
        const int64_t unit = group * (GROUP / w->form.elements) + i / each;
        vbytes v;
        memcpy(&v, w->near->lines + (unit + 1) * unit_lines(w->form) - each + i % each, sizeof v);
        v += bias;
        memcpy(to + i, &v, sizeof v);
    }
}

tile_asks cpu_tiles_ask_lines(const tile_run *w, int64_t m)
{
    const int64_t tiles = (w->c1 - w->c0 + TILE_ROWS - 1) / TILE_ROWS;
    return asks_of_next(w->g, w->m, w->end, m, w->k0, w->k0 + TILES_CHUNK, w->c1 >= w->g->n, tiles * VECTORS * w->units);
}
