/*
 * y = x converted to y's type: what quantize, dequantize, cpy and store have in
 * common.  Equal types are copied bit by bit, floats and blocks go through f32,
 * integers through their own kernel.
 */
#include "hot.h"
#include "stream.h"
#include "variant.h"

eng_support cl_convert_supports(cl_device *device, const eng_tensor *x, const eng_tensor *y, char *reason, size_t bytes)
{
    (void)device;
    if (x->type == y->type || cl_is_index(x->type) || cl_is_index(y->type) || cl_encodes(y->type))
        return ENG_SUPPORT_YES;
    return cl_no(reason, bytes, "%s can be read, but not encoded", cl_type_name(y->type));
}

/* Parameters of one launch that all kernels of cpy.cl share. */
static void shared_args(cl_recorder *r, const cl_walk *part, int64_t n, int64_t x_step, int64_t y_step)
{
    for (unsigned i = 0; i < 2; i++)
        cl_arg_walk(r, part, i);
    cl_arg_long(r, n);
    cl_arg_long(r, x_step);
    cl_arg_long(r, y_step);
    cl_arg_long4(r, &part->ne[1]);
    cl_arg_long4(r, &part->nb[0][1]);
    cl_arg_long4(r, &part->nb[1][1]);
}

static int64_t rows_of(const cl_walk *part)
{
    return part->ne[1] * part->ne[2] * part->ne[3] * part->ne[4];
}

static const cl_variant *variant(const cl_recorder *r, int64_t kind)
{
    return cl_variant_of(r->device, ENG_OP_CPY, kind);
}

/* Of `n` elements in `units`, which the variant deals out. */
static void launch_args(cl_recorder *r, const cl_walk *part, const cl_variant *v, int64_t n, const int64_t step[2],
                        int64_t units)
{
    shared_args(r, part, n, step[0], step[1]);
    cl_size2(r, cl_ceil(units, v->columns), v->group, rows_of(part), 1);
}

static const char *number_name(uint32_t type)
{
    return type == ENG_TYPE_I32 ? "int" : type == ENG_TYPE_I64 ? "long" : "float";
}

static void launch_numbers(cl_recorder *r, const cl_walk *part, const eng_tensor *x, const eng_tensor *y)
{
    const char *to = number_name(y->type);
    const cl_variant *v = variant(r, CL_CONVERT_NUMBERS);
    const int64_t n = part->ne[0];
    char options[160];
    /* to integers: truncated, out of range to the nearest that there is */
    const char *how = y->type == ENG_TYPE_F32 ? "" : x->type == ENG_TYPE_F32 ? "_sat_rtz" : "_sat";
    snprintf(options, sizeof options, "-DXI=%s -DYI=%s -DTO=convert_%s%s -DPER=%d -DLOCAL=%zu",
             number_name(x->type), to, to, how, (int)v->columns, v->group);
    cl_launch_variant(r, v, v->kernel, options);
    launch_args(r, part, v, n, (int64_t[2]){cl_nb(x, 0), cl_nb(y, 0)}, n);
}

static void launch_same(cl_recorder *r, const cl_walk *part, const eng_tensor *x, const eng_tensor *y)
{
    const int64_t bytes = cl_type_bytes(x->type), block = cl_type_block(x->type);
    const int64_t unit = block > 1 ? (bytes & 1 ? 1 : 2) : bytes;
    const int64_t n = cl_ceil(part->ne[0], block) * bytes / unit;
    const cl_variant *v = variant(r, CL_CONVERT_SAME);
    char options[96];
    snprintf(options, sizeof options, "-DUNIT=%s -DPER=%d -DLOCAL=%zu%s",
             unit == 1 ? "uchar" : unit == 2 ? "ushort" : unit == 4 ? "uint" : "ulong", (int)v->columns, v->group,
             cl_stream_option(r, part, 1));
    cl_launch_variant(r, v, v->kernel, options);
    launch_args(r, part, v, n, (int64_t[2]){block > 1 ? unit : cl_nb(x, 0), block > 1 ? unit : cl_nb(y, 0)}, n);
}

static void launch_blocks(cl_recorder *r, const cl_walk *part, const eng_tensor *x, const eng_tensor *y, bool search)
{
    const cl_variant *v = variant(r, CL_CONVERT_BLOCKS);
    const int64_t n = part->ne[0];
    char options[64];
    snprintf(options, sizeof options, "-DANY -DPER=%d -DLOCAL=%zu", (int)v->columns, v->group);
    cl_launch_variant(r, v, v->kernel, options);
    launch_args(r, part, v, n, (int64_t[2]){0, 0}, cl_ceil(n, 32));
    cl_arg_int(r, (int32_t)x->type);
    cl_arg_int(r, search && y->type == ENG_TYPE_IQ4_NL ? 120 : (int32_t)y->type);
}

/* On cards: rows of floats, long enough for a group, to rows of other floats. */
enum { FLAT_FOURS = 8, FLAT_LEAST = 512 };

static void launch_flat(cl_recorder *r, const cl_walk *part, const cl_variant *v, const eng_tensor *x,
                        const eng_tensor *y)
{
    const int64_t n = part->ne[0];
    char options[96];
    snprintf(options, sizeof options, "-DCONVERT -DFLAT -DXT=%s -DYT=%s -DFOURS=%d -DLOCAL=%zu", cl_type_name(x->type),
             cl_type_name(y->type), FLAT_FOURS, v->group);
    cl_launch_variant(r, v, "cpy_flat", options);
    shared_args(r, part, n, cl_nb(x, 0), cl_nb(y, 0));
    cl_size2(r, cl_ceil(n, 4 * FLAT_FOURS), v->group, rows_of(part), 1);
}

/* Floats to blocks, blocks to floats, floats to floats. */
static void launch_floats(cl_recorder *r, const cl_walk *part, const eng_tensor *x, const eng_tensor *y, const char *search)
{
    const cl_variant *v = variant(r, CL_CONVERT_FLOATS);
    const int64_t n = part->ne[0], blocks = cl_ceil(n, 32);
    char options[160];
    if (v->parts && n >= FLAT_LEAST && cl_is_float(x->type) && cl_is_float(y->type) && cl_rows_contiguous(x) &&
        cl_rows_contiguous(y)) {
        launch_flat(r, part, v, x, y);
        return;
    }
    int at = snprintf(options, sizeof options, "-DCONVERT -DXT=%s -DYT=%s%s -DPER=%d -DLOCAL=%zu", cl_type_name(x->type),
                      cl_type_name(y->type), search, (int)v->columns, v->group);
    if (v->parts)
        snprintf(options + at, sizeof options - (size_t)at, " -DYB=%d%s",
                 cl_is_float(y->type) ? 0 : (int)(cl_type_bytes(y->type) * 32 / cl_type_block(y->type)),
                 cl_is_float(x->type) ? "" : " -DX_BLOCKS");
    else
        snprintf(options + at, sizeof options - (size_t)at, "%s%s", cl_rows_contiguous(x) ? "" : " -DSTRIDED_X",
                 !cl_rows_contiguous(y) ? " -DSTRIDED_Y" : cl_is_float(y->type) ? cl_stream_option(r, part, 1) : "");
    cl_launch_variant(r, v, v->kernel, options);
    if (!v->parts) {
        launch_args(r, part, v, n, (int64_t[2]){cl_nb(x, 0), cl_nb(y, 0)}, blocks);
        return;
    }
    shared_args(r, part, n, cl_nb(x, 0), cl_nb(y, 0));
    cl_size1(r, (uint64_t)(blocks * rows_of(part)), v->group);
}

/* Floats or blocks to blocks of 256. */
static void launch_grouped(cl_recorder *r, const cl_walk *part, const eng_tensor *x, const eng_tensor *y)
{
    const cl_variant *v = variant(r, CL_CONVERT_GROUPED);
    const int64_t n = part->ne[0];
    char options[160];
    int at = snprintf(options, sizeof options, "-DGROUPED -DYT=%s -DPER=%d -DLOCAL=%zu", cl_type_name(y->type),
                      (int)v->columns, v->group);
    if (cl_is_float(x->type))
        snprintf(options + at, sizeof options - (size_t)at, " -DXT=%s%s", cl_type_name(x->type),
                 cl_rows_contiguous(x) ? "" : " -DSTRIDED_X");
    else
        snprintf(options + at, sizeof options - (size_t)at, " -DANY");
    cl_launch_variant(r, v, v->kernel, options);
    const int64_t unit = v->rows ? v->rows : cl_group_elements(y->type);
    launch_args(r, part, v, n, (int64_t[2]){cl_nb(x, 0), 0}, cl_ceil(n, unit));
    if (!cl_is_float(x->type)) {
        cl_arg_int(r, (int32_t)x->type);
        cl_arg_int(r, (int32_t)y->type);
    }
}

static void launch(cl_recorder *r, const cl_walk *part, void *ctx)
{
    const eng_tensor *x = eng_subgraph_tensor(r->graph, part->tensor[0]);
    const eng_tensor *y = eng_subgraph_tensor(r->graph, part->tensor[1]);

    if (x->type == y->type) {
        launch_same(r, part, x, y);
        return;
    }
    if (cl_is_index(x->type) || cl_is_index(y->type)) {
        launch_numbers(r, part, x, y);
        return;
    }
    if (cl_encodes_256(y->type)) {
        launch_grouped(r, part, x, y);
        return;
    }
    if (!cl_is_float(x->type) && !cl_is_float(y->type)) {
        launch_blocks(r, part, x, y, *(const bool *)ctx);
        return;
    }
    launch_floats(r, part, x, y, *(const bool *)ctx && y->type == ENG_TYPE_IQ4_NL ? "_search" : "");
}

int cl_convert_record(cl_recorder *r, int32_t x, int32_t y, bool search)
{
    const eng_tensor *t = eng_subgraph_tensor(r->graph, y);
    cl_walk w;
    if (cl_elements(t) == 0)
        return r->status;
    cl_walk_begin(&w, t);
    cl_walk_add(&w, r->graph, x);
    cl_walk_add(&w, r->graph, y);
    w.elements = cl_type_block(eng_subgraph_tensor(r->graph, x)->type) == 1 && cl_type_block(t->type) == 1;
    cl_walk_join(&w, 1);
    return cl_walk_run(r, &w, 5, launch, &search);
}
