/*
 * y = x converted to y's type: what quantize, dequantize, cpy and store have in
 * common.  Equal types are copied bit by bit, floats and blocks go through f32,
 * integers through their own kernel.
 */
#include "hot.h"

eng_support cl_convert_supports(cl_device *device, const eng_tensor *x, const eng_tensor *y, char *reason, size_t bytes)
{
    (void)device;
    if (x->type == y->type || cl_is_index(x->type) || cl_is_index(y->type) || cl_encodes(y->type))
        return ENG_SUPPORT_YES;
    return cl_no(reason, bytes, "the opencl plugin cannot encode %s (the cpu plugin can)", cl_type_name(y->type));
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

static void launch_args(cl_recorder *r, const cl_walk *part, int64_t n, int64_t x_step, int64_t y_step, int64_t items)
{
    shared_args(r, part, n, x_step, y_step);
    cl_size2(r, items, cl_group(r->device), rows_of(part), 1);
}

static const char *number_name(uint32_t type)
{
    return type == ENG_TYPE_I32 ? "int" : type == ENG_TYPE_I64 ? "long" : "float";
}

static void launch_numbers(cl_recorder *r, const cl_walk *part, const eng_tensor *x, const eng_tensor *y)
{
    const char *to = number_name(y->type);
    const int64_t n = part->ne[0], per = r->device->vec ? 1024 : 1;
    char options[160];
    /* to integers: truncated, out of range to the nearest that there is */
    const char *how = y->type == ENG_TYPE_F32 ? "" : x->type == ENG_TYPE_F32 ? "_sat_rtz" : "_sat";
    snprintf(options, sizeof options, "-DXI=%s -DYI=%s -DTO=convert_%s%s -DPER=%d -DLOCAL=%zu",
             number_name(x->type), to, to, how, (int)per, cl_group(r->device));
    cl_launch(r, "cpy", "cpy_number", options);
    launch_args(r, part, n, cl_nb(x, 0), cl_nb(y, 0), cl_ceil(n, per));
}

static void launch_same(cl_recorder *r, const cl_walk *part, const eng_tensor *x, const eng_tensor *y)
{
    const int64_t bytes = cl_type_bytes(x->type), block = cl_type_block(x->type);
    const int64_t unit = block > 1 ? (bytes & 1 ? 1 : 2) : bytes;
    const int64_t n = cl_ceil(part->ne[0], block) * bytes / unit, per = r->device->vec ? 4096 : 4;
    char options[96];
    snprintf(options, sizeof options, "-DUNIT=%s -DPER=%d -DLOCAL=%zu",
             unit == 1 ? "uchar" : unit == 2 ? "ushort" : unit == 4 ? "uint" : "ulong", (int)per, cl_group(r->device));
    cl_launch(r, "cpy", "cpy_same", options);
    launch_args(r, part, n, block > 1 ? unit : cl_nb(x, 0), block > 1 ? unit : cl_nb(y, 0), cl_ceil(n, per));
}

static void launch_blocks(cl_recorder *r, const cl_walk *part, const eng_tensor *x, const eng_tensor *y, bool search)
{
    const int64_t n = part->ne[0], per = r->device->vec ? 64 : 1;
    char options[64];
    snprintf(options, sizeof options, "-DANY -DPER=%d -DLOCAL=%zu", (int)per, cl_group(r->device));
    cl_launch(r, "cpy", "cpy_any", options);
    launch_args(r, part, n, 0, 0, cl_ceil(cl_ceil(n, 32), per));
    cl_arg_int(r, (int32_t)x->type);
    cl_arg_int(r, search && y->type == ENG_TYPE_IQ4_NL ? 120 : (int32_t)y->type);
}

static void launch(cl_recorder *r, const cl_walk *part, void *ctx)
{
    const eng_tensor *x = eng_subgraph_tensor(r->graph, part->tensor[0]);
    const eng_tensor *y = eng_subgraph_tensor(r->graph, part->tensor[1]);
    const int64_t n = part->ne[0], blocks = cl_ceil(n, 32), per = 64;
    char options[160];

    if (x->type == y->type) {
        launch_same(r, part, x, y);
        return;
    }
    if (cl_is_index(x->type) || cl_is_index(y->type)) {
        launch_numbers(r, part, x, y);
        return;
    }
    if (!cl_is_float(x->type) && !cl_is_float(y->type)) {
        launch_blocks(r, part, x, y, *(const bool *)ctx);
        return;
    }
    const char *search = *(const bool *)ctx && y->type == ENG_TYPE_IQ4_NL ? "_search" : "";
    if (!r->device->vec) {
        const int bytes = cl_is_float(y->type) ? 0 : (int)cl_type_bytes(y->type);
        snprintf(options, sizeof options, "-DCONVERT -DXT=%s -DYT=%s%s -DYB=%d -DPER=1 -DLOCAL=%zu%s",
                 cl_type_name(x->type), cl_type_name(y->type), search, bytes, cl_group(r->device),
                 cl_is_float(x->type) ? "" : " -DX_BLOCKS");
        cl_launch(r, "cpy", "cpy_convert", options);
        shared_args(r, part, n, cl_nb(x, 0), cl_nb(y, 0));
        cl_size1(r, (uint64_t)(blocks * rows_of(part)), cl_group(r->device));
        return;
    }
    snprintf(options, sizeof options, "-DCONVERT -DXT=%s -DYT=%s%s -DPER=%d -DLOCAL=%zu%s%s", cl_type_name(x->type),
             cl_type_name(y->type), search, (int)per, cl_group(r->device), cl_rows_contiguous(x) ? "" : " -DSTRIDED_X",
             cl_rows_contiguous(y) ? "" : " -DSTRIDED_Y");
    cl_launch(r, "cpy", "cpy_convert", options);
    launch_args(r, part, n, cl_nb(x, 0), cl_nb(y, 0), cl_ceil(blocks, per));
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
