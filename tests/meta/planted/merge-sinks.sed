# a sink counts on every rank that attends
# file: merge.c
s# && (i != SINKS || first)##
