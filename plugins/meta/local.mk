if ENABLE_META
plugin_LTLIBRARIES += plugins/meta/meta.la
endif
plugins_meta_meta_la_SOURCES = \
	%D%/caches.c \
	%D%/collective.c \
	%D%/cost.c \
	%D%/cost.h \
	%D%/cut.c \
	%D%/cut.h \
	%D%/derive.c \
	%D%/device.c \
	%D%/exchange.c \
	%D%/explain.c \
	%D%/explain.h \
	%D%/explain_dot.c \
	%D%/explain_json.c \
	%D%/explain_names.c \
	%D%/explain_text.c \
	%D%/explain_write.c \
	%D%/follow.c \
	%D%/inplace.c \
	%D%/instance.c \
	%D%/join.c \
	%D%/late.c \
	%D%/localize.c \
	%D%/memory.c \
	%D%/merge.c \
	%D%/meta.h \
	%D%/moves.c \
	%D%/numbers.c \
	%D%/owned.c \
	%D%/partition.c \
	%D%/place.c \
	%D%/place.h \
	%D%/plan.c \
	%D%/planner.h \
	%D%/plugin.c \
	%D%/queue.c \
	%D%/rank_graph.c \
	%D%/reshard.c \
	%D%/rule.c \
	%D%/rule.h \
	%D%/run.c \
	%D%/run.h \
	%D%/split_norm.c \
	%D%/spots.c \
	%D%/store.c \
	%D%/strategy.c \
	%D%/team.c \
	%D%/transfer.c \
	%D%/uses.c \
	%D%/variant.c \
	%D%/variant.h \
	%D%/view.c \
	%D%/wish.c
plugins_meta_meta_la_LDFLAGS = $(plugin_ldflags)
plugins_meta_meta_la_LIBADD = $(LIBM)
