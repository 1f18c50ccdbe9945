# a reshaped cut's repetitions and units change places
# file: cut/cut.c
s/out.segs\[0\].outer = to\[d\] \/ span;/out.segs[0].outer = inner;/
s/^        out.segs\[0\].inner = inner;$/        out.segs[0].inner = to[d] \/ span;/
