# README.md's host program, those of examples/, and what `make installcheck` runs against the installed tree.
dist_check_SCRIPTS += %D%/plugins.sh %D%/readme.sh %D%/examples.sh %D%/bootstrap.sh %D%/template.sh %D%/paths.sh
TESTS += %D%/plugins.sh %D%/readme.sh %D%/examples.sh %D%/bootstrap.sh %D%/template.sh %D%/paths.sh
EXTRA_DIST += %D%/installcheck.sh %D%/consumer.c

# Every option of configure that leaves something out, in a build of its own: minutes each.
#     make check-configurations CONFIGURATIONS='--disable-cpu "--disable-opencl --disable-meta"'
CONFIGURATIONS =
.PHONY: check-configurations
check-configurations:
	CC='$(CC)' $(SHELL) $(srcdir)/tests/install/check-configurations $(srcdir) $(CONFIGURATIONS)
EXTRA_DIST += %D%/check-configurations
