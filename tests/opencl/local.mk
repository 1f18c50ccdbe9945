# The opencl plugin beyond single ops: memory in pieces, fusion, the cache of binaries, errors.
opencl_folder = %D%/folder.c %D%/folder.h
opencl_interposer = %D%/interposer.c %D%/interposer.h %D%/calls.h
if ENABLE_OPENCL
check_PROGRAMS += tests/opencl/test-beyond tests/opencl/test-boundless tests/opencl/test-builds tests/opencl/test-columns tests/opencl/test-encoded tests/opencl/test-failures \
	tests/opencl/test-first \
	tests/opencl/test-heads tests/opencl/test-repeated \
	tests/opencl/test-leaks tests/opencl/test-nothing tests/opencl/test-series tests/opencl/test-share tests/opencl/test-slow tests/opencl/test-tickets tests/opencl/test-trials tests/opencl/test-waits tests/opencl/test-weights
TESTS += tests/opencl/test-beyond tests/opencl/test-boundless tests/opencl/test-builds tests/opencl/test-columns tests/opencl/test-encoded tests/opencl/test-failures \
	tests/opencl/test-first \
	tests/opencl/test-heads tests/opencl/test-repeated \
	tests/opencl/test-leaks tests/opencl/test-nothing tests/opencl/test-series tests/opencl/test-share tests/opencl/test-slow tests/opencl/test-tickets tests/opencl/test-trials tests/opencl/test-waits tests/opencl/test-weights
leak_tests += tests/opencl/test-leaks
if HAVE_CHECK
check_PROGRAMS += tests/opencl/test-opencl
TESTS += tests/opencl/test-opencl
endif
endif
tests_opencl_test_beyond_SOURCES = %D%/test-beyond.c tests/tap.c tests/tap.h
tests_opencl_test_beyond_LDADD = libengine.la
tests_opencl_test_boundless_SOURCES = %D%/test-boundless.c $(cpu_compute)
tests_opencl_test_boundless_LDADD = libengine.la $(LIBM)
tests_opencl_test_columns_SOURCES = %D%/test-columns.c $(cpu_compute)
tests_opencl_test_columns_LDADD = libengine.la
tests_opencl_test_weights_SOURCES = %D%/test-weights.c $(cpu_compute)
tests_opencl_test_weights_LDADD = libengine.la $(LIBM)
tests_opencl_test_repeated_SOURCES = %D%/test-repeated.c $(cpu_compute)
tests_opencl_test_repeated_LDADD = libengine.la
tests_opencl_test_encoded_SOURCES = %D%/test-encoded.c tests/tap.c tests/tap.h
tests_opencl_test_encoded_LDADD = libengine.la $(LIBM)
# The plugin finds the calls of the interposer, in the program itself, before those of the loader.
tests_opencl_test_builds_SOURCES = %D%/test-builds.c tests/tap.c tests/tap.h $(opencl_folder) $(opencl_interposer)
tests_opencl_test_builds_LDFLAGS = -export-dynamic
tests_opencl_test_builds_LDADD = libengine.la $(OPENCL_LIBS)
tests_opencl_test_failures_SOURCES = %D%/test-failures.c tests/tap.c tests/tap.h $(opencl_interposer)
tests_opencl_test_failures_CPPFLAGS = $(AM_CPPFLAGS) $(have_plugins)
tests_opencl_test_failures_LDFLAGS = -export-dynamic
tests_opencl_test_failures_LDADD = libengine.la $(OPENCL_LIBS)
tests_opencl_test_first_SOURCES = %D%/test-first.c tests/tap.c tests/tap.h $(opencl_interposer)
tests_opencl_test_first_LDFLAGS = -export-dynamic
tests_opencl_test_first_LDADD = libengine-lm.la libengine.la $(OPENCL_LIBS)
tests_opencl_test_heads_SOURCES = %D%/test-heads.c tests/tap.c tests/tap.h
tests_opencl_test_heads_LDADD = libengine.la $(LIBM)
tests_opencl_test_leaks_SOURCES = %D%/test-failures.c tests/tap.c tests/tap.h tests/leaks.h $(opencl_interposer)
tests_opencl_test_leaks_CPPFLAGS = $(AM_CPPFLAGS) $(have_plugins) -DLEAKS $(LEAK_CPPFLAGS)
tests_opencl_test_leaks_LDFLAGS = $(AM_LDFLAGS) -export-dynamic $(LEAK_LDFLAGS)
tests_opencl_test_leaks_LDADD = libengine.la $(OPENCL_LIBS)
tests_opencl_test_series_SOURCES = %D%/test-series.c tests/pocl.h tests/tap.c tests/tap.h $(opencl_folder) $(opencl_interposer)
tests_opencl_test_series_CPPFLAGS = $(AM_CPPFLAGS) $(have_plugins)
tests_opencl_test_series_LDFLAGS = -export-dynamic
tests_opencl_test_series_LDADD = libengine-lm.la libengine.la $(OPENCL_LIBS)
tests_opencl_test_share_SOURCES = %D%/test-share.c tests/tap.c tests/tap.h $(opencl_interposer)
tests_opencl_test_share_LDFLAGS = -export-dynamic
tests_opencl_test_share_LDADD = libengine-lm.la libengine.la $(OPENCL_LIBS)
tests_opencl_test_slow_SOURCES = %D%/test-slow.c tests/tap.c tests/tap.h $(opencl_interposer)
tests_opencl_test_slow_LDFLAGS = -export-dynamic
tests_opencl_test_slow_LDADD = libengine.la $(OPENCL_LIBS) $(LIBM)
tests_opencl_test_trials_SOURCES = %D%/test-trials.c tests/tap.c tests/tap.h $(opencl_interposer)
tests_opencl_test_trials_LDFLAGS = -export-dynamic
tests_opencl_test_trials_LDADD = libengine.la $(OPENCL_LIBS)
tests_opencl_test_tickets_SOURCES = %D%/test-tickets.c plugins/opencl/run/tickets.c tests/tap.c tests/tap.h
tests_opencl_test_tickets_LDADD = libengine.la
tests_opencl_test_nothing_SOURCES = %D%/test-nothing.c tests/tap.c tests/tap.h
tests_opencl_test_nothing_LDADD = libengine.la
tests_opencl_test_waits_SOURCES = %D%/test-waits.c tests/tap.c tests/tap.h $(opencl_interposer)
tests_opencl_test_waits_LDFLAGS = -export-dynamic
tests_opencl_test_waits_LDADD = libengine.la $(OPENCL_LIBS)
tests_opencl_test_opencl_SOURCES = %D%/test-opencl.c $(opencl_folder) %D%/fixture.h %D%/fixture.c %D%/opencl_memory.c %D%/opencl_chains.c \
	%D%/opencl_told.c
tests_opencl_test_opencl_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_opencl_test_opencl_LDADD = libengine.la $(CHECK_LIBS)

# Every OpenCL call of a run fails once, on a device and on its halves, in several ways: minutes.
check-failures: all tests/opencl/test-failures$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) tests/opencl/test-failures$(EXEEXT) --full
.PHONY: check-failures

# Every kernel on a device that is simulated and checked, where there is one: about ten minutes.
.PHONY: check-oclgrind
check-oclgrind: all tests/conformance/conformance$(EXEEXT) tests/tools/make-model$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/opencl/check-oclgrind $(srcdir) .
EXTRA_DIST += %D%/check-oclgrind

# All OpenCL devices of this machine, one after the other and two together: minutes to an hour.
check-devices: all $(check_PROGRAMS)
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/opencl/check-devices $(OPENCL_DEVICES)
.PHONY: check-devices
EXTRA_DIST += %D%/check-devices

# The suite on implementations of OpenCL at some path (docs/opencl.md): minutes to an hour each.
check-implementations: all $(check_PROGRAMS)
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/opencl/check-implementations $(srcdir) . $(IMPLEMENTATIONS)
.PHONY: check-implementations
EXTRA_DIST += %D%/check-implementations
dist_check_SCRIPTS += %D%/implementations.sh %D%/compilers.sh
TESTS += %D%/implementations.sh %D%/compilers.sh
