#include "config.h"

#include "shape.h"
#include "size.h"

/* -- extents, strides, bytes ------------------------------------------------------- */

bool eu_shape_layout(const eng_type_info *type, const int64_t *ne, uint32_t rank, int64_t *nb, uint64_t *bytes)
{
    uint64_t full = type->block_bytes, elements = type->block;
    bool empty = false, good = true;
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++) {
        int64_t extent = d < rank ? ne[d] : 1;
        if (d == 0) {
            good = rank == 0 || extent % type->block == 0;
            extent = rank == 0 ? 1 : extent / type->block;
        }
        if (nb)
            nb[d] = (int64_t)(d == 0 ? type->block_bytes : full);
        empty = empty || extent == 0;
        uint64_t steps = extent > 0 ? (uint64_t)extent : 1;
        bool fits = eu_mul(full, steps, &full), both = eu_mul(elements, steps, &elements) && fits;
        good = good && both && extent >= 0 && full <= INT64_MAX / 2 && elements <= INT64_MAX / 2;
    }
    if (bytes)
        *bytes = empty ? 0 : full;
    return good;
}

uint64_t eu_shape_bytes(const eng_type_info *type, const int64_t *ne, uint32_t rank)
{
    uint64_t bytes;
    eu_shape_layout(type, ne, rank, NULL, &bytes);
    return bytes;
}

bool eu_shape_contiguous(const eng_type_info *type, const int64_t *ne, const int64_t *nb)
{
    int64_t packed[ENG_MAX_RANK];
    if (!eu_shape_layout(type, ne, ENG_MAX_RANK, packed, NULL))
        return false;
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        if (ne[d] != 1 && nb[d] != packed[d])
            return false;
    return true;
}

/* -- the same elements with other extents -------------------------------------------- */

/* Dimensions that step, of those with more than one block or element. */
typedef struct steps {
    int64_t n[ENG_MAX_RANK], stride[ENG_MAX_RANK];
    uint32_t count;
} steps;

static void find_steps(const eng_type_info *type, const int64_t *ne, const int64_t *nb, steps *s)
{
    s->count = 0;
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++) {
        int64_t n = d == 0 ? ne[0] / type->block : ne[d];
        if (n == 1)
            continue;
        s->n[s->count] = n;
        s->stride[s->count++] = nb[d];
    }
}

bool eu_shape_regroup(const eng_type_info *type, const int64_t *ne, const int64_t *nb, const int64_t *to,
                      int64_t *to_nb)
{
    steps old;
    uint64_t bytes;
    if (!eu_shape_layout(type, to, ENG_MAX_RANK, to_nb, &bytes) || ne[0] % type->block != 0)
        return false;
    find_steps(type, ne, nb, &old);
    uint32_t o = 0, d = 0;
    while (bytes > 0 && d < ENG_MAX_RANK && o < old.count) {
        uint32_t last = o, first = d;
        int64_t want = d == 0 ? to[0] / type->block : to[d], have = old.n[o];
        if (want == 1 && (d > 0 || nb[0] == to_nb[0])) {
            d++;
            continue;
        }
        while (want != have) { /* a group: the shortest runs of both with equal products */
            if (want < have) {
                if (++d == ENG_MAX_RANK)
                    return false;
                want *= to[d];
            } else {
                if (last + 1 == old.count || old.stride[last + 1] != old.stride[last] * old.n[last])
                    return false;
                have *= old.n[++last];
            }
        }
        for (int64_t stride = old.stride[o]; first <= d; first++) {
            to_nb[first] = stride;
            stride *= first == 0 ? to[0] / type->block : to[first];
        }
        d++;
        o = last + 1;
    }
    return bytes == 0 || o == old.count;
}

/* -- letters --------------------------------------------------------------------------- */

/* Learns from one dimension if it has one letter alone that is not known yet. */
static bool learn(const eng_rule_dim *dim, int64_t ne, int64_t *extent)
{
    int unknown = -1;
    uint64_t known = 1;
    if (dim->broadcast && ne == 1)
        return false;
    for (int i = 0; i < dim->n_letters; i++) {
        uint8_t letter = dim->letters[i];
        if (letter == ENG_LETTER_PRIVATE || (extent[letter] < 0 && unknown >= 0))
            return false;
        if (extent[letter] < 0)
            unknown = letter;
        else if (!eu_mul(known, (uint64_t)extent[letter], &known))
            return false;
    }
    if (unknown < 0 || known == 0 || known > INT64_MAX)
        return false;
    extent[unknown] = ne / (int64_t)known; /* a remainder is found by the check */
    return true;
}

static bool learn_all(const eng_rule_operand *rules, int n, const int64_t *const *ne, int64_t *extent)
{
    bool learnt = false;
    for (int i = 0; ne && i < n; i++)
        for (int d = 0; ne[i] && d < ENG_MAX_RANK; d++)
            learnt |= learn(&rules[i].dims[d], ne[i][d], extent);
    return learnt;
}

void eu_rule_bind(const eng_op_info *op, const int64_t *const *in, const int64_t *const *out, int64_t *extent)
{
    for (int i = 0; i < ENG_MAX_LETTERS; i++)
        extent[i] = -1;
    for (bool again = true; again;) {
        again = learn_all(op->in, op->n_in, in, extent);
        again |= learn_all(op->out, op->n_out, out, extent);
    }
    for (int i = 0; i < ENG_MAX_LETTERS; i++)
        if (extent[i] < 0)
            extent[i] = 1;
}

bool eu_rule_extent(const eng_rule_dim *dim, const int64_t *extent, int64_t *product)
{
    uint64_t n = 1;
    for (int i = 0; i < dim->n_letters; i++)
        if (!eu_mul(n, (uint64_t)extent[dim->letters[i]], &n))
            return false;
    *product = (int64_t)n;
    return n <= INT64_MAX;
}

int eu_rule_disagrees(const eng_rule_operand *rule, const int64_t *ne, const int64_t *extent, int64_t *want)
{
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        const eng_rule_dim *dim = &rule->dims[d];
        if ((dim->n_letters > 0 && dim->letters[0] == ENG_LETTER_PRIVATE) || (dim->broadcast && ne[d] == 1))
            continue;
        if (!eu_rule_extent(dim, extent, want))
            *want = -1;
        if (*want != ne[d])
            return d;
    }
    return -1;
}
