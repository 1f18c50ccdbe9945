# The programs: over the installed headers alone.
bin_PROGRAMS += engine-generate
engine_generate_SOURCES = %D%/chat.c %D%/chat.h %D%/chat_answer.c %D%/chat_commands.c %D%/chat_edit.c %D%/chat_files.c %D%/chat_input.c \
	%D%/chat_input.h %D%/chat_lines.c %D%/chat_names.c %D%/chat_screen.c %D%/chat_sequence.c %D%/chat_system.c %D%/chat_talk.c \
	%D%/chat_template.c %D%/chat_wait.c \
	%D%/generate.c %D%/generate.h %D%/generate_chances.c %D%/generate_check.c %D%/generate_compile.c %D%/generate_default.c %D%/generate_default.h %D%/generate_device.c \
	%D%/generate_fit.c %D%/generate_foreign.c %D%/generate_foreign.h %D%/generate_grammar.c %D%/generate_help.c %D%/generate_help.h %D%/generate_imatrix.c %D%/generate_imatrix.h %D%/generate_kept.c %D%/generate_open.c %D%/generate_options.c \
	%D%/generate_progress.c %D%/generate_read.c %D%/generate_report.c %D%/generate_run.c %D%/generate_run.h %D%/generate_sampling.c %D%/generate_size.c %D%/generate_state.c \
	%D%/hints.c %D%/hints.h %D%/loading.c %D%/loading.h %D%/standard.c %D%/standard.h %D%/uninstalled.c %D%/uninstalled.h
engine_generate_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(LIBEDIT_CFLAGS)
engine_generate_LDADD = libengine-pattern.la libengine-util.la libengine-lm.la libengine.la $(JANSSON_LIBS) $(LIBEDIT_LIBS) $(LIBM)

bin_PROGRAMS += engine-quantize
weighted = %D%/weighted.c %D%/weighted.h %D%/weighted_few.c %D%/weighted_fit.h %D%/weighted_grid.c %D%/weighted_half.c %D%/weighted_iq1.c \
	%D%/weighted_k.c %D%/weighted_patterns.c %D%/weighted_patterns.h
engine_quantize_SOURCES = %D%/quantize.c %D%/quantize.h %D%/quantize_rows.c %D%/quantize_types.c %D%/mix.c %D%/mix.h %D%/convert.c %D%/convert.h %D%/importance.c %D%/importance.h \
	%D%/weigh.c %D%/weigh.h $(weighted) \
	%D%/hints.c %D%/hints.h %D%/loading.c %D%/loading.h %D%/standard.c %D%/standard.h %D%/uninstalled.c %D%/uninstalled.h
engine_quantize_LDADD = libengine-pattern.la libengine-util.la libengine.la $(LIBM)

bin_PROGRAMS += engine-probe
engine_probe_SOURCES = \
	%D%/bench.h %D%/bench_case.c %D%/bench_report.c %D%/bench_run.c %D%/convert.c %D%/convert.h \
	%D%/probe.c %D%/probe.h %D%/probe_bench.c %D%/probe_child.c %D%/probe_collect.c %D%/probe_json.c %D%/probe_ops.c \
	%D%/probe_print.c %D%/probe_record.c %D%/probe_test.c \
	%D%/hints.c %D%/hints.h %D%/loading.c %D%/loading.h %D%/standard.c %D%/standard.h %D%/uninstalled.c %D%/uninstalled.h
engine_probe_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
# the conformance suite is the project's own test code, carried by --self-test
engine_probe_LDADD = tests/conformance/libconformance.la libengine-util.la libengine.la $(LIBM)

bin_PROGRAMS += engine-bench
engine_bench_SOURCES = \
	%D%/bench.c %D%/bench.h %D%/bench_case.c %D%/bench_compare.c %D%/bench_json.c %D%/bench_model.c %D%/bench_plot.c \
	%D%/bench_report.c %D%/bench_run.c %D%/convert.c %D%/convert.h \
	%D%/hints.c %D%/hints.h %D%/loading.c %D%/loading.h %D%/standard.c %D%/standard.h %D%/uninstalled.c %D%/uninstalled.h
nodist_engine_bench_SOURCES = tools/bench_cases.inc
engine_bench_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) -I$(top_builddir)
engine_bench_LDADD = libengine-pattern.la libengine-util.la libengine-lm.la libengine.la $(JANSSON_LIBS) $(LIBM)
# the standard cases are in the program: it works wherever it is
EXTRA_DIST += %D%/bench.cases
BUILT_SOURCES += tools/bench_cases.inc
CLEANFILES += tools/bench_cases.inc
tools/bench_cases.inc: %D%/bench.cases
	$(AM_V_GEN)$(MKDIR_P) tools && sed -e 's/["\\]/\\&/g' -e 's/.*/    "&",/' $(srcdir)/%D%/bench.cases >$@
