# copies outlive a write in place
# file: strategy.c
s/^    forget_copies(&c);$//
