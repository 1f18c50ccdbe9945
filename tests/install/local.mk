# README.md's host program, and what `make installcheck` runs against the installed tree.
dist_check_SCRIPTS += %D%/readme.sh
TESTS += %D%/readme.sh
EXTRA_DIST += %D%/installcheck.sh %D%/consumer.c
