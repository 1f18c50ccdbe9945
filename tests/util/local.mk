# The static library that everything stands on, alone.
if HAVE_CHECK
util_tests = tests/util/test-util tests/util/test-shape tests/util/test-team
check_PROGRAMS += $(util_tests)
TESTS += $(util_tests)
valgrind_tests += $(util_tests)
endif
tests_util_test_util_SOURCES = %D%/test-util.c %D%/colliding.c %D%/colliding.h tests/meta/count.c tests/meta/count.h
tests_util_test_util_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_util_test_util_LDADD = libengine-pattern.la libengine-util.la $(CHECK_LIBS) $(LIBM)
tests_util_test_team_SOURCES = %D%/test-team.c
tests_util_test_team_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_util_test_team_LDADD = libengine-util.la $(CHECK_LIBS)
tests_util_test_shape_SOURCES = %D%/test-shape.c
tests_util_test_shape_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_util_test_shape_LDADD = libengine-util.la $(CHECK_LIBS)
