# repetitions of a segment follow without gaps
# file: cut/cut.c
s/p->full_s1 = BYTES(step);/p->full_s1 = p->run;/
