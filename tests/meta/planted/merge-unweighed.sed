# parts of an attention are added without their weights
# file: plan/merge.c
s/out->local\[r\] = weigh(p, r, origin, o\[r\], all->local\[r\], index++);/out->local[r] = o[r];/
