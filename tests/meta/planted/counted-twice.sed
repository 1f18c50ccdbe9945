# what is whole is added to a partial sum on every rank
# file: cut/rule.c
s/^        return partial == (present & 3u);$/        return partial != 0 \&\& (partial \& 3u) == partial;/
