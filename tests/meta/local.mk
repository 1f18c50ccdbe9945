# The tensor-parallel device: its algebra alone, then whole graphs against one device.
meta_test_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)
if HAVE_CHECK
meta_test_programs = tests/meta/test-cut
check_PROGRAMS += $(meta_test_programs)
TESTS += $(meta_test_programs)
endif
tests_meta_test_cut_SOURCES = %D%/test-cut.c plugins/meta/cut.c plugins/meta/partition.c
tests_meta_test_cut_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_meta_test_cut_CPPFLAGS = $(meta_test_cppflags)
tests_meta_test_cut_LDADD = $(CHECK_LIBS) $(LIBM)
