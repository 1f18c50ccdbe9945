# heads of a grouped gated delta net are taken in the tiled order
# file: cut/rule.c
s/if (l->node->op == ENG_OP_GATED_DELTA_NET && .*rd.n_letters == 2) {/if (l->node->op == ENG_OP_NONE) {/
