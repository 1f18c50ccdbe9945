# boundaries of uneven parts are mirrored where shards are sent
# file: cut/cut.c
s/int64_t begin = meta_part_begin(cut->part, rank), length = meta_part_length(cut->part, rank);/int64_t length = meta_part_length(cut->part, rank), begin = cut->part->extent - meta_part_begin(cut->part, rank) - length;/
