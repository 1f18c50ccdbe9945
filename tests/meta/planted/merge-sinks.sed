# a sink counts on every rank that attends
# file: plan/merge.c
s# && (i != ENG_ATTN_IN_SINKS || first)##
