# a tensor that is bound in two slots is taken for two
# file: plan/version.c
s/ || (a >= 0 && b >= 0 && .*);/;/
