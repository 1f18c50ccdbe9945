# What everything else stands on: linked into the core, the plugins, libengine-lm and the tools.
noinst_LTLIBRARIES += libengine-util.la
libengine_util_la_SOURCES = \
	%D%/util.h %D%/size.h %D%/clock.h \
	%D%/arena.h %D%/arena.c %D%/array.h %D%/array.c %D%/cores.h %D%/cores.c %D%/gate.h %D%/gate.c \
	%D%/json.h %D%/json.c %D%/map.h %D%/map.c %D%/pack.h %D%/pack.c %D%/pattern.h %D%/pattern.c %D%/row.h %D%/row.c %D%/shape.h %D%/shape.c %D%/team.h %D%/team.c %D%/text.h %D%/text.c
