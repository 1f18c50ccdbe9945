# The order of work: timelines with devices that do what the test says, and queues of real devices.
if HAVE_CHECK
executor_tests = tests/executor/test-timeline tests/executor/test-queues
check_PROGRAMS += $(executor_tests)
TESTS += $(executor_tests)
valgrind_tests += tests/executor/test-timeline
tests_executor_test_timeline_SOURCES = tests/executor/test-timeline.c tests/executor/fake.c tests/executor/fake.h
tests_executor_test_timeline_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_executor_test_timeline_LDADD = $(core_test_libs)
tests_executor_test_queues_SOURCES = tests/executor/test-queues.c tests/executor/copies.c tests/executor/copies.h
tests_executor_test_queues_CPPFLAGS = $(AM_CPPFLAGS) $(have_plugins)
tests_executor_test_queues_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_executor_test_queues_LDADD = libengine.la $(CHECK_LIBS)
endif
