# heads are cut although ALiBi counts them
# file: cut/rule.c
s/n->fp\[ENG_ATTN_MAX_BIAS\] > 0/n->fp[ENG_ATTN_MAX_BIAS] < 0/
