# partial sums flow through functions that are not linear
# file: cut/rule.c
s/^    if (node->op == ENG_OP_SCALE)$/    if (node->op == ENG_OP_UNARY)\n        return partial == 1;\n&/
