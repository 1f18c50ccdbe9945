# the first of the ranks that hold something is not asked
# file: plan/exchange.c
/^uint32_t meta_source_ranks/,/^}/s/return from->ranks;/return from->ranks \& (from->ranks - 1);/
