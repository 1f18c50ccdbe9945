# What others make of the same files: results of theirs, and scripts that compare where the others are at hand.
check_PROGRAMS += tests/peers/test-decoded tests/peers/cut tests/peers/render tests/peers/walk
TESTS += tests/peers/test-decoded tests/peers/decoded.sh tests/peers/splits.sh tests/peers/templates.sh tests/peers/schemas.sh
tests_peers_test_decoded_SOURCES = %D%/test-decoded.c %D%/blocks.h tests/tap.c tests/tap.h
tests_peers_test_decoded_LDADD = tests/reference/libreference.la libengine.la $(LIBM)
if ENABLE_CPU
check_PROGRAMS += tests/peers/test-weighted
TESTS += tests/peers/test-weighted
endif
TESTS += tests/peers/weighted.sh
if ENABLE_CPU
check_PROGRAMS += tests/peers/test-mixes
TESTS += tests/peers/test-mixes
endif
tests_peers_test_mixes_SOURCES = %D%/test-mixes.c tools/mix.c tools/mix.h tests/tap.c tests/tap.h $(lm_subject)
tests_peers_test_mixes_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_peers_test_mixes_LDADD = libengine-util.la libengine-lm.la libengine.la $(LIBM)
tests_peers_test_weighted_SOURCES = %D%/test-weighted.c %D%/weighted.h tools/convert.c tools/convert.h $(weighted) tests/tap.c tests/tap.h
tests_peers_test_weighted_LDADD = libengine-util.la libengine.la $(LIBM)
dist_check_SCRIPTS += tests/peers/weighted.sh
EXTRA_DIST += %D%/weighted.c
check_PROGRAMS += tests/peers/test-tokens tests/peers/tokens
TESTS += tests/peers/test-tokens tests/peers/tokens.sh
tests_peers_test_tokens_SOURCES = %D%/test-tokens.c tests/tap.c tests/tap.h
tests_peers_test_tokens_LDADD = libengine-lm-core.la libengine-core.la
tests_peers_tokens_SOURCES = %D%/tokens.c
tests_peers_tokens_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_peers_tokens_LDADD = libengine-lm-core.la libengine-core.la
dist_check_SCRIPTS += tests/peers/tokens.sh
EXTRA_DIST += %D%/tokens.py %D%/tokens_kinds.py %D%/tokens_real.py %D%/splits_text.py
TESTS += tests/peers/encoded.sh
dist_check_SCRIPTS += tests/peers/encoded.sh
EXTRA_DIST += %D%/encoded.py
tests_peers_walk_SOURCES = %D%/walk.c
tests_peers_walk_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_peers_walk_LDADD = libengine-lm-core.la libengine-core.la
tests_peers_cut_SOURCES = %D%/cut.c
tests_peers_cut_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_peers_cut_LDADD = libengine-lm-core.la libengine-core.la
tests_peers_render_SOURCES = %D%/render.c
tests_peers_render_LDADD = libengine-lm.la libengine.la
dist_check_SCRIPTS += tests/peers/decoded.sh tests/peers/splits.sh tests/peers/templates.sh tests/peers/schemas.sh
EXTRA_DIST += %D%/ggml.sh %D%/decoded.c %D%/splits.py %D%/templates.py %D%/schemas.py
# Models: their own code in PyPI's transformers; PYTHON must have it and torch, or it is skipped with a word.
PYTHON = python3
PEER_DEVICES = cpu
check_PROGRAMS += tests/peers/logits
tests_peers_logits_SOURCES = tests/peers/logits.c $(lm_subject)
tests_peers_logits_LDADD = libengine-lm.la libengine.la $(LIBM)
check_PROGRAMS += tests/peers/drafts
tests_peers_drafts_SOURCES = tests/peers/drafts.c
tests_peers_drafts_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_peers_drafts_LDADD = libengine-lm-core.la libengine-core.la
check-peers: tests/peers/logits tests/peers/drafts $(plugin_LTLIBRARIES)
	$(AM_TESTS_ENVIRONMENT) $(PYTHON) $(top_srcdir)/tests/peers/archs.py tests/peers/logits $(PEER_DEVICES) $(PEER_CASES) && \
	$(AM_TESTS_ENVIRONMENT) $(PYTHON) $(top_srcdir)/tests/peers/drafts.py tests/peers/drafts $(PEER_DEVICES); \
	status=$$?; test $$status = 0 -o $$status = 77
# The same models and llama.cpp's library (PyPI's llama-cpp-py-sync, LLAMA=libllama.so); with MODEL=FILE the perplexity of a real one.
check-llama: tests/peers/logits engine-generate $(plugin_LTLIBRARIES)
	$(AM_TESTS_ENVIRONMENT) $(PYTHON) $(top_srcdir)/tests/peers/llama.py tests/peers/logits $(PEER_DEVICES) $(PEER_CASES); \
	status=$$?; test $$status = 0 -o $$status = 77
	test -z "$(MODEL)" || { $(AM_TESTS_ENVIRONMENT) $(PYTHON) $(top_srcdir)/tests/peers/perplexity.py ./engine-generate $(PEER_DEVICES) \
		"$(MODEL)" $(top_srcdir)/tests/data/valid.txt; status=$$?; test $$status = 0 -o $$status = 77; }
.PHONY: check-peers check-llama
EXTRA_DIST += tests/peers/archs.py tests/peers/archs_cases.py tests/peers/drafts.py tests/peers/llama.py tests/peers/perplexity.py
