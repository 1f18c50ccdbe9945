# The opencl plugin beyond single ops: memory in pieces, fusion, the cache of binaries, errors.
if ENABLE_OPENCL
if HAVE_CHECK
check_PROGRAMS += tests/opencl/test-opencl
TESTS += tests/opencl/test-opencl
endif
endif
tests_opencl_test_opencl_SOURCES = %D%/test-opencl.c
tests_opencl_test_opencl_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_opencl_test_opencl_LDADD = libengine.la $(CHECK_LIBS)
