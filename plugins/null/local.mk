# The template: built and tested, installed too (it is only used when named); its sources are there to be copied.
plugin_LTLIBRARIES += %D%/null.la
template_sources = %D%/null.h %D%/plugin.c %D%/device.c %D%/store.c %D%/plan.c %D%/queue.c
plugins_null_null_la_SOURCES = $(template_sources)
plugins_null_null_la_CPPFLAGS = $(AM_CPPFLAGS) -DNULL_IN_TREE
plugins_null_null_la_LDFLAGS = $(plugin_ldflags)

templatedir = $(docdir)/examples/plugin
dist_template_DATA = $(template_sources) %D%/README.md
