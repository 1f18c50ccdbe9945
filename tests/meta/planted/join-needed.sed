# an exchange moves up, and what writes its value stays behind
# file: plan/join.c
s/if (n->out\[i\] >= 0 && (l->written\[m\] == stamp || l->read\[m\] == stamp))/if (n->out[i] >= 0 \&\& l->written[m] == stamp)/
