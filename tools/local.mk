# The programs: over the installed headers alone.
bin_PROGRAMS += engine-generate
engine_generate_SOURCES = %D%/generate.c %D%/generate.h %D%/generate_options.c %D%/generate_report.c
engine_generate_LDADD = libengine-lm.la libengine.la $(LIBM)

bin_PROGRAMS += engine-quantize
engine_quantize_SOURCES = %D%/quantize.c %D%/convert.c %D%/convert.h
engine_quantize_LDADD = libengine.la
