# Sequences, and whole models on every kind of device.
lm_model_cppflags =
if ENABLE_META
lm_model_cppflags += -DHAVE_META
endif
if ENABLE_OPENCL
lm_model_cppflags += -DHAVE_OPENCL
endif
if HAVE_CHECK
lm_model_tests = tests/lm/test-units tests/lm/test-odd tests/lm/test-model
check_PROGRAMS += $(lm_model_tests)
TESTS += $(lm_model_tests)
endif
tests_lm_test_units_SOURCES = tests/lm/test-units.c
tests_lm_test_units_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_units_LDADD = libengine-lm-core.la libengine-core.la $(CHECK_LIBS)
tests_lm_test_model_SOURCES = tests/lm/test-model.c tests/lm/bench.c tests/lm/bench.h
tests_lm_test_model_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_model_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_model_LDADD = libengine-lm.la libengine.la $(CHECK_LIBS) $(LIBM)
tests_lm_test_odd_SOURCES = tests/lm/test-odd.c tests/lm/bench.c tests/lm/bench.h tests/reference/model.c \
	tests/reference/model.h
tests_lm_test_odd_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_odd_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_odd_LDADD = tests/reference/libreference.la libengine-lm.la libengine.la $(CHECK_LIBS) $(LIBM)
# The command line of engine-generate.
TESTS += tests/lm/test-generate
EXTRA_DIST += tests/lm/test-generate
