/* Random programs: what their tensors hold. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "program.h"
#include "tests/reference/ref.h"

const pg_axis pg_axes[PG_N_AXES] = {{"a", 6}, {"b", 4}, {"c", 3}, {"d", 8}, {"e", 5}, {"f", 2}};

uint64_t pg_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t pg_count(const pg_tensor *t)
{
    uint64_t n = 1;
    for (int d = 0; d < ENG_MAX_RANK; d++)
        n *= (uint64_t)t->ne[d];
    return n;
}

uint64_t pg_bytes(const pg_tensor *t)
{
    return pg_count(t) / ref_block(t->type) * ref_block_bytes(t->type);
}

bool pg_is_result(const pg_tensor *t)
{
    uint32_t use = t->use & ENG_USE_MASK;
    return use != ENG_USE_WEIGHT && use != ENG_USE_INPUT;
}

static int32_t index_at(const pg_tensor *t, uint64_t i, uint64_t n, uint64_t *state)
{
    uint64_t r = pg_random(state);
    switch (t->contents) {
    case PG_ASCENDING:
        return (int32_t)(t->below * (int64_t)i / (int64_t)(n - 1));
    case PG_STATE_ROWS:
        return r % 4 ? (int32_t)(2 + i) : -1;
    case PG_DISTINCT: { /* a step prime to the extent: no two are equal */
        uint64_t below = (uint64_t)t->below, step = below % 3 ? 3 : below % 5 ? 5 : below % 7 ? 7 : 1;
        return i < below && r % 5 ? (int32_t)((i * step + t->seed % 7) % below) : -1;
    }
    default: {
        int64_t v = (int64_t)(r % (uint64_t)(t->below + 1)) - (r >> 32) % 3 / 2;
        return (int32_t)(v < t->below ? v : t->below - 1);
    }
    }
}

static uint64_t next(void *state)
{
    return pg_random(state);
}

static void put(uint32_t type, double v, void *at)
{
    (void)ref_encode(type, &v, at, 1, false);
}

/* Half of the tensors have only numbers, so that graphs are not all NaN at once; of the others some have few
 * that are none, some many, and some only such that are small. */
enum { NUMBERS = 4, SMALL = 6, MANY = 7, KINDS_OF_HOSTILITY = 8 };

static bool is_hostile(const pg_tensor *t, uint64_t r)
{
    uint64_t kind = t->seed % KINDS_OF_HOSTILITY;
    return t->hostile && kind >= NUMBERS && r % (kind == MANY ? 7 : kind == SMALL ? 11 : 199) == 0;
}

/* A number that trained models do not have. */
static double hostile_number(const pg_tensor *t, uint64_t r)
{
    static const double numbers[] = {NAN, INFINITY, -INFINITY, 3.4e38, -3.4e38, 1e30, -1e19, 65504,
                                     1e-38, 1e-40, -1e-45, -0.0};
    enum { N = sizeof numbers / sizeof *numbers, FIRST_SMALL = 7 };
    size_t first = t->seed % KINDS_OF_HOSTILITY == SMALL ? FIRST_SMALL : 0;
    return numbers[first + r % (N - first)];
}

/* Blocks now and then are any bytes: scales that are NaN, or huge. */
static void poison(const pg_tensor *t, unsigned char *bytes, uint64_t n, uint64_t *state)
{
    uint32_t size = ref_block_bytes(t->type);

    for (uint64_t b = 0; b < n / ref_block(t->type); b++)
        if (is_hostile(t, pg_random(state)))
            for (uint32_t i = 0; i < size; i++)
                bytes[b * size + i] = (unsigned char)pg_random(state);
}

void pg_fill(const pg_tensor *t, void *bytes)
{
    uint64_t n = pg_count(t), state = t->seed;
    uint32_t block = ref_block(t->type), size = ref_block_bytes(t->type);

    if ((t->use & ENG_USE_MASK) == ENG_USE_OUTPUT) {
        memset(bytes, 0xff, pg_bytes(t)); /* not a number, or -1 */
        return;
    }
    if (block > 1) {
        ref_random_blocks(t->type, bytes, (int64_t)n, t->scale, next, &state);
        poison(t, bytes, n, &state);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        void *at = (char *)bytes + i * size;
        if (t->type == ENG_TYPE_I32 || t->type == ENG_TYPE_I64) {
            put(t->type, index_at(t, i, n, &state), at);
            continue;
        }
        uint64_t r = pg_random(&state);
        double u = (double)(r >> 40) / (1 << 23) - 1;
        if (is_hostile(t, r % 1000003)) {
            put(t->type, hostile_number(t, r >> 20), at);
            continue;
        }
        put(t->type, t->contents == PG_MASK && r % 4 == 0 ? -INFINITY : t->offset + t->scale * u, at);
    }
}

void pg_make_axes(eng_context *context, const pg_dim *dims, uint32_t rank, pg_axes_of *a)
{
    memset(a, 0, sizeof *a);
    for (uint32_t d = 0; d < rank; d++) {
        a->dims[d].n_segments = dims[d].n_segs;
        a->dims[d].segments = a->segs[d];
        for (uint32_t s = 0; s < dims[d].n_segs; s++) {
            a->segs[d][s].n_factors = dims[d].segs[s].n;
            a->segs[d][s].factors = a->factors[d][s];
            for (uint32_t f = 0; f < dims[d].segs[s].n; f++) {
                int axis = dims[d].segs[s].axis[f];
                a->factors[d][s][f].axis = axis ? eng_context_axis(context, pg_axes[axis - 1].name) : ENG_AXIS_NONE;
                a->factors[d][s][f].extent = dims[d].segs[s].extent[f];
            }
        }
    }
}
