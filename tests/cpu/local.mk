# The cpu plugin: used by several threads at once, and the bytes that it encodes.
if HAVE_CHECK
if ENABLE_CPU
cpu_tests = tests/cpu/test-threads tests/cpu/test-encoded
check_PROGRAMS += $(cpu_tests)
TESTS += $(cpu_tests)
endif
endif
tests_cpu_test_threads_SOURCES = %D%/test-threads.c
tests_cpu_test_threads_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_cpu_test_threads_LDADD = libengine.la $(CHECK_LIBS) $(LIBM)
tests_cpu_test_encoded_SOURCES = %D%/test-encoded.c
tests_cpu_test_encoded_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_cpu_test_encoded_LDADD = tests/reference/libreference.la libengine.la $(CHECK_LIBS) $(LIBM)
