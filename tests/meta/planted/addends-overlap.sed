# the addends of a value that is to be partial overlap
# file: plan/wish.c
s/end = elements \* (i + 1) \/ n;/end = elements;/
