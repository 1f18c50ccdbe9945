# the cells of a part follow one another, though they are runs
# file: plan/merge.c
/if (s->rebase_repeats)/,/^    }/d
