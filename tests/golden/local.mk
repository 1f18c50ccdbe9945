# What the tools say, kept as text: golden.sh --write after a change that is meant.
if ENABLE_META
check_PROGRAMS += tests/golden/dump-graph
dist_check_SCRIPTS += %D%/golden.sh %D%/keys.sh
TESTS += %D%/golden.sh %D%/keys.sh
endif
tests_golden_dump_graph_SOURCES = %D%/dump-graph.c
tests_golden_dump_graph_LDADD = libengine-lm.la libengine.la
EXTRA_DIST += %D%/texts %D%/says.sh
