# slots owned by some indices are taken for those of any others
# file: plan/owned.c
s/|| !meta_place_equal(have, &s->out\[0\]))/|| !s->out[0].owner)/
