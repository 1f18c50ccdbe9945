# The oracle: a convenience library for the conformance suite and other tests.
noinst_LTLIBRARIES += tests/reference/libreference.la
tests_reference_libreference_la_SOURCES = \
	tests/reference/ref.h \
	tests/reference/tensor.c \
	tests/reference/eval.c \
	tests/reference/types.c \
	tests/reference/encode.c \
	tests/reference/matrix.c \
	tests/reference/recurrent.c \
	tests/reference/attention.c \
	tests/reference/rope.c \
	tests/reference/norm.c \
	tests/reference/element.c \
	tests/reference/shape.c \
	tests/reference/argsort.c tests/reference/cumsum.c \
	tests/reference/add_id.c tests/reference/view.c
tests_reference_libreference_la_CPPFLAGS = $(AM_CPPFLAGS)
tests_reference_libreference_la_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
tests_reference_libreference_la_LIBADD = $(LIBM)
# Whole models; these read files with the library.
reference_model = tests/reference/model.c tests/reference/model.h tests/reference/model_impl.h \
	tests/reference/model_read.c tests/reference/model_attention.c tests/reference/model_recurrent.c \
	tests/reference/model_ffn.c
