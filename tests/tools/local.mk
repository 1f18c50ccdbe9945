# Makes random GGUF models for tests.
check_PROGRAMS += %D%/make-model
%C%_make_model_SOURCES = %D%/make-model.c %D%/archs.c %D%/model.h %D%/model_impl.h %D%/model_fill.c %D%/model_layers.c \
	%D%/model_add.c %D%/model_attention.c %D%/model_recurrent.c %D%/model_ffn.c %D%/model_list.c %D%/model_keys.c \
	%D%/vocabulary.c tools/convert.c tools/convert.h
%C%_make_model_LDADD = libengine.la $(LIBM)

if ENABLE_CPU
check_PROGRAMS += %D%/test-blocks
TESTS += %D%/test-blocks
endif
%C%_test_blocks_SOURCES = %D%/test-blocks.c tests/meta/rig.c tests/meta/rig.h tests/tap.c tests/tap.h
%C%_test_blocks_LDADD = libengine.la

if HAVE_CHECK
if ENABLE_CPU
check_PROGRAMS += %D%/test-quantize
TESTS += %D%/test-quantize
endif
endif
%C%_test_quantize_SOURCES = %D%/test-quantize.c %D%/quantize.h %D%/quantize.c %D%/quantize_types.c %D%/quantize_writing.c \
	%D%/quantize_importance.c %D%/sha256.c %D%/sha256.h
%C%_test_quantize_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
%C%_test_quantize_LDADD = libengine.la $(CHECK_LIBS) $(LIBM)

# Importance matrices without memory at one point.
if ENABLE_CPU
check_PROGRAMS += tests/tools/test-importance
TESTS += tests/tools/test-importance
leak_tests += tests/tools/test-importance
endif
tests_tools_test_importance_SOURCES = tests/tools/test-importance.c tools/generate_imatrix.c tools/generate_imatrix.h tools/importance.c \
	tools/importance.h tools/weigh.c tools/weigh.h tools/convert.c tools/convert.h $(weighted) tests/meta/count.c tests/meta/count.h \
	tests/tap.c tests/tap.h $(lm_subject)
tests_tools_test_importance_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) -I$(top_srcdir)
tests_tools_test_importance_LDADD = libengine-util.la libengine-lm.la libengine.la $(LIBM)

check_PROGRAMS += tests/tools/test-default
TESTS += tests/tools/test-default
tests_tools_test_default_SOURCES = tests/tools/test-default.c tools/generate_default.c tools/generate_default.h tests/tap.c tests/tap.h
tests_tools_test_default_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_tools_test_default_LDADD = libengine-util.la libengine.la

dist_check_SCRIPTS += %D%/bench.sh
TESTS += %D%/bench.sh

# Tools that get no memory at one point.
if ENABLE_META
if ENABLE_CPU
check_LTLIBRARIES += tests/tools/failing.la
dist_check_SCRIPTS += tests/tools/nomem.sh
TESTS += tests/tools/nomem.sh
endif
endif
tests_tools_failing_la_SOURCES = tests/tools/failing.c
tests_tools_failing_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere
tests_tools_failing_la_LIBADD = -ldl
# Locales with decimal commas.
check_PROGRAMS += tests/tools/locale-host
tests_tools_locale_host_SOURCES = tests/tools/locale-host.c
tests_tools_locale_host_LDADD = libengine-lm.la libengine.la
dist_check_SCRIPTS += %D%/locale.sh
TESTS += %D%/locale.sh
