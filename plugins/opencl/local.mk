# The opencl plugin.  Kernels are listed in kernels/local.mk and carried inside.
include $(top_srcdir)/kernels/local.mk
include $(top_srcdir)/plugins/opencl/ops/files.mk

# What they include besides: numbers of file formats.
opencl_embedded = $(opencl_kernels) libengine/util/grids.h

EXTRA_DIST += $(opencl_kernels) plugins/opencl/embed.sh

if ENABLE_OPENCL
plugin_LTLIBRARIES += plugins/opencl/opencl.la
plugins_opencl_opencl_la_SOURCES = \
	%D%/host.h %D%/opencl.h %D%/plugin.c \
	%D%/device/bf16.c %D%/device/cache.c %D%/device/caps.c %D%/device/compile.c %D%/device/device.c %D%/device/dot2.c %D%/device/dot4.c %D%/device/error.c %D%/device/keeper.c \
	%D%/device/loops.c %D%/device/matrix.c %D%/device/needed.c %D%/device/program.c %D%/device/shuffle.c %D%/device/search.c %D%/device/share.c \
	%D%/device/source.c %D%/device/svm.c %D%/device/tiles.c %D%/device/trial.c %D%/device/wait.c \
	%D%/memory/arena.c %D%/memory/budget.c %D%/memory/memory.c %D%/memory/split.c \
	%D%/memory/store.c %D%/memory/transfer.c \
	%D%/lower/epilogue.c %D%/lower/explain.c %D%/lower/fuse.c %D%/lower/heads.c %D%/lower/plan.c %D%/lower/products.c %D%/lower/readers.c %D%/lower/series.c \
	%D%/run/instance.c %D%/run/place.c %D%/run/queue.c %D%/run/roof.c %D%/run/series.c %D%/run/tickets.c \
	$(opencl_ops_files)
nodist_plugins_opencl_opencl_la_SOURCES = plugins/opencl/embedded.c
plugins_opencl_opencl_la_CPPFLAGS = $(AM_CPPFLAGS) -DCL_TARGET_OPENCL_VERSION=120 -I$(top_srcdir)
plugins_opencl_opencl_la_LDFLAGS = $(plugin_ldflags)
plugins_opencl_opencl_la_LIBADD = libengine-util.la $(OPENCL_LIBS) $(LIBM)
CLEANFILES += plugins/opencl/embedded.c

plugins/opencl/embedded.c: $(opencl_embedded) plugins/opencl/embed.sh kernels/files.mk
	$(AM_V_GEN)$(MKDIR_P) plugins/opencl && \
	dir=$(srcdir) && list= && for f in $(opencl_embedded); do \
	  if test -f $$f; then list="$$list $$f"; else list="$$list $$dir/$$f"; fi; done && \
	$(SHELL) $(srcdir)/plugins/opencl/embed.sh $$list > $@.tmp && mv -f $@.tmp $@
endif
