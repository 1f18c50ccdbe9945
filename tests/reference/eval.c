/* The oracle's op table: each row of the engine's has a function here, but for ends of sections. */
#include "config.h"

#include "ref.h"

#include <string.h>

int ref_eval(ref_call *c)
{
    static int (*const ops[ENG_OP_LIMIT])(ref_call *c) = {
#define ENG_OP(id, number, name, ...) [number] = ref_op_##name,
#include "engine/ops.def"
    };
    memset(c->out, 0, sizeof c->out);
    c->n_out = 0;
    return c->op < ENG_OP_LIMIT && ops[c->op] ? ops[c->op](c) : -2;
}

int ref_op_extern(ref_call *c)
{
    (void)c;
    return -2;
}
