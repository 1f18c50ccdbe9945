/*
 * The op x type matrix: the small graph of one op that its row in the op table describes,
 * for every type, and the device's own answer to it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "libengine/util/util.h"
#include "probe.h"

/* Weights come in all types; what is written in place is no input. */
static uint32_t use_of(const eng_rule_operand *operand)
{
    return operand->inout ? ENG_USE_STATE : operand->types >> ENG_TYPE_Q8_0 & 1 ? ENG_USE_WEIGHT : ENG_USE_INPUT;
}

/* The operands that are present, and which they are. */
static uint32_t declare(const eng_op_info *op, uint32_t type, eng_store_tensor *tensors, uint32_t *operand)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < op->n_in; i++) {
        tensors[n] = (eng_store_tensor){.size = sizeof *tensors, .rank = 4, .use = use_of(&op->in[i]),
                                        .name = "operand", .layer = -1};
        operand[n] = i;
        n += eu_row_sample_operand(op, i, type, tensors[n].ne, &tensors[n].type);
    }
    return n;
}

static bool add_op(eng_graph *graph, const eng_op_info *op, uint32_t type, const eng_store *store,
                   const uint32_t *operand, uint32_t n)
{
    eng_value in[ENG_MAX_INPUTS];
    int64_t ip[ENG_MAX_IPARAMS];
    double fp[ENG_MAX_FPARAMS];
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++)
        in[i] = ENG_NO_VALUE;
    for (uint32_t i = 0; i < n; i++)
        in[operand[i]] = eng_graph_tensor(graph, 0, store, i);
    eu_row_sample_params(op, type, ip, fp);
    return eng_graph_op(graph, op->op, in, op->n_in, ip, op->n_ip, fp, op->n_fp, NULL) >= 0 &&
           eng_graph_seal(graph) == ENG_OK;
}

static void ask(FILE *out, eng_context *context, eng_device *device, const char *name, const eng_op_info *op,
                uint32_t type)
{
    eng_store_tensor tensors[ENG_MAX_INPUTS];
    uint32_t operand[ENG_MAX_INPUTS];
    eng_store *store = NULL;
    eng_graph *graph = NULL;
    eng_support answer = ENG_SUPPORT_NO;
    char reason[256] = "";
    int result = -1;
    uint32_t n = declare(op, type, tensors, operand);
    if (eng_graph_create(context, 0, &graph) == ENG_OK && eng_store_create(device, tensors, n, &store) == ENG_OK &&
        add_op(graph, op, type, store, operand, n)) {
        uint32_t node = eng_graph_view(graph)->n_nodes - 1;
        int status = eng_device_supports(device, graph, node, &answer, reason, sizeof reason);
        result = status < 0 ? ENG_SUPPORT_NO : (int)answer;
        if (status < 0)
            snprintf(reason, sizeof reason, "%.250s", eng_last_error());
    }
    eng_graph_destroy(graph);
    eng_store_destroy(store);
    probe_write_cell(out, name, op->name, eng_type_get(type)->name, result, reason);
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
        probe_write_error(out);
    } else {
        for (uint32_t i = 1; i < ENG_OP_LIMIT; i++) {
            const eng_op_info *op = eng_op_get(i);
            for (uint32_t type = 0; type < ENG_TYPE_LIMIT && op && !(op->flags & (ENG_OPF_VIEW | ENG_OPF_BARRIER));
                 type++)
                if (eng_type_get(type))
                    ask(out, context, device, q->device, op, type);
        }
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
