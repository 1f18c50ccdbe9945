# a rank sees indices as if its rows were one range, though they are one in each repetition
# file: plan/localize.c
s/\(n->ip\[ENG_REBASE_PERIOD\] = \).*;/\10;/
