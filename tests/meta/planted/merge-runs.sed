# the cells of a part follow one another, though they are runs
# file: merge.c
/if (s->rebase_repeats)/,/^    }/d
