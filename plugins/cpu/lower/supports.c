/* What the plugin can run: all that the op's row accepts. */
#include "config.h"

#include <stdio.h>

#include "../cpu.h"
#include "libengine/util/util.h"

bool cpu_idle(const eng_op_info *info)
{
    return (info->flags & (ENG_OPF_VIEW | ENG_OPF_BARRIER)) != 0;
}

int cpu_supports(eng_device_state *device, const eng_subgraph *graph, uint32_t number, eng_support *answer, char *reason,
                 size_t reason_bytes)
{
    const eng_node *node = eng_subgraph_node(graph, number);
    const eng_op_info *info = device->services->op_info(device->host, node->op);
    char why[256] = "";
    bool good = info != NULL && (cpu_idle(info) || device->variant->ops[node->op] != NULL);
    if (!good)
        snprintf(why, sizeof why, "op %u is unknown to the cpu plugin", (unsigned)node->op);
    else if (!cpu_idle(info))
        good = eu_row_accepts(info, graph, node, why, sizeof why);
    *answer = good ? ENG_SUPPORT_YES : ENG_SUPPORT_NO;
    if (reason && reason_bytes)
        snprintf(reason, reason_bytes, "%s", why);
    return ENG_OK;
}
