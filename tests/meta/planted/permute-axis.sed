# a permuted cut stays in the dimension where it was
# file: cut/follow.c
s/^\( *\)out->dim = d;$/\1out->dim = cut->dim;/
