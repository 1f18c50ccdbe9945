# The template: built and tested, installed too (it is only used when named).
plugin_LTLIBRARIES += %D%/null.la
plugins_null_null_la_SOURCES = \
	%D%/null.h %D%/plugin.c %D%/device.c %D%/store.c %D%/plan.c %D%/queue.c
plugins_null_null_la_LDFLAGS = $(plugin_ldflags)
EXTRA_DIST += %D%/README.md
