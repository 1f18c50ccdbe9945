# parts of a long row's norm count as if there were one
# file: plan/split_norm.c
s#sqrt(n / parts)#sqrt(n)#
