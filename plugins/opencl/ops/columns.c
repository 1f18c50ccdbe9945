/* Columns of a product packed for it: in the order in which its kernel meets them, or as whole numbers. */
#include "hot.h"
#include "variant.h"

/* What all launches that pack columns begin with; ext: of what is packed. */
static void launch_pack(cl_recorder *r, const cl_variant *v, const char *kernel, const char *options,
                        const cl_columns *b, const int64_t ext[4], const cl_packed *p)
{
    cl_launch_variant(r, v, kernel, options);
    cl_arg_tensor(r, b->tensor, b->offset);
    cl_arg_temporary(r, p->at);
    cl_arg_long(r, b->k);
    cl_arg_long(r, b->n);
    cl_arg_long(r, b->col);
    cl_arg_long(r, p->col);
    cl_arg_long4(r, ext);
    cl_arg_long4(r, b->nb);
    cl_arg_long4(r, p->nb);
}

cl_packed cl_pack_columns(cl_recorder *r, const cl_variant *v, const char *options, const cl_columns *b)
{
    const int64_t groups = cl_ceil(b->k, 32), tiles = cl_ceil(b->n, cl_pack_cols(v));
    cl_packed p = {.col = groups * v->packed};
    int64_t bytes = tiles * cl_pack_cols(v) * p.col;
    for (int i = 0; i < 4; i++) {
        p.nb[i] = bytes;
        bytes *= b->ext[i];
    }
    p.at = cl_temporary(r, (uint64_t)bytes);
    launch_pack(r, v, "mul_mat_pack", options, b, b->ext, &p);
    cl_size3(r, (uint64_t)tiles, 1, (uint64_t)cl_ceil(groups, CL_PACK_GROUPS), 1,
             (uint64_t)(b->ext[0] * b->ext[1] * b->ext[2] * b->ext[3]), 1);
    return p;
}

/* Where columns of `row` bytes each lie packed: a stride of 0 repeats them, so they are packed once.  ext: of what is packed.
 * Returns how many these are. */
static int64_t lay_out(const cl_columns *b, int64_t row, bool together, int64_t ext[4], cl_packed *p)
{
    int64_t columns = b->n;
    *p = (cl_packed){.col = row * (together ? b->ext[0] : 1)};
    for (int i = 0; i < 4; i++) {
        ext[i] = b->nb[i] ? b->ext[i] : 1;
        p->nb[i] = !b->nb[i] ? 0 : together && i == 0 ? row : row * columns;
        columns *= ext[i];
    }
    return columns;
}

/* Behind a column's planes, for weights with minima, a float for each 16 elements (kernels/halves.clh). */
int64_t cl_halves_column_bytes(const cl_variant *v, uint32_t type, int64_t k)
{
    const int64_t row = cl_halves_bytes(k), sums = v->planes && CL_MINIMA & CL_TYPE_BIT(type) ? row / 32 * 4 : 0;
    return cl_max(1, v->planes) * row + cl_ceil(sums, 16) * 16;
}

cl_packed cl_pack_halves(cl_recorder *r, const cl_variant *v, const char *options, uint32_t type, const cl_columns *b,
                         bool together, int64_t *scales)
{
    const int64_t row = cl_halves_column_bytes(v, type, b->k);
    cl_packed p;
    int64_t ext[4];
    const int64_t columns = lay_out(b, row, together, ext, &p);
    *scales = row * columns;
    p.at = cl_temporary(r, (uint64_t)((row + 4) * columns));
    launch_pack(r, v, "halves_columns", options, b, ext, &p);
    cl_arg_long(r, *scales);
    cl_size3(r, v->group, v->group, (uint64_t)b->n, 1, (uint64_t)(ext[0] * ext[1] * ext[2] * ext[3]), 1);
    return p;
}

enum { STEP = 16, PACK_STEPS = 4 }; /* elements that a matrix unit takes; as many of them as kernels/matrix_lanes.clh has */
int64_t cl_planes_bytes(const cl_variant *v, int64_t k, bool minima)
{
    return k / STEP * (v->planes * 2 * STEP + (minima ? 4 : 0));
}

/* A group packs v->columns columns, PACK_STEPS steps of each. */
static void launch_planes_pack(cl_recorder *r, const cl_variant *v, const char *options, const cl_columns *b, const int64_t ext[4],
                               const cl_packed *p)
{
    launch_pack(r, v, "mul_mat_pack", options, b, ext, p);
    cl_size3(r, (uint64_t)cl_ceil(b->k / STEP, PACK_STEPS) * v->group, v->group, (uint64_t)cl_ceil(b->n, v->columns), 1,
             (uint64_t)(ext[0] * ext[1] * ext[2] * ext[3]), 1);
}

cl_packed cl_pack_planes(cl_recorder *r, const cl_variant *v, const char *options, const cl_columns *b, bool minima)
{
    cl_packed p = {.col = v->columns * cl_planes_bytes(v, b->k, minima)};
    int64_t bytes = cl_ceil(b->n, v->columns) * p.col;
    for (int i = 0; i < 4; i++) {
        p.nb[i] = bytes;
        bytes *= b->ext[i];
    }
    p.at = cl_temporary(r, (uint64_t)bytes);
    launch_planes_pack(r, v, options, b, b->ext, &p);
    return p;
}

int64_t cl_gathered_bytes(const cl_variant *v, int64_t k, bool minima)
{
    return cl_ceil(cl_planes_bytes(v, k, minima), 16) * 16;
}

void cl_pack_gathered(cl_recorder *r, const cl_variant *v, const char *options, const cl_columns *b, bool minima, uint64_t at)
{
    cl_packed p;
    int64_t ext[4];
    lay_out(b, cl_gathered_bytes(v, b->k, minima), true, ext, &p);
    p.at = at;
    launch_planes_pack(r, v, options, b, ext, &p);
}

bool cl_has_halves(const cl_variant *v, const eng_tensor *a)
{
    if (v->planes && CL_BLOCKS & CL_TYPE_BIT(a->type))
        return true;
    bool whole = (a->type == ENG_TYPE_F16 || a->type == ENG_TYPE_BF16) && !a->layout && cl_ne(a, 0) % CL_HALVES_K == 0;
    for (unsigned d = 1; d < a->rank; d++)
        whole = whole && a->nb[d] % 16 == 0;
    return whole;
}
