/*
 * Every op that the op table gives an expression of, unary and glu: a kernel around the
 * function.  An op of one operand is one of two that are the same.
 */
#include "each.h"
#include "rows.h"
#include "stream.h"

const char *cl_each_expression(const eng_node *node)
{
    static const char *const ops[ENG_OP_LIMIT] = {
#define ENG_OP_EACH(id, number, name, rule, types, linear, flags, params, work, expression, ...) [number] = #expression,
#include <engine/ops.def>
    };
    static const char *const unary[ENG_UNARY_LIMIT] = {
#define ENG_UNARY(id, number, name, flags, expression, doc) [number] = #expression,
#include <engine/ops.def>
    };
    static const char *const glu[ENG_GLU_KINDS] = {
#define ENG_GLU(id, number, name, expression, doc) [number] = #expression,
#include <engine/ops.def>
    };
    return node->op == ENG_OP_UNARY ? unary[node->ip[ENG_UNARY_KIND]]
           : node->op == ENG_OP_GLU ? glu[node->ip[ENG_GLU_KIND]]
                                    : ops[node->op];
}

int cl_each_function(char *text, size_t room, const char *name, const char *expression)
{
    return snprintf(text, room,
                    "#include \"each.clh\"\n"
                    "#define EACH_T float\n"
                    "static inline float %s_float(float x, float y, float p, float q) { return %s; }\n"
                    "#undef EACH_T\n"
                    "#if VEC\n"
                    "#define EACH_T float16\n"
                    "static inline float16 %s_float16(float16 x, float16 y, float p, float q) { return %s; }\n"
                    "#undef EACH_T\n"
                    "#endif\n",
                    name, expression, name, expression);
}

void cl_epilogue_text(const eng_node *epilogue, char text[CL_EPILOGUE_TEXT])
{
    text[0] = '\0';
    if (!epilogue)
        return;
    const int n = cl_each_function(text, CL_EPILOGUE_TEXT, "last", cl_each_expression(epilogue));
    snprintf(text + n, CL_EPILOGUE_TEXT - (size_t)n, "#define EPILOGUE(T, v) last_##T(v, v, 0.0f, 0.0f)\n");
}

static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    bool dense = w->ne[0] == 1 || w->nb[0][0] == 4, same = w->ne[0] == 1 || w->nb[1][0] == 4, one = w->nb[1][0] == 0;
    char options[32] = "-DANY=1";
    if (dense && (same || one))
        snprintf(options, sizeof options, "%s%s", same ? "" : "-DONE=1", cl_stream_option(r, w, 2));
    cl_launch_with(r, "each", "each", options, ctx);
    for (unsigned i = 0; i < 3; i++)
        cl_arg_walk(r, w, i);
    cl_arg_extents(r, w);
    for (unsigned i = 0; i < 3; i++)
        cl_arg_strides(r, w, i);
    cl_arg_float(r, (float)r->node->fp[0]);
    cl_arg_float(r, (float)r->node->fp[1]);
    cl_each(r, w);
}

/* Both operands are rows of half the length, the second half further on. */
static void take_halves(cl_walk *w, const eng_tensor *a, bool swapped)
{
    int64_t half = w->ne[0] * a->nb[0];
    for (unsigned i = 0; i < 2; i++) {
        w->row_bytes[i] = w->ne[0] > 0 ? (uint64_t)((w->ne[0] - 1) * a->nb[0]) + 4 : 0;
        w->nb[i][0] = a->nb[0];
        w->offset[i] = (i == 1) != swapped ? (uint64_t)half : 0;
    }
}

static int record(cl_recorder *r, const eng_node *node)
{
    char function[1024];
    bool halves = node->op == ENG_OP_GLU && node->in[1] < 0;
    cl_walk w;
    cl_each_function(function, sizeof function, "f", cl_each_expression(node));
    cl_walk_begin(&w, cl_out(r->graph, node, 0));
    cl_walk_add(&w, r->graph, node->in[0]);
    cl_walk_add(&w, r->graph, node->in[1] >= 0 ? node->in[1] : node->in[0]);
    cl_walk_add(&w, r->graph, node->out[0]);
    if (halves)
        take_halves(&w, cl_in(r->graph, node, 0), node->ip[ENG_GLU_SWAPPED] != 0);
    w.elements = !halves;
    cl_walk_flatten(r, &w);
    return cl_walk_run(r, &w, 4, part, function);
}

#define ENG_OP_EACH(id, number, name, ...) const cl_op cl_op_##name = {.record = record};
#include <engine/ops.def>
const cl_op cl_op_unary = {.record = record};
const cl_op cl_op_glu = {.record = record};
