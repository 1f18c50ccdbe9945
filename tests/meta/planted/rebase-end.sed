# the last row of a rank's range is masked
# file: plan/localize.c
s/\(n->ip\[ENG_REBASE_END\] = .*rebase_inner\);/\1 - 1;/
