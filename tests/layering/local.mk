# The walls of the house, and the host program of README.md.
dist_check_SCRIPTS += %D%/layering.sh %D%/file-lists.sh %D%/architectures.sh
TESTS += %D%/layering.sh %D%/file-lists.sh %D%/architectures.sh
