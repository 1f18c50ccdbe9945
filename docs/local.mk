# docs/ops.md comes from the op table; a test compares.
noinst_PROGRAMS += docs/make-ops
docs_make_ops_SOURCES = %D%/make-ops.c
docs_make_ops_LDADD = libengine-core.la

.PHONY: update-docs
update-docs: docs/make-ops$(EXEEXT)
	docs/make-ops$(EXEEXT) > $(srcdir)/%D%/ops.md

dist_doc_DATA += %D%/ops.md %D%/architecture.md %D%/decisions.md %D%/tensor-parallel.md %D%/performance.md \
	%D%/performance-cards.md %D%/performance-opencl.md %D%/performance-cpu.md %D%/performance-cpu-rows.md \
	%D%/performance-models.md %D%/performance-start.md %D%/performance-composing.md %D%/performance-fast.md \
	%D%/quantisation.md %D%/kv-cache.md %D%/language-models.md %D%/chat.md %D%/opencl.md %D%/cpu.md %D%/gpu.md
dist_check_SCRIPTS += %D%/check-ops.sh %D%/check-names.sh
TESTS += %D%/check-ops.sh %D%/check-names.sh

# What the programs print as JSON; a test compares.
schemadir = $(pkgdatadir)/schema
dist_schema_DATA = %D%/schema/engine-probe-1.json %D%/schema/engine-generate.json %D%/schema/engine-explain.json \
	%D%/schema/engine-bench-1.json
