# every part of a cache begins at cell 0
# file: plan/merge.c
/n->ip\[ENG_ATTN_FIRST\] +=/d
