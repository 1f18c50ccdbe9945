# a slice across the ends of shards has its boundaries in units instead of elements
# file: plan/derive.c
s/int64_t b = base + cut->part->begin\[r\] \* inner - from;/int64_t b = base + cut->part->begin[r] - from;/
