# segments of a concatenation follow in the wrong order
# file: cut/follow.c
s/first = which == 0 ? cut : o, \*second = which == 0 ? o : cut;/first = which == 0 ? o : cut, *second = which == 0 ? cut : o;/
