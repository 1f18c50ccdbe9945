# parts of a long row's norm count as if there were one
# file: split_norm.c
s#sqrt(n / parts)#sqrt(n)#
