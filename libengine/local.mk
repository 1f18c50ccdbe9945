# The library: all of it in a convenience library, wrapped by the installed one.
noinst_LTLIBRARIES += libengine-core.la
libengine_core_la_SOURCES = \
	%D%/base/axes.c %D%/base/base.h %D%/base/error_info.c %D%/base/log.c %D%/base/process.c %D%/base/status.c %D%/base/struct.c \
	%D%/base/types.c \
	%D%/registry/elf.c %D%/registry/judge.c %D%/registry/module.c %D%/registry/registry.c %D%/registry/registry.h \
	%D%/registry/search.c \
	%D%/executor/drive.c %D%/executor/executor.h %D%/executor/payload.c %D%/executor/state.c %D%/executor/timeline.c \
	%D%/executor/timeline.h %D%/executor/watcher.c \
	%D%/device/calls.c %D%/device/device.c %D%/device/device.h %D%/device/names.c \
	%D%/device/names.h %D%/device/load.c %D%/device/queue.c %D%/device/store.c \
	%D%/graph/axes.c %D%/graph/builders.c %D%/graph/check.c %D%/graph/columns.c %D%/graph/columns.h %D%/graph/dims.c %D%/graph/dump.c \
	%D%/graph/graph.c %D%/graph/graph.h %D%/graph/infer.c %D%/graph/optable.c \
	%D%/graph/signature.c %D%/graph/special.c \
	%D%/gguf/mapped.h %D%/gguf/keys.c %D%/gguf/parts.c %D%/gguf/read.c %D%/gguf/types.c %D%/gguf/write.c \
	%D%/plan/build.c %D%/plan/build.h %D%/plan/instance.c %D%/plan/keep.c %D%/plan/place.c %D%/plan/plan.c \
	%D%/plan/plan.h \
	%D%/engine/context.c %D%/engine/context.h %D%/engine/folders.c %D%/engine/open.c \
	%D%/engine/options.c %D%/engine/plugins.c %D%/engine/services.c
libengine_core_la_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGINDIR='"$(plugindir)"' -DPKGDATADIR='"$(pkgdatadir)"'
libengine_core_la_LIBADD = libengine-util.la $(LTDL_LIBS) $(LIBM)

lib_LTLIBRARIES += libengine.la
libengine_la_SOURCES =
libengine_la_LIBADD = libengine-core.la
libengine_la_LDFLAGS = $(AM_LDFLAGS) -version-info $(LIBENGINE_VERSION_INFO) $(NO_UNDEFINED)
if HAVE_LD_VERSION_SCRIPT
libengine_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%D%/libengine.map
libengine_la_DEPENDENCIES = libengine-core.la %D%/libengine.map
else
libengine_la_LDFLAGS += -export-symbols-regex '^eng_'
endif
EXTRA_DIST += %D%/libengine.map
