# Sequences, and whole models on every kind of device.
lm_model_cppflags =
lm_subject = tests/lm/subject.c tests/lm/subject.h
lm_bench = tests/lm/bench.c tests/lm/bench.h $(lm_subject)
if ENABLE_META
lm_model_cppflags += -DHAVE_META
endif
if ENABLE_OPENCL
lm_model_cppflags += -DHAVE_OPENCL
endif
if HAVE_CHECK
lm_model_tests = tests/lm/test-bookkeeping tests/lm/test-units
if ENABLE_CPU
lm_model_tests += tests/lm/test-odd tests/lm/test-model tests/lm/test-draft tests/lm/test-block
endif
check_PROGRAMS += $(lm_model_tests)
TESTS += $(lm_model_tests)
endif
tests_lm_test_bookkeeping_SOURCES = tests/lm/test-bookkeeping.c
tests_lm_test_bookkeeping_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_bookkeeping_LDADD = libengine-lm-core.la libengine-core.la $(CHECK_LIBS)
tests_lm_test_units_SOURCES = tests/lm/test-units.c
tests_lm_test_units_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_units_LDADD = libengine-lm-core.la libengine-core.la $(CHECK_LIBS)
tests_lm_test_model_SOURCES = tests/lm/test-model.c $(lm_bench)
tests_lm_test_model_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_model_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_model_LDADD = libengine-lm.la libengine.la $(CHECK_LIBS) $(LIBM)
tests_lm_test_block_SOURCES = tests/lm/test-block.c $(lm_bench) $(reference_model)
tests_lm_test_block_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags) -I$(top_srcdir)
tests_lm_test_block_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_block_LDADD = tests/reference/libreference.la libengine-lm-core.la libengine-core.la $(CHECK_LIBS) $(LIBM)
tests_lm_test_draft_SOURCES = tests/lm/test-draft.c $(lm_bench)
tests_lm_test_draft_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_draft_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_draft_LDADD = libengine-lm.la libengine.la $(CHECK_LIBS) $(LIBM)
tests_lm_test_odd_SOURCES = tests/lm/test-odd.c $(lm_bench) $(reference_model)
tests_lm_test_odd_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_odd_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lm_test_odd_LDADD = tests/reference/libreference.la libengine-lm.la libengine.la $(CHECK_LIBS) $(LIBM)
# Every architecture against the forward in double precision.
if ENABLE_CPU
check_PROGRAMS += tests/lm/test-archs tests/lm/test-files tests/lm/test-indexer tests/lm/test-padding tests/lm/test-passes tests/lm/test-plain tests/lm/test-types
TESTS += tests/lm/test-archs tests/lm/test-files tests/lm/test-indexer tests/lm/test-padding tests/lm/test-passes tests/lm/test-plain tests/lm/test-types
endif
tests_lm_test_padding_SOURCES = tests/lm/test-padding.c tests/tap.c tests/tap.h $(lm_subject)
tests_lm_test_padding_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_padding_LDADD = libengine-lm.la libengine.la $(LIBM)
tests_lm_test_passes_SOURCES = tests/lm/test-passes.c tests/tap.c tests/tap.h $(lm_subject)
tests_lm_test_passes_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_passes_LDADD = libengine-lm.la libengine.la $(LIBM)
tests_lm_test_plain_SOURCES = tests/lm/test-plain.c tests/tap.c tests/tap.h $(lm_subject)
tests_lm_test_plain_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_plain_LDADD = libengine-lm.la libengine.la $(LIBM)
tests_lm_test_types_SOURCES = tests/lm/test-types.c tests/tap.c tests/tap.h $(lm_subject)
tests_lm_test_types_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_types_LDADD = libengine-lm.la libengine.la $(LIBM)
tests_lm_test_indexer_SOURCES = tests/lm/test-indexer.c tests/tap.c tests/tap.h $(lm_subject)
tests_lm_test_indexer_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_indexer_LDADD = libengine-lm.la libengine.la $(LIBM)
tests_lm_test_files_SOURCES = tests/lm/test-files.c tests/tap.c tests/tap.h $(lm_subject)
tests_lm_test_files_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_files_LDADD = libengine-lm.la libengine.la $(LIBM)
tests_lm_test_archs_SOURCES = tests/lm/test-archs.c tests/lm/archs.h tests/lm/archs_table.c tests/lm/archs_answer.c \
	tests/lm/archs_run.c tests/lm/archs_random.c tests/tap.c tests/tap.h $(lm_subject) $(reference_model)
tests_lm_test_archs_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
# Memory that ends at any point.
if ENABLE_CPU
check_PROGRAMS += tests/lm/test-nomem
TESTS += tests/lm/test-nomem
leak_tests += tests/lm/test-nomem
endif
tests_lm_test_nomem_SOURCES = tests/lm/test-nomem.c tests/meta/count.c tests/meta/count.h tests/tap.c tests/tap.h $(lm_subject)
tests_lm_test_nomem_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_nomem_LDADD = libengine-lm.la libengine.la $(LIBM)
# How many exchanges a token costs.
if ENABLE_META
if ENABLE_CPU
check_PROGRAMS += tests/lm/test-exchanges
TESTS += tests/lm/test-exchanges
endif
endif
tests_lm_test_exchanges_SOURCES = tests/lm/test-exchanges.c $(lm_subject)
tests_lm_test_exchanges_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_exchanges_LDADD = libengine-lm.la libengine.la $(LIBM)
# Every model of the table on every device; random shapes on random splits.
ARCHS = 200
check-archs: tests/lm/test-archs tests/tools/make-model $(plugin_LTLIBRARIES)
	ENGINE_PLUGIN_PATH='$(tree_plugins)' tests/lm/test-archs --slow && \
	ENGINE_PLUGIN_PATH='$(tree_plugins)' tests/lm/test-archs --random $(ARCHS)
.PHONY: check-archs
tests_lm_test_archs_LDADD = tests/reference/libreference.la libengine-lm.la libengine.la $(LIBM)
# Placements that users ask for: a table of them, then random ones.
if ENABLE_META
if ENABLE_CPU
lm_placement_tests = tests/lm/test-placement tests/lm/test-cells tests/lm/test-retrieval
check_PROGRAMS += $(lm_placement_tests)
TESTS += $(lm_placement_tests)
endif
endif
tests_lm_test_placement_SOURCES = tests/lm/test-placement.c tests/lm/whole.c tests/lm/whole.h $(lm_subject)
tests_lm_test_placement_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_placement_LDADD = libengine-lm.la libengine.la $(LIBM)
# Caches split along their cells.
tests_lm_test_cells_SOURCES = tests/lm/test-cells.c tests/lm/whole.c tests/lm/whole.h $(lm_subject)
tests_lm_test_cells_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_cells_LDADD = libengine-lm.la libengine.la $(LIBM)
# What each device holds, against its share.
if ENABLE_META
if ENABLE_CPU
check_PROGRAMS += tests/lm/test-memory
TESTS += tests/lm/test-memory
endif
endif
tests_lm_test_memory_SOURCES = tests/lm/test-memory.c $(lm_subject)
tests_lm_test_memory_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_memory_LDADD = libengine-lm.la libengine.la $(LIBM)
# Shares and moves that fit the memory.
if ENABLE_META
if ENABLE_CPU
check_PROGRAMS += tests/lm/test-fit
TESTS += tests/lm/test-fit
endif
endif
tests_lm_test_fit_SOURCES = tests/lm/test-fit.c tests/tap.c tests/tap.h $(lm_subject)
tests_lm_test_fit_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_fit_LDADD = libengine-lm.la libengine.la $(LIBM)
# What stands far back is found with every split.
tests_lm_test_retrieval_SOURCES = tests/lm/test-retrieval.c tests/lm/needles.c tests/lm/needles.h $(lm_subject)
tests_lm_test_retrieval_LDADD = libengine-lm.la libengine.la $(LIBM)
# All pairs of types of K and V, split and not: the table of docs/quantisation.md; then retrieval over 14k tokens.
# KV_CHUNKS=0 takes the whole text; KV_DEVICES="UNSPLIT=SPLIT..." other devices.
KV_CHUNKS = 0
KV_SPLITS = cpu/2 cpu/2@3:1
if ENABLE_OPENCL
KV_SPLITS += opencl:0/2 cpu+opencl:0@3:1
endif
check_PROGRAMS += tests/lm/kv-types
tests_lm_kv_types_SOURCES = tests/lm/kv-types.c $(lm_subject)
tests_lm_kv_types_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_kv_types_LDADD = libengine-lm.la libengine.la $(LIBM)
check-kv: tests/lm/kv-types tests/lm/test-retrieval tests/tools/make-model $(plugin_LTLIBRARIES)
	$(AM_TESTS_ENVIRONMENT) tests/lm/kv-types $(KV_CHUNKS) $(KV_DEVICES) && \
	tests/lm/test-retrieval --tokens 14336 $(KV_SPLITS)
.PHONY: check-kv
# What drafts bring where 0.7 of the guesses are accepted: the table of docs/performance-models.md.
check_PROGRAMS += tests/lm/draft-speed
tests_lm_draft_speed_SOURCES = tests/lm/draft-speed.c $(lm_subject)
# (its own lm_ask_choose takes the place of the library's)
tests_lm_draft_speed_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_lm_draft_speed_LDADD = libengine-lm-core.la libengine-core.la $(LIBM)
check-draft-speed: tests/lm/draft-speed $(plugin_LTLIBRARIES)
	$(AM_TESTS_ENVIRONMENT) tests/lm/draft-speed $(DRAFT_MODEL) $(DRAFT_TOKENS) $(DRAFT_DEVICES)
.PHONY: check-draft-speed
# The command line of engine-generate, on the processor and on parts of it.
if ENABLE_META
if ENABLE_CPU
TESTS += tests/lm/test-generate
endif
endif
EXTRA_DIST += tests/lm/test-generate
# Structs of older hosts.
check_PROGRAMS += tests/lm/test-structs
TESTS += tests/lm/test-structs
tests_lm_test_structs_SOURCES = tests/lm/test-structs.c $(lm_subject) tests/tap.c tests/tap.h
tests_lm_test_structs_LDADD = libengine-lm.la libengine.la $(LIBM)

# Sequences that fork, reuse, draft, fail and leave at random: some tokens in `make check`, a million on request.
if ENABLE_CPU
check_PROGRAMS += tests/lm/test-traffic
TESTS += tests/lm/test-traffic
endif
check-traffic: tests/lm/test-traffic tests/meta/fault/fault.la $(plugin_LTLIBRARIES)
	ENGINE_PLUGIN_PATH='$(tree_plugins)' top_srcdir='$(abs_top_srcdir)' \
	top_builddir='$(abs_top_builddir)' tests/lm/test-traffic --tokens 1000000 --seed $${TRAFFIC_SEED:-1} $(TRAFFIC_DEVICES)
.PHONY: check-traffic
tests_lm_test_traffic_SOURCES = tests/lm/test-traffic.c tests/tap.c tests/tap.h $(lm_subject)
tests_lm_test_traffic_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_traffic_LDADD = libengine-lm.la libengine.la $(LIBM)

# Sequences saved to files and loaded elsewhere.
if ENABLE_CPU
check_PROGRAMS += tests/lm/test-state tests/lm/test-context-file
TESTS += tests/lm/test-state tests/lm/test-context-file
endif
tests_lm_test_context_file_SOURCES = tests/lm/test-context-file.c tests/tap.c tests/tap.h $(lm_subject)
tests_lm_test_context_file_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags) -I$(top_srcdir)
tests_lm_test_context_file_LDADD = libengine-util.la libengine-lm.la libengine.la $(LIBM)
tests_lm_test_state_SOURCES = tests/lm/test-state.c tests/tap.c tests/tap.h $(lm_subject)
tests_lm_test_state_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_state_LDADD = libengine-lm.la libengine.la $(LIBM)

# Beginnings that are known, tokens that are dropped, contexts that are full.
if ENABLE_CPU
check_PROGRAMS += tests/lm/test-reuse
TESTS += tests/lm/test-reuse
endif
tests_lm_test_reuse_SOURCES = tests/lm/test-reuse.c tests/tap.c tests/tap.h $(lm_subject)
tests_lm_test_reuse_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_reuse_LDADD = libengine-lm.la libengine.la $(LIBM)

# Texts that end in the middle of a draft.
if ENABLE_CPU
check_PROGRAMS += tests/lm/test-draft-end
TESTS += tests/lm/test-draft-end
endif
tests_lm_test_draft_end_SOURCES = tests/lm/test-draft-end.c tests/tap.c tests/tap.h $(lm_subject)
tests_lm_test_draft_end_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_draft_end_LDADD = libengine-lm.la libengine.la $(LIBM)

# What a cross entropy counts.
if ENABLE_CPU
check_PROGRAMS += tests/lm/test-measure
TESTS += tests/lm/test-measure
endif
tests_lm_test_measure_SOURCES = tests/lm/test-measure.c tests/tap.c tests/tap.h $(lm_subject)
tests_lm_test_measure_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_measure_LDADD = libengine-lm.la libengine.la $(LIBM)

# The largest logits, hidden states, and what products are given.
if ENABLE_CPU
check_PROGRAMS += tests/lm/test-outputs
TESTS += tests/lm/test-outputs
endif
tests_lm_test_outputs_SOURCES = tests/lm/test-outputs.c tests/tap.c tests/tap.h $(lm_subject)
tests_lm_test_outputs_CPPFLAGS = $(AM_CPPFLAGS) $(lm_model_cppflags)
tests_lm_test_outputs_LDADD = tests/reference/libreference.la libengine-lm.la libengine.la $(LIBM)
