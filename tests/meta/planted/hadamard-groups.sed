# a Hadamard transform is cut inside its groups
# file: cut/rule.c
s/^                return class;$/                continue;/
