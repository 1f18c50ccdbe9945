/* What the plugin can run: all that the op's row accepts. */
#include "config.h"

#include <stdio.h>

#include "../cpu.h"
#include "libengine/util/util.h"

bool cpu_idle(const eng_op_info *info)
{
    return (info->flags & (ENG_OPF_VIEW | ENG_OPF_BARRIER)) != 0;
}

/* Is what the op writes of a type that has an encoder, or the same as what it reads? */
static bool encodes(const eng_subgraph *graph, const eng_node *node, char *why, size_t room)
{
    const eng_tensor *from, *to;
    switch (node->op) {
    case ENG_OP_QUANTIZE:
    case ENG_OP_CPY:
        from = eng_subgraph_tensor(graph, node->in[0]);
        to = eng_subgraph_tensor(graph, node->out[0]);
        break;
    case ENG_OP_SET_ROWS:
    case ENG_OP_STORE:
        to = eng_subgraph_tensor(graph, node->in[0]);
        from = eng_subgraph_tensor(graph, node->in[1]);
        break;
    default: return true;
    }
    if (!from || !to || from->type == to->type || !eu_type_decoded_only(to->type))
        return true;
    snprintf(why, room, "%s is a type that is decoded and not encoded; choose another, as iq4_xs or q2_K",
             cpu_type(to->type)->name);
    return false;
}

int cpu_supports(eng_device_state *device, const eng_subgraph *graph, uint32_t number, eng_support *answer,
                 char *reason, size_t reason_bytes)
{
    const eng_node *node = eng_subgraph_node(graph, number);
    const eng_op_info *info = device->services->op_info(device->host, node->op);
    char why[256] = "";
    bool good = info != NULL && (cpu_idle(info) || device->variant->ops[node->op] != NULL);
    if (!good)
        snprintf(why, sizeof why, "op %u is unknown to the cpu plugin", (unsigned)node->op);
    else if (!cpu_idle(info))
        good = eu_row_accepts(info, graph, node, why, sizeof why) && encodes(graph, node, why, sizeof why);
    *answer = good ? ENG_SUPPORT_YES : ENG_SUPPORT_NO;
    if (reason && reason_bytes)
        snprintf(reason, reason_bytes, "%s", why);
    return ENG_OK;
}
