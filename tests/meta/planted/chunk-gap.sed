# a sum by chunks lacks an element between them
# file: run/collective.c
s/^    uint64_t from = floats \* mine \/ count, to = .*;$/    uint64_t from = floats * mine \/ count, to = from + floats \/ count - 1;/
