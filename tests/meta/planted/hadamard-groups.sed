# a Hadamard transform is cut inside its groups
# file: rule.c
s/^                return class;$/                continue;/
