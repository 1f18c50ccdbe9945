/* Sizes of the kernels that treat every element or every row alike. */
#include "rows.h"

#include <stdarg.h>

enum { CHUNK = 4096, MOST_EACH = 8 }; /* columns that a work-item does: of family vec at once, of simt at most */

void cl_arg_extents(cl_recorder *r, const cl_walk *part)
{
    cl_arg_long4(r, part->ne);
}

void cl_arg_strides(cl_recorder *r, const cl_walk *part, unsigned i)
{
    cl_arg_long4(r, part->nb[i]);
}

static uint64_t rows_of(const cl_walk *part)
{
    return (uint64_t)part->ne[1] * (uint64_t)part->ne[2] * (uint64_t)part->ne[3];
}

/* Rows that one work-item does, so that there are a few work-items for each
 * compute unit, none of which is too small to be worth its start. */
static int64_t rows_each(const cl_device *device, uint64_t rows, uint64_t columns)
{
    uint64_t least = columns ? 2048 / columns + 1 : rows, share = rows / (8u * device->compute_units) + 1;
    uint64_t each = share > least ? share : least;
    return (int64_t)(each < rows ? each : rows ? rows : 1);
}

void cl_each(cl_recorder *r, const cl_walk *part)
{
    uint64_t rows = rows_of(part), columns = (uint64_t)part->ne[0];
    if (r->device->vec) {
        uint64_t chunk = CHUNK, least = columns / (4u * r->device->compute_units) / 16 * 16;
        if (least > chunk)
            chunk = least;
        int64_t each = rows_each(r->device, rows, columns < chunk ? columns : chunk);
        cl_arg_int(r, (int32_t)(chunk < INT32_MAX ? chunk : INT32_MAX / 16 * 16));
        cl_arg_int(r, (int32_t)each);
        cl_size2(r, (columns + chunk - 1) / chunk, 1, (rows + (uint64_t)each - 1) / (uint64_t)each, 1);
        return;
    }
    size_t group = cl_group_of(r->device), width = columns >= 64 ? 64 : columns >= 8 ? 8 : 1;
    width = width < group ? width : group;
    /* Several columns a work-item where there are plenty: what leads to a row's first is worked out once for them. */
    const uint64_t items = 4096u * r->device->compute_units / (rows ? rows : 1) + 1, each = columns / items + 1;
    cl_arg_int(r, 1);
    cl_arg_int(r, 1);
    cl_size2(r, columns / (each < MOST_EACH ? each : MOST_EACH) + 1, width, rows, group / width);
}

size_t cl_group_of(const cl_device *device)
{
    size_t n = 128;
    while (n > device->max_group)
        n /= 2;
    return n;
}

void cl_each_row(cl_recorder *r, const cl_walk *part)
{
    uint64_t rows = rows_of(part);
    if (r->device->vec) {
        int64_t each = rows_each(r->device, rows, (uint64_t)part->ne[0]);
        cl_arg_int(r, (int32_t)each);
        cl_size1(r, (rows + (uint64_t)each - 1) / (uint64_t)each, 1);
        return;
    }
    size_t group = cl_group_of(r->device);
    cl_arg_int(r, 1);
    cl_size1(r, rows * group, group);
}

const char *cl_row_options(const cl_device *device, char *text, size_t bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, bytes, format, args);
    va_end(args);
    if (!device->vec && n >= 0 && (size_t)n < bytes)
        snprintf(text + n, bytes - (size_t)n, " -DGROUP=%zu", cl_group_of(device));
    return text;
}

static void row_part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    const char *kernel = *(const char *const *)ctx;
    char options[64];
    cl_launch(r, kernel, kernel, cl_row_options(r->device, options, sizeof options, " "));
    cl_arg_walk(r, w, 0);
    cl_arg_walk(r, w, 1);
    cl_arg_extents(r, w);
    cl_arg_strides(r, w, 0);
    cl_arg_strides(r, w, 1);
    cl_each_row(r, w);
}

int cl_rows_record(cl_recorder *r, const eng_node *node, const char *kernel)
{
    cl_walk w;
    cl_walk_begin(&w, cl_in(r->graph, node, 0));
    cl_walk_add(&w, r->graph, node->in[0]);
    cl_walk_add(&w, r->graph, node->out[0]);
    cl_walk_join(&w, 1);
    return cl_walk_run(r, &w, 4, row_part, &kernel);
}

eng_support cl_whole_supports(cl_device *device, const eng_subgraph *g, const eng_node *node, unsigned from, unsigned to,
                              char *reason, size_t bytes)
{
    for (unsigned i = from; i <= to; i++) {
        const eng_tensor *t = cl_in(g, node, i);
        cl_split s;
        if (t && (cl_split_of(device, g, t, &s) != ENG_OK || s.n > 1))
            return cl_no(reason, bytes, "'%s' does not fit one allocation of %llu bytes; raise opencl.max_alloc", t->name,
                         (unsigned long long)device->max_alloc);
    }
    return ENG_SUPPORT_YES;
}
