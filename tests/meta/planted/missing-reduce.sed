# a partial sum is taken for the whole
# file: plan/version.c
s/^\( *\)return meta_place_equal(&v->place, want);$/\1return meta_place_equal(\&v->place, want) || (v->place.kind == META_PARTIAL \&\& want->kind == META_REPLICATED);/
