# Makes random GGUF models for tests.
check_PROGRAMS += %D%/make-model
%C%_make_model_SOURCES = %D%/make-model.c %D%/model.c %D%/model.h %D%/vocabulary.c tools/convert.c tools/convert.h
%C%_make_model_LDADD = libengine.la $(LIBM)
