# functions that make something of zeros are said to keep them
# file: plan/owned.c
/^static bool keeps_zero/,/^}/s/meta_function_is(n, ENG_FUNCTION_ZERO)/true/
