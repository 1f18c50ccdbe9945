# Fuzz targets.  `make check` draws a few inputs, `make fuzz-gguf` and its like draw for a minute, make check-fuzz for a minute each:
#     make fuzz-model FUZZ_SECONDS=3600 FUZZ_SEED=7
# Best in a build with --enable-sanitizers.
FUZZ_SECONDS = 60
FUZZ_SEED = 1
fuzz_driver = %D%/drive.c %D%/fuzz.h %D%/input.c
fuzz_programs = tests/fuzz/fuzz-gguf tests/fuzz/fuzz-model tests/fuzz/fuzz-text tests/fuzz/fuzz-names tests/fuzz/fuzz-patterns \
	tests/fuzz/fuzz-templates tests/fuzz/fuzz-grammar tests/fuzz/fuzz-vocabulary
check_PROGRAMS += $(fuzz_programs)
dist_check_SCRIPTS += %D%/fuzz.sh
TESTS += %D%/fuzz.sh
tests_fuzz_fuzz_gguf_SOURCES = %D%/gguf.c tests/lm/crafted.c tests/lm/crafted.h $(fuzz_driver)
tests_fuzz_fuzz_gguf_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_fuzz_fuzz_gguf_LDADD = libengine.la
tests_fuzz_fuzz_model_SOURCES = %D%/model.c $(fuzz_driver)
tests_fuzz_fuzz_model_LDADD = libengine-lm.la libengine.la
tests_fuzz_fuzz_text_SOURCES = %D%/text.c $(fuzz_driver)
tests_fuzz_fuzz_text_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_fuzz_fuzz_text_LDADD = libengine-util.la libengine-lm.la libengine.la
tests_fuzz_fuzz_names_SOURCES = %D%/names.c $(fuzz_driver)
tests_fuzz_fuzz_names_LDADD = libengine.la $(LIBM)
tests_fuzz_fuzz_templates_SOURCES = %D%/templates.c $(fuzz_driver)
tests_fuzz_fuzz_templates_LDADD = libengine-lm.la libengine.la
tests_fuzz_fuzz_patterns_SOURCES = %D%/patterns.c $(fuzz_driver)
tests_fuzz_fuzz_patterns_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_fuzz_fuzz_patterns_LDADD = libengine-pattern.la libengine-util.la
tests_fuzz_fuzz_grammar_SOURCES = %D%/grammar.c $(fuzz_driver)
tests_fuzz_fuzz_grammar_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_fuzz_fuzz_grammar_LDADD = libengine-lm-core.la libengine-core.la
tests_fuzz_fuzz_vocabulary_SOURCES = %D%/vocabulary.c $(fuzz_driver)
tests_fuzz_fuzz_vocabulary_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_fuzz_fuzz_vocabulary_LDADD = libengine-lm-core.la libengine-core.la

fuzz_run = $(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/tests/fuzz/fuzz.sh --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)
fuzz_needs = all $(fuzz_programs) tests/tools/make-model
.PHONY: check-fuzz fuzz-gguf fuzz-model fuzz-text fuzz-names fuzz-patterns fuzz-templates fuzz-grammar fuzz-vocabulary
check-fuzz: $(fuzz_needs)
	$(fuzz_run)
fuzz-gguf fuzz-model fuzz-text fuzz-names fuzz-patterns fuzz-templates fuzz-grammar fuzz-vocabulary: $(fuzz_needs)
	$(fuzz_run) $@
