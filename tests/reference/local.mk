# The oracle: a convenience library for the conformance suite and other tests.
include $(top_srcdir)/tests/reference/files.mk
noinst_LTLIBRARIES += tests/reference/libreference.la
tests_reference_libreference_la_SOURCES = $(reference_files)
tests_reference_libreference_la_CPPFLAGS = $(AM_CPPFLAGS)
tests_reference_libreference_la_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
tests_reference_libreference_la_LIBADD = $(LIBM)
# Whole models; these read files with the library.
reference_model = tests/reference/model.c tests/reference/model.h tests/reference/model_impl.h \
	tests/reference/model_reader.h tests/reference/model_reader.c tests/reference/model_read.c tests/reference/model_read_numbers.c \
	tests/reference/model_read_mixers.c tests/reference/model_read_experts.c tests/reference/model_attention.c tests/reference/model_indexer.c \
	tests/reference/model_compressed.c tests/reference/model_recurrent.c tests/reference/model_scan.c tests/reference/model_altup.c \
	tests/reference/model_hyper.c tests/reference/model_mix.c tests/reference/model_ngrams.c \
	tests/reference/model_ffn.c tests/reference/model_archs.c
