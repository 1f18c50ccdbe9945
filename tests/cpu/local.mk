# The cpu plugin: used by several threads at once, the bytes that it encodes, the bits of rows in passes of all sizes, products that
# pack their columns once, values that each thread computes for itself, those in precision fast, frequencies of rope that are no numbers, large memory, what a control group leaves it, which cores its parts get, its options.
if HAVE_CHECK
if ENABLE_CPU
cpu_tests = tests/cpu/test-threads tests/cpu/test-encoded tests/cpu/test-group tests/cpu/test-topology tests/cpu/test-pace \
	tests/cpu/test-options tests/cpu/test-memory
check_PROGRAMS += $(cpu_tests)
TESTS += $(cpu_tests)
endif
endif
if ENABLE_CPU
check_PROGRAMS += tests/cpu/test-again tests/cpu/test-bits tests/cpu/test-fast tests/cpu/test-order tests/cpu/test-rope
TESTS += tests/cpu/test-again tests/cpu/test-bits tests/cpu/test-fast tests/cpu/test-order tests/cpu/test-rope
endif
cpu_compute = %D%/compute.c %D%/compute.h tests/tiles.c tests/tiles.h tests/tap.c tests/tap.h
tests_cpu_test_again_SOURCES = %D%/test-again.c $(cpu_compute)
tests_cpu_test_again_LDADD = libengine.la $(LIBM)
tests_cpu_test_order_SOURCES = %D%/test-order.c $(cpu_compute)
tests_cpu_test_order_LDADD = libengine.la $(LIBM)
tests_cpu_test_rope_SOURCES = %D%/test-rope.c $(cpu_compute)
tests_cpu_test_rope_LDADD = libengine.la $(LIBM)
tests_cpu_test_fast_SOURCES = %D%/test-fast.c $(cpu_compute)
tests_cpu_test_fast_LDADD = libengine.la $(LIBM)
tests_cpu_test_bits_SOURCES = %D%/test-bits.c $(cpu_compute)
tests_cpu_test_bits_LDADD = libengine.la $(LIBM)
# All numbers of columns up to 600: half an hour.
check-bits: tests/cpu/test-bits $(plugin_LTLIBRARIES)
	ENGINE_PLUGIN_PATH='$(tree_plugins)' tests/cpu/test-bits --all
.PHONY: check-bits
tests_cpu_test_threads_SOURCES = %D%/test-threads.c
tests_cpu_test_threads_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_cpu_test_threads_LDADD = libengine.la $(CHECK_LIBS) $(LIBM)
tests_cpu_test_encoded_SOURCES = %D%/test-encoded.c
tests_cpu_test_encoded_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_cpu_test_encoded_LDADD = tests/reference/libreference.la libengine.la $(CHECK_LIBS) $(LIBM)
tests_cpu_test_group_SOURCES = %D%/test-group.c
tests_cpu_test_group_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_cpu_test_group_LDADD = libengine.la $(CHECK_LIBS) $(LIBM)
tests_cpu_test_memory_SOURCES = %D%/test-memory.c plugins/cpu/memory/memory.c
tests_cpu_test_memory_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_cpu_test_memory_LDADD = $(CHECK_LIBS)
tests_cpu_test_pace_SOURCES = %D%/test-pace.c plugins/cpu/run/pace.c
tests_cpu_test_pace_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_cpu_test_pace_LDADD = $(CHECK_LIBS)
tests_cpu_test_options_SOURCES = %D%/test-options.c
tests_cpu_test_options_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_cpu_test_options_LDADD = libengine.la $(CHECK_LIBS)
tests_cpu_test_topology_SOURCES = %D%/test-topology.c plugins/cpu/device/topology.c
tests_cpu_test_topology_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
tests_cpu_test_topology_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_cpu_test_topology_LDADD = $(HWLOC_LIBS) $(CHECK_LIBS)
