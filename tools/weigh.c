#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "libengine/util/util.h"
#include "weigh.h"
#include "weighted.h"

#define SLAB_ELEMENTS (INT64_C(1) << 20)

struct weigher {
    eu_team *team;
    uint32_t threads;
    float *slab; /* rows that were decoded */
    size_t slab_room;
};

int weigher_create(weigher **result)
{
    weigher *w = calloc(1, sizeof *w);
    if (w)
        w->team = eu_team_create(NULL, 0);
    if (!w || !w->team) {
        free(w);
        return eng_fail_code(EU_NO_MEMORY("a conversion"));
    }
    w->threads = 1 + eu_team_grow(w->team, eu_core_count() - 1);
    *result = w;
    return ENG_OK;
}

void weigher_destroy(weigher *w)
{
    if (!w)
        return;
    eu_team_end(w->team);
    weighted_end();
    free(w->slab);
    free(w);
}

typedef struct work {
    uint32_t type;
    const float *x, *importance;
    uint8_t *out;
    int64_t columns, rows;
    uint64_t row_bytes;
    _Atomic int64_t next;
} work;

/* A row at a time by whoever is free. */
static void encode(void *ctx, uint32_t member)
{
    work *w = ctx;
    (void)member;
    for (int64_t r; (r = atomic_fetch_add(&w->next, 1)) < w->rows;)
        weighted_row(w->type, w->x + r * w->columns, w->importance, w->columns, w->out + (uint64_t)r * w->row_bytes);
}

int weigher_run(weigher *w, converter *c, uint32_t from, const void *source, uint32_t to, void *target, int64_t columns,
                int64_t rows, const float *importance)
{
    const int64_t most = columns < SLAB_ELEMENTS ? SLAB_ELEMENTS / columns : 1;
    const uint64_t from_row = eng_row_bytes(from, columns);
    work job = {.type = to, .importance = importance, .columns = columns, .row_bytes = eng_row_bytes(to, columns)};
    /* f32 is read where it lies, if it lies well */
    const bool there = from == ENG_TYPE_F32 && (uintptr_t)source % sizeof(float) == 0;
    if (!weighted_prepare(to) ||
        (!there && !eu_reserve(w->slab, w->slab_room, (size_t)((rows < most ? rows : most) * columns))))
        return eng_fail_code(EU_NO_MEMORY("a conversion"));
    for (int64_t at = 0; at < rows; at += job.rows) {
        const void *here = (const char *)source + (uint64_t)at * from_row;
        job.rows = rows - at < most ? rows - at : most;
        job.x = there ? here : w->slab;
        job.out = (uint8_t *)target + (uint64_t)at * job.row_bytes;
        atomic_store(&job.next, 0);
        int status = there ? ENG_OK : converter_run(c, from, here, ENG_TYPE_F32, w->slab, columns, job.rows);
        if (status)
            return status;
        eu_team_run(w->team, w->threads, encode, &job);
    }
    return ENG_OK;
}
