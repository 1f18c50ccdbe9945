# What others make of the same files: results of theirs, and scripts that compare where the others are at hand.
check_PROGRAMS += tests/peers/test-decoded
TESTS += tests/peers/test-decoded tests/peers/decoded.sh
tests_peers_test_decoded_SOURCES = %D%/test-decoded.c %D%/blocks.h tests/tap.c tests/tap.h
tests_peers_test_decoded_LDADD = tests/reference/libreference.la libengine.la $(LIBM)
dist_check_SCRIPTS += tests/peers/decoded.sh
EXTRA_DIST += %D%/decoded.c
