# the first of the ranks that hold something is not asked
# file: exchange.c
/^static uint32_t source_ranks/,/^}/s/return from->place.ranks;/return from->place.ranks \& (from->place.ranks - 1);/
