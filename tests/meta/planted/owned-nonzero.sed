# functions that make something of zeros are said to keep them
# file: plan/owned.c
/^static bool unary_keeps_zero/,/^}/s/(functions\[kind\] & ENG_FUNCTION_ZERO)/(functions[kind] | 1)/
