# Host programs to read and to copy: installed as they are, compiled by tests/install/.
examplesdir = $(docdir)/examples
dist_examples_DATA = %D%/split.c %D%/generate.c
