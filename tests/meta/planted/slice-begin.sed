# a slice of a shard begins where the slice of the whole does
# file: plan/view.c
s/begin = meta_cut_local_position(&place->cut, rank, begin);/begin += 0;/
