# an operand that may be broadcast is never cut
# file: cut/rule.c
s/(rd.broadcast && ne\[d\] == 1))$/rd.broadcast)/
