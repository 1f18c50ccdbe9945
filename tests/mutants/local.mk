# Faults drawn over all functions, each of which some test must see: hours.
#     make check-mutants MUTANTS=100 MUTANT_SEED=1 MUTANT_SECONDS=600 MUTANT_PATTERN='^plugins/cpu'
MUTANTS = 100
MUTANT_SEED = 1
MUTANT_SECONDS = 600
MUTANT_PATTERN = .
check_PROGRAMS += tests/mutants/mutate
tests_mutants_mutate_SOURCES = %D%/mutate.c %D%/scan.c %D%/scan.h %D%/faults.c
check-mutants: tests/mutants/mutate
	$(srcdir)/tests/mutants/check-mutants -n $(MUTANTS) -s $(MUTANT_SEED) -t $(MUTANT_SECONDS) -f '$(MUTANT_PATTERN)' \
	  $(srcdir) .
dist_check_SCRIPTS += %D%/mutate.sh
TESTS += %D%/mutate.sh
EXTRA_DIST += %D%/check-mutants %D%/nearest %D%/equivalent %D%/README.md

# For the copy in which it works: what tests need, and how `make check` runs them.
mutants-plugins: $(plugin_LTLIBRARIES)
mutants-scripts: all $(check_LTLIBRARIES) tests/tools/make-model tests/probe/json-check tests/conformance/conformance \
  tests/golden/dump-graph
mutants-environment:
	@$(AM_TESTS_ENVIRONMENT) export -p
mutants-ops: tests/conformance/conformance $(plugin_LTLIBRARIES)
	@$(AM_TESTS_ENVIRONMENT) tests/conformance/conformance --list cpu | sed 's/:.*//' | sort -u
.PHONY: check-mutants mutants-plugins mutants-scripts mutants-environment mutants-ops
