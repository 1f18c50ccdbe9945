# a rank sees indices as if its rows began one later
# file: plan/localize.c
s/\(n->ip\[ENG_REBASE_BEGIN\] = .*rebase_inner\);/\1 + 1;/
