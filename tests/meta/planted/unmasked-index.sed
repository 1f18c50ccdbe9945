# indices of other ranks' rows are taken for a rank's own first row
# file: plan/localize.c
s/\(n->ip\[ENG_REBASE_BEGIN\] = \).*;/\10;/
