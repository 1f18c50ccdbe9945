/* What the op table says of the functions of unary nodes. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "planner.h"

bool meta_function_is(const eng_node *node, unsigned flag)
{
    static const uint8_t functions[ENG_UNARY_LIMIT] = {
#define ENG_UNARY(id, number, name, flags, ...) [number] = flags,
#include <engine/ops.def>
    };
    int64_t kind = node->ip[ENG_UNARY_KIND];

    return node->op == ENG_OP_UNARY && kind >= 0 && kind < ENG_UNARY_LIMIT && (functions[kind] & flag);
}
