# What shells offer behind the programs' names: made of what --help says, so that it is never behind.
# Programs built for another machine cannot be asked.
EXTRA_DIST += %D%/make.awk
if !CROSS_COMPILING
bashcompletiondir = $(datadir)/bash-completion/completions
nodist_bashcompletion_DATA = \
	completions/bash/engine-generate completions/bash/engine-probe completions/bash/engine-quantize completions/bash/engine-bench
zshcompletiondir = $(datadir)/zsh/site-functions
nodist_zshcompletion_DATA = \
	completions/zsh/_engine-generate completions/zsh/_engine-probe completions/zsh/_engine-quantize completions/zsh/_engine-bench
fishcompletiondir = $(datadir)/fish/vendor_completions.d
nodist_fishcompletion_DATA = \
	completions/fish/engine-generate.fish completions/fish/engine-probe.fish completions/fish/engine-quantize.fish \
	completions/fish/engine-bench.fish
completion_files = $(nodist_bashcompletion_DATA) $(nodist_zshcompletion_DATA) $(nodist_fishcompletion_DATA)

$(completion_files): $(bin_PROGRAMS) %D%/make.awk
	$(AM_V_GEN)$(MKDIR_P) $(@D) && program=`echo $(@F) | sed 's/^_//; s/\.fish$$//'` && \
	./$$program --help > $@.help && \
	$(AWK) -v program=$$program -v shell=`basename $(@D)` -f $(srcdir)/completions/make.awk $@.help > $@.tmp && \
	rm -f $@.help && mv -f $@.tmp $@
CLEANFILES += $(completion_files)
dist_check_SCRIPTS += %D%/check.sh
TESTS += %D%/check.sh
endif
