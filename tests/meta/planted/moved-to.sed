# what a shard gets from another is put at its beginning
# file: cut/moves.c
s/\.to = b\.local + begin - b0});/.to = b.local});/
