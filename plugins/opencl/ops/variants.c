/* The table of variant.h, and how a row is chosen from it. */
#include "hot.h"
#include "variant.h"

#define ALL INT64_MAX

#define MUL_MAT .op = ENG_OP_MUL_MAT, .file = "mul_mat"
#define MUL_MAT_ID .op = ENG_OP_MUL_MAT_ID, .file = "mul_mat_id"
#define VEC .family = CL_VEC, .group = 1
#define SIMT(items) .family = CL_SIMT, .group = (items)
#define COLUMNS(from, to) .least = (from), .most = (to)
#define ROWS_KERNELS .kernel = "mul_mat_rows", .several = "mul_mat_several"
#define LANES(n, m) ROWS_KERNELS, .options = " -DCOLS=" #n, .rows = (m), .columns = (n)
#define TILES(n) .parts = 1, .kernel = "mul_mat_tile", .options = " -DTILES -DTILE_N=" #n, .rows = 128, .columns = (n)
#define MATRIX_TILES(n, how)                                                                                           \
    .fast = 1, .parts = 1, .kernel = "mul_mat_tile", .options = " -DTILES -DTILE_N=" #n " -DMATRIX=" #how, .rows = 128, \
    .columns = (n)
#define MATRIX_EXPERTS(n, how)                                                                                         \
    .fast = 1, .kernel = "mul_mat_id", .options = " -DTILES -DTILE_N=" #n " -DMATRIX=" #how, .rows = 128
#define PAIRS .kernel = "mul_mat_id_rows", .options = " -DCOLS=1", .rows = 4, .columns = 1
#define EXPERTS(n) .kernel = "mul_mat_id", .options = " -DTILES -DTILE_N=" #n, .rows = 128

/*
 * Of the same op and family the first that suits is taken.  Columns of mul_mat_id are tokens up to 8, then how many an
 * expert has if they are dealt out evenly.  Kernels: processors - columns.clh and wide.clh; cards - lanes.clh, tile.clh
 * and, with a matrix unit, matrix_tile.clh.
 */
static const cl_variant variants[] = {
    {"one", MUL_MAT, VEC, COLUMNS(1, 1), ROWS_KERNELS, .options = " -DONE"},
    {"columns", MUL_MAT, VEC, COLUMNS(2, 16), ROWS_KERNELS, .options = ""},
    {"tile", MUL_MAT, VEC, COLUMNS(17, ALL), .kernel = "mul_mat_tile", .options = " -DTILES", .rows = 32,
     .columns = 96},

    {"lanes1", MUL_MAT, SIMT(64), COLUMNS(1, 1), LANES(1, 4)},
    {"lanes2", MUL_MAT, SIMT(64), COLUMNS(2, 2), LANES(2, 4)},
    {"lanes4", MUL_MAT, SIMT(64), COLUMNS(3, 8), LANES(4, 2)},
    {"mma32", MUL_MAT, SIMT(256), .needs = CL_CAP_MMA, COLUMNS(9, 32), MATRIX_TILES(32, 1)},
    {"mma64", MUL_MAT, SIMT(256), .needs = CL_CAP_MMA, COLUMNS(33, 64), MATRIX_TILES(64, 1)},
    {"mma128", MUL_MAT, SIMT(256), .needs = CL_CAP_MMA, COLUMNS(65, ALL), MATRIX_TILES(128, 1)},
    {"mma-c32", MUL_MAT, SIMT(256), .needs = CL_CAP_MMA_IN_C, COLUMNS(9, 32), MATRIX_TILES(32, 2)},
    {"mma-c64", MUL_MAT, SIMT(256), .needs = CL_CAP_MMA_IN_C, COLUMNS(33, 64), MATRIX_TILES(64, 2)},
    {"mma-c128", MUL_MAT, SIMT(256), .needs = CL_CAP_MMA_IN_C, COLUMNS(65, ALL), MATRIX_TILES(128, 2)},
    {"tile32", MUL_MAT, SIMT(256), COLUMNS(9, 32), TILES(32)},
    {"tile64", MUL_MAT, SIMT(256), COLUMNS(33, 64), TILES(64)},
    {"tile128", MUL_MAT, SIMT(256), COLUMNS(65, ALL), TILES(128)},
    {"lanes4", MUL_MAT, SIMT(64), COLUMNS(9, ALL), .slow = 1, LANES(4, 2)},

    {"experts", MUL_MAT_ID, VEC, COLUMNS(1, ALL), .kernel = "mul_mat_id", .options = "", .rows = 32},

    {"lanes1", MUL_MAT_ID, SIMT(64), COLUMNS(1, 8), PAIRS},
    {"mma32", MUL_MAT_ID, SIMT(256), .needs = CL_CAP_MMA, COLUMNS(9, 32), MATRIX_EXPERTS(32, 1)},
    {"mma64", MUL_MAT_ID, SIMT(256), .needs = CL_CAP_MMA, COLUMNS(33, 64), MATRIX_EXPERTS(64, 1)},
    {"mma128", MUL_MAT_ID, SIMT(256), .needs = CL_CAP_MMA, COLUMNS(65, ALL), MATRIX_EXPERTS(128, 1)},
    {"mma-c32", MUL_MAT_ID, SIMT(256), .needs = CL_CAP_MMA_IN_C, COLUMNS(9, 32), MATRIX_EXPERTS(32, 2)},
    {"mma-c64", MUL_MAT_ID, SIMT(256), .needs = CL_CAP_MMA_IN_C, COLUMNS(33, 64), MATRIX_EXPERTS(64, 2)},
    {"mma-c128", MUL_MAT_ID, SIMT(256), .needs = CL_CAP_MMA_IN_C, COLUMNS(65, ALL), MATRIX_EXPERTS(128, 2)},
    {"tile32", MUL_MAT_ID, SIMT(256), COLUMNS(9, 32), EXPERTS(32)},
    {"tile64", MUL_MAT_ID, SIMT(256), COLUMNS(33, 64), EXPERTS(64)},
    {"tile128", MUL_MAT_ID, SIMT(256), COLUMNS(65, ALL), EXPERTS(128)},
    {"lanes1", MUL_MAT_ID, SIMT(64), COLUMNS(9, ALL), .slow = 1, PAIRS},
};

static bool suits(const cl_variant *v, const cl_device *device, const eng_node *node, const eng_tensor *matrix,
                  int64_t columns)
{
    return v->op == node->op && (v->family == CL_VEC) == device->vec && !(v->needs & ~device->caps) &&
           v->group <= device->max_group && columns >= v->least && columns <= v->most &&
           (!v->fast || node->precision != ENG_PRECISION_EXACT) && (!v->types || v->types & CL_TYPE_BIT(matrix->type));
}

const cl_variant *cl_variant_find(const cl_device *device, const eng_node *node, const eng_tensor *matrix,
                                  int64_t columns)
{
    columns = cl_max(1, columns); /* of a result that is empty, nothing is launched */
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (suits(&variants[i], device, node, matrix, columns))
            return &variants[i];
    return NULL;
}

void cl_variant_options(const cl_variant *v, const eng_tensor *matrix, uint32_t b, char options[CL_OPTIONS + 64])
{
    char own[CL_OPTIONS];
    cl_matrix_options(matrix, own);
    snprintf(options, CL_OPTIONS + 64, "%s -DBT=%s%s", own, cl_type_name(b), v->options);
}

/* On processors: in multiples of 4, several work-items for every compute unit, but none that reads less than 16 KiB if
 * that can be had with 64 rows: that takes less time than another thread does to wake. */
int64_t cl_variant_rows(const cl_device *device, const cl_variant *v, int64_t rows, uint64_t row_bytes)
{
    if (v->rows)
        return v->rows;
    const int64_t least = cl_max(4, 16384 / cl_max(1, (int64_t)row_bytes) & ~(int64_t)3);
    return cl_min(64, cl_max(least, rows / (8 * (int64_t)device->compute_units) & ~(int64_t)3));
}
