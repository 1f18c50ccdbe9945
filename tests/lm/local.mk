# added by its owner

# GGUF files, tokenizer, sampler: without a device.
if HAVE_CHECK
lm_unit_tests = tests/lm/test-gguf tests/lm/test-parts tests/lm/test-tokenizer tests/lm/test-vocabulary tests/lm/test-sampler \
	tests/lm/test-pace tests/lm/test-chain tests/lm/test-grammar tests/lm/test-schema
check_PROGRAMS += $(lm_unit_tests)
TESTS += $(lm_unit_tests)
valgrind_tests += $(lm_unit_tests)
endif
tests_lm_test_gguf_SOURCES = %D%/test-gguf.c %D%/gguf_file.h %D%/gguf_file.c %D%/gguf_good.c %D%/gguf_writing.c %D%/gguf_refused.c \
	%D%/gguf_damaged.c %D%/crafted.c %D%/crafted.h
tests_lm_test_gguf_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_gguf_LDADD = libengine-core.la $(CHECK_LIBS)
tests_lm_test_parts_SOURCES = %D%/test-parts.c
tests_lm_test_parts_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_parts_LDADD = libengine-core.la $(CHECK_LIBS)
tests_lm_test_vocabulary_SOURCES = %D%/test-vocabulary.c %D%/words.c %D%/words.h
tests_lm_test_vocabulary_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_vocabulary_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_lm_test_vocabulary_LDADD = libengine-lm-core.la libengine-core.la $(CHECK_LIBS)
tests_lm_test_tokenizer_SOURCES = %D%/test-tokenizer.c %D%/words.c %D%/words.h
tests_lm_test_tokenizer_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_tokenizer_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_lm_test_tokenizer_LDADD = libengine-lm-core.la libengine-core.la $(CHECK_LIBS)
tests_lm_test_sampler_SOURCES = %D%/test-sampler.c
tests_lm_test_sampler_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_sampler_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_lm_test_sampler_LDADD = libengine-lm-core.la libengine-core.la $(CHECK_LIBS)
tests_lm_test_pace_SOURCES = %D%/test-pace.c
tests_lm_test_pace_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_pace_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_lm_test_pace_LDADD = libengine-lm-core.la libengine-core.la $(CHECK_LIBS) $(LIBM)
tests_lm_test_schema_SOURCES = %D%/test-schema.c
tests_lm_test_schema_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_schema_LDADD = libengine-lm-core.la libengine-core.la $(CHECK_LIBS)
tests_lm_test_grammar_SOURCES = %D%/test-grammar.c
tests_lm_test_grammar_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_grammar_LDADD = libengine-lm-core.la libengine-core.la $(CHECK_LIBS)
tests_lm_test_chain_SOURCES = %D%/test-chain.c
tests_lm_test_chain_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_chain_LDADD = libengine-lm-core.la libengine-core.la $(CHECK_LIBS) $(LIBM)
check_PROGRAMS += tests/lm/test-grammar-memory
TESTS += tests/lm/test-grammar-memory
tests_lm_test_grammar_memory_SOURCES = %D%/test-grammar-memory.c tests/meta/count.c tests/meta/count.h tests/tap.c tests/tap.h
tests_lm_test_grammar_memory_LDADD = libengine-lm-core.la libengine-core.la
check_PROGRAMS += tests/lm/test-mirostat
TESTS += tests/lm/test-mirostat
tests_lm_test_mirostat_SOURCES = %D%/test-mirostat.c tests/tap.c tests/tap.h
tests_lm_test_mirostat_LDADD = libengine-lm-core.la libengine-core.la $(LIBM)
check_PROGRAMS += tests/lm/test-flood
TESTS += tests/lm/test-flood
tests_lm_test_flood_SOURCES = %D%/test-flood.c tests/util/colliding.c tests/util/colliding.h tests/tap.c tests/tap.h
tests_lm_test_flood_LDADD = libengine-lm-core.la libengine-core.la
include tests/lm/model.mk
EXTRA_DIST += tests/data

# Conversations on a pseudo-terminal, and requests from a pipe.
if ENABLE_CPU
check_PROGRAMS += tests/lm/test-chat
TESTS += tests/lm/test-chat tests/lm/test-lines
endif
tests_lm_test_chat_SOURCES = tests/lm/test-chat.c tests/lm/screen.c tests/lm/screen.h tests/tap.c tests/tap.h
tests_lm_test_chat_CPPFLAGS = $(AM_CPPFLAGS) $(LIBEDIT_CFLAGS)
tests_lm_test_chat_LDADD = libengine.la
EXTRA_DIST += tests/lm/test-lines
