if ENABLE_META
plugin_LTLIBRARIES += plugins/meta/meta.la
endif
plugins_meta_meta_la_SOURCES = \
	%D%/meta.h %D%/plugin.c %D%/device/cost.c %D%/device/cost.h %D%/device/device.c %D%/device/roof.c \
	%D%/cut/cut.c %D%/cut/cut.h %D%/cut/follow.c %D%/cut/moves.c %D%/cut/partition.c %D%/cut/rule.c \
	%D%/cut/rule.h \
	%D%/store/caches.c %D%/store/choices.c %D%/store/place.c %D%/store/place.h %D%/store/store.c %D%/store/transfer.c \
	%D%/plan/choose.h %D%/plan/derive.c %D%/plan/exchange.c %D%/plan/functions.c %D%/plan/inplace.c %D%/plan/join.c %D%/plan/localize.c \
	%D%/plan/merge.c %D%/plan/move_price.c %D%/plan/notes.c %D%/plan/numbers.c %D%/plan/owned.c %D%/plan/plan.c %D%/plan/planner.c \
	%D%/plan/planner.h %D%/plan/price.c \
	%D%/plan/rank_graph.c %D%/plan/split_norm.c %D%/plan/strategy.c %D%/plan/uses.c %D%/plan/variant.c \
	%D%/plan/variant.h %D%/plan/version.c %D%/plan/versions.c %D%/plan/view.c %D%/plan/wish.c \
	%D%/run/ahead.c %D%/run/child.c %D%/run/collective.c %D%/run/instance.c %D%/run/late.c %D%/run/queue.c %D%/run/run.c %D%/run/run.h \
	%D%/run/spots.c %D%/run/team.c \
	%D%/explain/dot.c %D%/explain/explain.c %D%/explain/explain.h %D%/explain/facts.c %D%/explain/json.c %D%/explain/names.c \
	%D%/explain/text.c %D%/explain/write.c
plugins_meta_meta_la_LDFLAGS = $(plugin_ldflags)
plugins_meta_meta_la_LIBADD = libengine-util.la $(LIBM)
