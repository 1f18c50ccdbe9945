# What everything else stands on: linked into the core, the plugins, libengine-lm and the tools.
noinst_LTLIBRARIES += libengine-util.la
libengine_util_la_SOURCES = \
	%D%/util.h %D%/size.h %D%/clock.h \
	%D%/amx.h %D%/amx.c %D%/arena.h %D%/arena.c %D%/array.h %D%/array.c %D%/cores.h %D%/cores.c %D%/folders.h %D%/folders.c %D%/gate.h %D%/gate.c %D%/gathers.h %D%/gathers.c %D%/grids.h \
	%D%/json.h %D%/json.c %D%/map.h %D%/map.c %D%/pack.h %D%/pack.c %D%/plain.h %D%/plain.c %D%/row.h %D%/row.c %D%/shape.h %D%/shape.c %D%/team.h %D%/team.c %D%/text.h %D%/text.c %D%/thread.h %D%/thread.c %D%/trial.h %D%/type.h %D%/type.c

# Apart: whoever looks for patterns in names needs PCRE2, the core and the plugins do not.
noinst_LTLIBRARIES += libengine-pattern.la
libengine_pattern_la_SOURCES = %D%/pattern.h %D%/pattern.c
libengine_pattern_la_CPPFLAGS = $(AM_CPPFLAGS) $(PCRE2_CFLAGS)
libengine_pattern_la_LIBADD = $(PCRE2_LIBS)
