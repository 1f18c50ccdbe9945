# The opencl plugin.  Kernels are listed in kernels/local.mk and carried inside.
include $(top_srcdir)/kernels/local.mk

EXTRA_DIST += $(opencl_kernels) plugins/opencl/embed.sh

if ENABLE_OPENCL
plugin_LTLIBRARIES += plugins/opencl/opencl.la
plugins_opencl_opencl_la_SOURCES = \
	%D%/host.h %D%/opencl.h %D%/plugin.c \
	%D%/device/cache.c %D%/device/caps.c %D%/device/device.c %D%/device/error.c %D%/device/loops.c \
	%D%/device/program.c %D%/device/search.c %D%/device/svm.c %D%/device/wait.c \
	%D%/memory/arena.c %D%/memory/budget.c %D%/memory/memory.c %D%/memory/split.c \
	%D%/memory/store.c %D%/memory/transfer.c \
	%D%/lower/fuse.c %D%/lower/plan.c %D%/lower/products.c \
	%D%/run/instance.c %D%/run/queue.c %D%/run/tickets.c \
	%D%/ops/record.c %D%/ops/walk.c \
	%D%/ops/rows.c %D%/ops/rows.h %D%/ops/each.c %D%/ops/each.h \
	%D%/ops/moves.c %D%/ops/norms.c %D%/ops/sort.c %D%/ops/sort.h \
	%D%/ops/add_id.c %D%/ops/argmax.c %D%/ops/argsort.c %D%/ops/concat.c %D%/ops/cumsum.c \
	%D%/ops/group_norm.c %D%/ops/l2_norm.c %D%/ops/norm.c %D%/ops/pad.c \
	%D%/ops/rebase.c %D%/ops/repeat.c %D%/ops/rms_norm.c %D%/ops/rope.c \
	%D%/ops/soft_max.c %D%/ops/sum_rows.c %D%/ops/top_k.c
# hot ops and conversions
plugins_opencl_opencl_la_SOURCES += \
	%D%/ops/hot.h \
	%D%/ops/attention.c %D%/ops/convert.c %D%/ops/cpy.c %D%/ops/dequantize.c \
	%D%/ops/gated_delta_net.c %D%/ops/get_rows.c %D%/ops/indexed.c %D%/ops/indexed.h %D%/ops/hadamard.c %D%/ops/mul_mat.c \
	%D%/ops/mul_mat_id.c %D%/ops/quantize.c %D%/ops/set_rows.c %D%/ops/ssm_conv.c \
	%D%/ops/store.c
nodist_plugins_opencl_opencl_la_SOURCES = plugins/opencl/embedded.c
plugins_opencl_opencl_la_CPPFLAGS = $(AM_CPPFLAGS) -DCL_TARGET_OPENCL_VERSION=120 -I$(top_srcdir)
plugins_opencl_opencl_la_LDFLAGS = $(plugin_ldflags)
plugins_opencl_opencl_la_LIBADD = libengine-util.la $(OPENCL_LIBS) $(LIBM)
CLEANFILES += plugins/opencl/embedded.c

plugins/opencl/embedded.c: $(opencl_kernels) plugins/opencl/embed.sh kernels/local.mk
	$(AM_V_GEN)$(MKDIR_P) plugins/opencl && \
	dir=$(srcdir) && list= && for f in $(opencl_kernels); do \
	  if test -f $$f; then list="$$list $$f"; else list="$$list $$dir/$$f"; fi; done && \
	$(SHELL) $(srcdir)/plugins/opencl/embed.sh $$list > $@.tmp && mv -f $@.tmp $@
endif
