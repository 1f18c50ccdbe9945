# copies outlive a write in place
# file: plan/planner.c
s/^    forget_copies(&c);$//
