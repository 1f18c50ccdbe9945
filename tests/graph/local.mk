# Op table, graphs and placement, without a device.
graph_tests_cflags = $(AM_CFLAGS) $(CHECK_CFLAGS)
graph_tests_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)
graph_tests_libs = libengine-core.la $(CHECK_LIBS)

if HAVE_CHECK
graph_test_programs = tests/graph/test-optable tests/graph/test-graph tests/graph/test-key tests/graph/test-layout tests/graph/test-place
check_PROGRAMS += $(graph_test_programs)
TESTS += $(graph_test_programs)
endif

tests_graph_test_optable_SOURCES = %D%/test-optable.c %D%/fixture.c %D%/fixture.h
tests_graph_test_optable_CFLAGS = $(graph_tests_cflags)
tests_graph_test_optable_CPPFLAGS = $(graph_tests_cppflags)
tests_graph_test_optable_LDADD = libengine-util.la $(graph_tests_libs)
tests_graph_test_graph_SOURCES = %D%/test-graph.c %D%/fixture.c %D%/fixture.h
tests_graph_test_graph_CFLAGS = $(graph_tests_cflags)
tests_graph_test_graph_CPPFLAGS = $(graph_tests_cppflags)
tests_graph_test_graph_LDADD = $(graph_tests_libs)
tests_graph_test_key_SOURCES = %D%/test-key.c %D%/fixture.c %D%/fixture.h
tests_graph_test_key_CFLAGS = $(graph_tests_cflags)
tests_graph_test_key_CPPFLAGS = $(graph_tests_cppflags)
tests_graph_test_key_LDADD = $(graph_tests_libs)
tests_graph_test_layout_SOURCES = %D%/test-layout.c %D%/fixture.c %D%/fixture.h
tests_graph_test_layout_CFLAGS = $(graph_tests_cflags)
tests_graph_test_layout_CPPFLAGS = $(graph_tests_cppflags)
tests_graph_test_layout_LDADD = $(graph_tests_libs)
tests_graph_test_place_SOURCES = %D%/test-place.c %D%/fixture.c %D%/fixture.h
tests_graph_test_place_CFLAGS = $(graph_tests_cflags)
tests_graph_test_place_CPPFLAGS = $(graph_tests_cppflags)
tests_graph_test_place_LDADD = $(graph_tests_libs)
