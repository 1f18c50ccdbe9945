# The conformance suite: a library (engine-probe --self-test has it too) and the
# program that runs it on every device.
include $(top_srcdir)/tests/conformance/files.mk
noinst_LTLIBRARIES += tests/conformance/libconformance.la
tests_conformance_libconformance_la_SOURCES = \
	tests/conformance/conformance.h \
	tests/conformance/suite.h \
	tests/conformance/tolerances.h \
	tests/conformance/case.c \
	tests/conformance/attention.h \
	tests/conformance/attention.c \
	tests/conformance/run.c \
	tests/conformance/execute.c \
	tests/conformance/judge.c \
	tests/conformance/line.c \
	tests/conformance/placements.h \
	tests/conformance/placements_inside.h \
	tests/conformance/placements.c \
	tests/conformance/placements_addends.c \
	tests/conformance/placements_axes.c \
	tests/conformance/placements_choose.c \
	tests/conformance/cases.def $(conformance_case_files)
tests_conformance_libconformance_la_LIBADD = libengine-util.la tests/reference/libreference.la $(LIBM)

check_PROGRAMS += tests/conformance/conformance
tests_conformance_conformance_SOURCES = tests/conformance/main.c tests/tiles.c tests/tiles.h
tests_conformance_conformance_CPPFLAGS = $(AM_CPPFLAGS) $(have_plugins)
tests_conformance_conformance_LDADD = tests/conformance/libconformance.la libengine.la
TESTS += tests/conformance/conformance

# Placements: a sample of the matrix of ops and placements; all of it; graphs that are hard to split, by name.
if ENABLE_META
if ENABLE_CPU
check_PROGRAMS += tests/conformance/named
TESTS += tests/conformance/placements.sh tests/conformance/named tests/conformance/null.sh
endif
endif
tests_conformance_named_SOURCES = \
	tests/conformance/placements_named.c \
	tests/conformance/net.h \
	tests/conformance/net.c \
	tests/conformance/net_run.c
tests_conformance_named_LDADD = tests/conformance/libconformance.la libengine.la $(LIBM)

if ENABLE_OPENCL
dist_check_SCRIPTS += tests/conformance/pieces.sh tests/conformance/pieces-experts.sh tests/conformance/pieces-lanes.sh \
	tests/conformance/pieces-positions.sh
TESTS += tests/conformance/pieces.sh tests/conformance/pieces-experts.sh tests/conformance/pieces-lanes.sh \
	tests/conformance/pieces-positions.sh
endif

# Does the suite find faults that were planted?
if HAVE_CHECK
check_PROGRAMS += tests/conformance/selfcheck tests/reference/check-reference
tests_conformance_selfcheck_SOURCES = tests/conformance/selfcheck.c
tests_conformance_selfcheck_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_conformance_selfcheck_LDADD = tests/conformance/libconformance.la libengine.la $(CHECK_LIBS)
tests_reference_check_reference_SOURCES = tests/reference/check-reference.c
tests_reference_check_reference_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_reference_check_reference_LDADD = tests/reference/libreference.la $(CHECK_LIBS) $(LIBM)
TESTS += tests/conformance/selfcheck tests/reference/check-reference
endif

# Every case on every device, the opencl plugin in all its variants: minutes to hours.
.PHONY: check-full
check-full: all tests/conformance/conformance$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) tests/conformance/conformance$(EXEEXT) --full

# Every op with every placement of each operand and of every two, on ten compositions: about half an hour.
.PHONY: check-placements
check-placements: all tests/conformance/conformance$(EXEEXT) tests/conformance/named$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) tests/conformance/named$(EXEEXT) && \
	  tests/conformance/conformance$(EXEEXT) --placements --full
TESTS += tests/conformance/lines.sh
dist_check_SCRIPTS += tests/conformance/placements.sh tests/conformance/null.sh tests/conformance/lines.sh
