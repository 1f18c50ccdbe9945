# a slice of a shard begins where the slice of the whole does
# file: localize.c
s/begin = meta_cut_local_position(&of->place.cut, rank, begin);/begin += 0;/
