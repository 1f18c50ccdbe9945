/*
 * The op x type matrix: a small graph of one op for every type, and the device's
 * own answer to it.  The type is that of the first operand, except for quantize,
 * where it is the result's.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "probe.h"

/* An operand: its type ('T': the one asked about, 'f' f32, 'i' i32, 0: absent), use and extents. */
typedef struct operand {
    char type;
    uint32_t use;
    int64_t ne[4];
} operand;

typedef struct op_case {
    uint32_t op;
    operand in[9];
    int64_t ip[4];
    double fp[2];
} op_case;

#define W(...) {'T', ENG_USE_WEIGHT, {__VA_ARGS__}}
#define C(...) {'T', ENG_USE_CACHE, {__VA_ARGS__}}
#define T(...) {'T', ENG_USE_INPUT, {__VA_ARGS__}}
#define F(...) {'f', ENG_USE_INPUT, {__VA_ARGS__}}
#define S(...) {'f', ENG_USE_STATE, {__VA_ARGS__}}
#define I(...) {'i', ENG_USE_INPUT, {__VA_ARGS__}}
#define TYPE_ASKED (-1) /* in ip: the type asked about */

static const op_case cases[] = {
    {ENG_OP_MUL_MAT, {W(256, 4, 1, 1), F(256, 2, 1, 1)}, {0}, {0}},
    {ENG_OP_MUL_MAT_ID, {W(256, 4, 3, 1), F(256, 1, 2, 1), I(2, 2, 1, 1)}, {0}, {0}},
    {ENG_OP_HADAMARD, {T(256, 2, 1, 1)}, {256}, {0}},
    {ENG_OP_QUANTIZE, {F(256, 2, 1, 1)}, {TYPE_ASKED}, {0}},
    {ENG_OP_DEQUANTIZE, {T(256, 2, 1, 1)}, {ENG_TYPE_F32}, {0}},
    {ENG_OP_CPY, {T(256, 2, 1, 1)}, {TYPE_ASKED}, {0}},
    {ENG_OP_STORE, {C(256, 2, 1, 1), F(256, 2, 1, 1)}, {0}, {0}},
    {ENG_OP_GATED_DELTA_NET,
     {T(64, 2, 3, 1), F(64, 2, 3, 1), F(64, 2, 3, 1), F(1, 2, 3, 1), F(2, 3, 1, 1), S(64, 64, 2, 2), I(1, 1, 1, 1),
      I(1, 1, 1, 1), I(2, 1, 1, 1)},
     {0, 1}, {0}},
    {ENG_OP_SSM_CONV,
     {T(64, 3, 1, 1), F(4, 64, 1, 1), S(3, 64, 2, 1), I(1, 1, 1, 1), I(1, 1, 1, 1), I(2, 1, 1, 1)}, {1}, {0}},
    {ENG_OP_ATTENTION, {F(256, 2, 1, 1), C(256, 8, 1, 1), C(256, 8, 1, 1), I(1, 1, 1, 1)}, {-1, 0, 1}, {1}},
    {ENG_OP_GET_ROWS, {W(256, 4, 1, 1), I(2, 1, 1, 1)}, {0}, {0}},
    {ENG_OP_SET_ROWS, {C(256, 4, 1, 1), F(256, 2, 1, 1), I(2, 1, 1, 1)}, {0}, {0}},
    {ENG_OP_RMS_NORM, {T(256, 2, 1, 1)}, {0}, {1e-6}},
    {ENG_OP_NORM, {T(256, 2, 1, 1)}, {0}, {1e-6}},
    {ENG_OP_L2_NORM, {T(256, 2, 1, 1)}, {0}, {1e-6}},
    {ENG_OP_GROUP_NORM, {T(16, 4, 4, 1)}, {2}, {1e-6}},
    {ENG_OP_ROPE, {T(256, 2, 1, 1), I(1, 1, 1, 1)}, {256}, {0}},
    {ENG_OP_SOFT_MAX, {T(256, 2, 1, 1)}, {0}, {1}},
    {ENG_OP_ADD, {T(256, 2, 1, 1), F(256, 2, 1, 1)}, {0}, {0}},
    {ENG_OP_SUB, {T(256, 2, 1, 1), F(256, 2, 1, 1)}, {0}, {0}},
    {ENG_OP_MUL, {T(256, 2, 1, 1), F(256, 2, 1, 1)}, {0}, {0}},
    {ENG_OP_DIV, {T(256, 2, 1, 1), F(256, 2, 1, 1)}, {0}, {0}},
    {ENG_OP_SCALE, {T(256, 2, 1, 1)}, {0}, {2, 1}},
    {ENG_OP_UNARY, {T(256, 2, 1, 1)}, {ENG_UNARY_SILU}, {0}},
    {ENG_OP_GLU, {T(256, 2, 1, 1), T(256, 2, 1, 1)}, {ENG_GLU_SWIGLU}, {0}},
    {ENG_OP_CONCAT, {T(256, 2, 1, 1), T(256, 2, 1, 1)}, {1}, {0}},
    {ENG_OP_REPEAT, {T(256, 2, 1, 1)}, {256, 4, 1, 1}, {0}},
    {ENG_OP_PAD, {T(256, 2, 1, 1)}, {0}, {0}},
    {ENG_OP_ARGMAX, {T(256, 2, 1, 1)}, {0}, {0}},
    {ENG_OP_TOP_K, {T(256, 2, 1, 1)}, {4}, {0}},
    {ENG_OP_SUM_ROWS, {T(256, 2, 1, 1)}, {0}, {0}},
    {ENG_OP_REBASE, {T(256, 2, 1, 1)}, {0, 4}, {0}},
};

static uint32_t declare(const op_case *c, uint32_t type, eng_store_tensor *tensors)
{
    uint32_t n = 0;
    for (; n < 9 && c->in[n].type; n++) {
        const operand *o = &c->in[n];
        tensors[n] = (eng_store_tensor){
            .size = sizeof *tensors, .rank = 4, .use = o->use, .name = "operand", .layer = -1,
            .type = o->type == 'T' ? type : o->type == 'f' ? ENG_TYPE_F32 : ENG_TYPE_I32,
        };
        memcpy(tensors[n].ne, o->ne, sizeof o->ne);
    }
    return n;
}

static bool add_op(eng_graph *graph, const op_case *c, uint32_t type, const eng_store *store, uint32_t n)
{
    eng_value in[9], x;
    int64_t ip[ENG_MAX_IPARAMS] = {0};
    double fp[ENG_MAX_FPARAMS] = {0};
    for (uint32_t i = 0; i < n; i++)
        in[i] = eng_graph_tensor(graph, 0, store, i);
    if (c->op == ENG_OP_ROPE) {
        eng_rope_params p;
        eng_rope_defaults(&p);
        p.n_dims = c->ip[0];
        x = eng_rope(graph, in[0], in[1], ENG_NO_VALUE, &p);
    } else {
        for (int i = 0; i < 4; i++)
            ip[i] = c->ip[i] == TYPE_ASKED && c->op != ENG_OP_ATTENTION ? (int64_t)type : c->ip[i];
        if (c->op == ENG_OP_REPEAT)
            for (int i = 4; i < ENG_MAX_RANK; i++)
                ip[i] = 1;
        memcpy(fp, c->fp, sizeof c->fp);
        x = eng_graph_op(graph, c->op, in, n, ip, c->op == ENG_OP_REPEAT ? ENG_MAX_RANK : 4, fp, 2, NULL);
    }
    return x >= 0 && eng_graph_seal(graph) == ENG_OK;
}

static void ask(FILE *out, eng_context *context, eng_device *device, const char *name, const op_case *c, uint32_t type)
{
    eng_store_tensor tensors[9];
    eng_store *store = NULL;
    eng_graph *graph = NULL;
    eng_support answer = ENG_SUPPORT_NO;
    char reason[256] = "";
    int result = -1;
    uint32_t n = declare(c, type, tensors);
    if (eng_graph_create(context, 0, &graph) == ENG_OK && eng_store_create(device, tensors, n, &store) == ENG_OK &&
        add_op(graph, c, type, store, n)) {
        uint32_t node = eng_graph_view(graph)->n_nodes - 1;
        int status = eng_device_supports(device, graph, node, &answer, reason, sizeof reason);
        result = status < 0 ? ENG_SUPPORT_NO : (int)answer;
        if (status < 0)
            snprintf(reason, sizeof reason, "%.250s", eng_last_error());
    }
    eng_graph_destroy(graph);
    eng_store_destroy(store);
    probe_write_cell(out, name, eng_op_get(c->op)->name, eng_type_get(type)->name, result, reason);
}

typedef struct question {
    const probe_settings *settings;
    const char *device;
} question;

static void ask_all(FILE *out, void *arg)
{
    const question *q = arg;
    eng_context *context = probe_context(q->settings, 0);
    eng_device *device;
    if (eng_device_open(context, q->device, &device) < 0) {
        probe_write_error(out, eng_last_error());
    } else {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            for (uint32_t type = 0; type < ENG_TYPE_LIMIT; type++)
                if (eng_type_get(type))
                    ask(out, context, device, q->device, &cases[i], type);
        eng_device_close(device);
    }
    fflush(out);
    eng_context_destroy(context);
}

bool probe_ops(const probe_settings *settings, const char *device, probe_report *report)
{
    question q = {settings, device};
    probe_end end;
    probe_run(settings, "asking the device", ask_all, &q, report, &end);
    probe_explain(settings, device, &end, report);
    return !report->error;
}
