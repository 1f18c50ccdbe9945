/* Random programs for people. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "program.h"

typedef struct printer {
    eng_emit_func emit;
    void *ctx;
} printer;

static void say(const printer *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const printer *o, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    o->emit(o->ctx, text);
}

static void shape(const printer *o, uint32_t type, const int64_t *ne)
{
    int rank = ENG_MAX_RANK;

    while (rank > 1 && ne[rank - 1] == 1)
        rank--;
    say(o, " %s [", eng_type_get(type)->name);
    for (int d = 0; d < rank; d++)
        say(o, "%s%" PRId64, d ? ", " : "", ne[d]);
    say(o, "]");
}

static void axes(const printer *o, const pg_dim *dims)
{
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        for (uint32_t s = 0; s < dims[d].n_segs; s++) {
            if (s)
                say(o, " |");
            else
                say(o, ", dim %d:", d);
            for (uint32_t f = 0; f < dims[d].segs[s].n; f++)
                say(o, " %s%s%" PRId64, dims[d].segs[s].axis[f] ? pg_axes[dims[d].segs[s].axis[f] - 1].name : "",
                    dims[d].segs[s].axis[f] ? "=" : "", dims[d].segs[s].extent[f]);
        }
    }
}

static void placement(const printer *o, const pg_place *p)
{
    switch (p->kind) {
    case ENG_PLACE_REPLICATED: say(o, ", placed: replicated"); break;
    case ENG_PLACE_SHARDED: say(o, ", placed: sharded along %s", pg_axes[p->axis].name); break;
    case ENG_PLACE_PARTIAL: say(o, ", placed: partial"); break;
    case ENG_PLACE_SINGLE:
        if (p->device < 0)
            say(o, ", placed: on guest %d", -p->device);
        else
            say(o, ", placed: on leaf %d", p->device);
        break;
    default: break;
    }
}

static void print_tensor(const printer *o, uint32_t i, const pg_tensor *t)
{
    static const char *const uses[] = {"", "weight", "cache", "state", "input", "output"};
    static const char *const kept[] = {"", ", kept whole", ", kept on one rank", ", kept on a guest", ", split along "};

    say(o, "t%u: %s", (unsigned)i, uses[t->use & ENG_USE_MASK]);
    shape(o, t->type, t->ne);
    axes(o, t->dims);
    say(o, "%s%s%s", kept[t->forced], t->forced == 4 ? pg_axes[t->axis].name : "", t->store ? ", second store" : "");
    placement(o, &t->place);
    say(o, "\n");
}

static void reference(const printer *o, int ref)
{
    if (ref == -1)
        say(o, "none");
    else if (ref < 0)
        say(o, "t%d", -2 - ref);
    else if (ref >= PG_SECOND)
        say(o, "v%d'", ref - PG_SECOND);
    else
        say(o, "v%d", ref);
}

static void print_op(const printer *o, uint32_t k, const pg_op *op)
{
    say(o, "v%u = %s(", (unsigned)k, eng_op_get(op->op)->name);
    for (uint32_t i = 0; i < op->n_in; i++) {
        say(o, i ? ", " : "");
        reference(o, op->in[i]);
    }
    for (uint32_t i = 0; i < op->n_ip; i++)
        say(o, "%s%" PRId64, i ? " " : "; ", op->ip[i]);
    for (uint32_t i = 0; i < op->n_fp; i++)
        say(o, "%s%g", i ? " " : "; ", op->fp[i]);
    say(o, ")");
    for (int r = 0; r < 2; r++)
        if (op->out_type[r] != ENG_TYPE_LIMIT)
            shape(o, op->out_type[r], op->out_ne[r]);
    if (op->named)
        axes(o, op->dims);
    placement(o, &op->place);
    say(o, "\n");
}

void pg_print(const pg_program *p, eng_emit_func emit, void *ctx)
{
    printer o = {emit, ctx};

    for (uint32_t i = 0; i < p->n_tensors; i++)
        print_tensor(&o, i, &p->tensors[i]);
    for (uint32_t k = 0; k < p->n_ops; k++)
        if (p->ops[k].op != ENG_OP_NONE)
            print_op(&o, k, &p->ops[k]);
    if (p->twice)
        say(&o, "the first store bound in two slots, used in turns\n");
    if (p->runs > 1)
        say(&o, "submitted %u times\n", (unsigned)p->runs);
}
