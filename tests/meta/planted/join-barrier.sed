# what needs an exchange's result is exchanged together with it
# file: plan/join.c
/if (is_needed(j, rank, node_at(j, rank, place), stamp))/{n;s/return false;/continue;/;}
