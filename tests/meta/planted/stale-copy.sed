# copies outlive a write in place
# file: plan/strategy.c
s/^    forget_copies(&c);$//
