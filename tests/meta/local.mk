# The tensor-parallel device: its algebra alone, then random graphs against one device.
meta_test_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)
if HAVE_CHECK
check_PROGRAMS += tests/meta/test-cut
TESTS += tests/meta/test-cut
endif
tests_meta_test_cut_SOURCES = %D%/test-cut.c plugins/meta/cut/cut.c plugins/meta/cut/cut.h plugins/meta/cut/moves.c \
	plugins/meta/cut/partition.c
tests_meta_test_cut_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_meta_test_cut_CPPFLAGS = $(meta_test_cppflags)
tests_meta_test_cut_LDADD = libengine-util.la $(CHECK_LIBS) $(LIBM)

if ENABLE_META
if ENABLE_CPU
meta_tests = \
	tests/meta/test-random \
	tests/meta/test-nomem \
	tests/meta/test-refused \
	tests/meta/test-services \
	tests/meta/test-place \
	tests/meta/test-cells \
	tests/meta/test-norms \
	tests/meta/test-names \
	tests/meta/test-stores \
	tests/meta/test-owned \
	tests/meta/test-follow \
	tests/meta/test-empty \
	tests/meta/test-lacking \
	tests/meta/test-plans \
	tests/meta/test-explain
check_PROGRAMS += $(meta_tests)
TESTS += $(meta_tests)
leak_tests += tests/meta/test-nomem
valgrind_tests += tests/meta/test-stores tests/meta/test-owned tests/meta/test-lacking
endif
endif
meta_programs = %D%/program.h %D%/data.c %D%/replay.c %D%/generator.h %D%/generate.c %D%/generate_ops.c \
	%D%/generate_types.c %D%/generate_blocks.c %D%/oracle.h %D%/oracle.c %D%/choose.c %D%/judge.c
tests_meta_test_random_SOURCES = %D%/test-random.c %D%/shrink.c %D%/print.c $(meta_programs)
tests_meta_test_nomem_SOURCES = %D%/test-nomem.c %D%/count.c %D%/count.h tests/tap.c tests/tap.h $(meta_programs)
tests_meta_test_nomem_CPPFLAGS = $(meta_test_cppflags)
tests_meta_test_nomem_LDADD = libengine.la tests/reference/libreference.la $(LIBM)
tests_meta_test_random_CPPFLAGS = $(meta_test_cppflags)
tests_meta_test_random_LDADD = libengine.la tests/reference/libreference.la $(LIBM)
meta_rig = %D%/rig.c %D%/rig.h tests/tap.c tests/tap.h
tests_meta_test_services_SOURCES = %D%/test-services.c tests/tap.c tests/tap.h
tests_meta_test_services_LDADD = libengine.la
tests_meta_test_refused_SOURCES = %D%/test-refused.c $(meta_rig)
tests_meta_test_refused_LDADD = libengine.la
tests_meta_test_explain_SOURCES = %D%/test-explain.c $(meta_rig)
tests_meta_test_explain_LDADD = libengine.la
tests_meta_test_plans_SOURCES = %D%/test-plans.c $(meta_rig)
tests_meta_test_plans_LDADD = libengine.la
tests_meta_test_place_SOURCES = %D%/test-place.c $(meta_rig)
tests_meta_test_place_LDADD = libengine.la $(LIBM)
tests_meta_test_cells_SOURCES = %D%/test-cells.c $(meta_rig)
tests_meta_test_cells_LDADD = libengine.la $(LIBM)
tests_meta_test_stores_SOURCES = %D%/test-stores.c $(meta_rig)
tests_meta_test_stores_LDADD = libengine.la
tests_meta_test_owned_SOURCES = %D%/test-owned.c $(meta_rig)
tests_meta_test_owned_LDADD = libengine.la $(LIBM)
tests_meta_test_lacking_SOURCES = %D%/test-lacking.c $(meta_rig)
tests_meta_test_lacking_LDADD = libengine.la $(LIBM)
tests_meta_test_empty_SOURCES = %D%/test-empty.c $(meta_rig)
tests_meta_test_empty_LDADD = libengine.la
tests_meta_test_follow_SOURCES = %D%/test-follow.c $(meta_rig)
tests_meta_test_follow_LDADD = libengine.la $(LIBM)
tests_meta_test_norms_SOURCES = %D%/test-norms.c $(meta_rig)
tests_meta_test_norms_LDADD = libengine.la $(LIBM)
tests_meta_test_names_SOURCES = %D%/test-names.c $(meta_rig)
tests_meta_test_names_LDADD = libengine.la $(LIBM)

# Graphs on tensors that hold anything: some in `make check`, many on request.
if ENABLE_CPU
check_PROGRAMS += tests/meta/test-hostile
TESTS += tests/meta/test-hostile
endif
check-hostile: tests/meta/test-hostile $(plugin_LTLIBRARIES)
	ENGINE_PLUGIN_PATH='$(tree_plugins)' tests/meta/test-hostile --graphs 500 --nodes 90 --seed $${RANDOM_SEED:-1000} \
	  $(HOSTILE_DEVICES)
.PHONY: check-hostile
tests_meta_test_hostile_SOURCES = %D%/test-hostile.c tests/tap.c tests/tap.h $(meta_programs)
tests_meta_test_hostile_CPPFLAGS = $(meta_test_cppflags)
tests_meta_test_hostile_LDADD = libengine.la tests/reference/libreference.la $(LIBM)

# Ten thousand random graphs of up to 200 nodes, and some on OpenCL, against the oracle.
check-random: tests/meta/test-random $(plugin_LTLIBRARIES)
	ENGINE_PLUGIN_PATH='$(tree_plugins)' tests/meta/test-random --graphs 10000 --nodes 200 --opencl 200 --stats \
	  --seed $${RANDOM_SEED:-1000000} $(RANDOM_DEVICES)
# Faults planted in the planner must be found by few hundred of them.
check-planted: tests/meta/test-random $(plugin_LTLIBRARIES)
	CC='$(CC)' $(srcdir)/tests/meta/planted/check-planted $(srcdir) . 700
EXTRA_DIST += %D%/planted
dist_check_SCRIPTS += %D%/planted.sh
TESTS += %D%/planted.sh
.PHONY: check-planted
.PHONY: check-random

# What composing costs: counts in `make check`, times and system calls on request.
if ENABLE_META
check_PROGRAMS += tests/meta/test-cost
TESTS += tests/meta/test-cost
endif
tests_meta_test_cost_SOURCES = %D%/test-cost.c %D%/count.c %D%/count.h $(meta_rig)
tests_meta_test_cost_LDADD = libengine.la
check-cost: tests/meta/test-cost $(plugin_LTLIBRARIES)
	ENGINE_PLUGIN_PATH='$(tree_plugins)' $(srcdir)/tests/meta/check-cost tests/meta/test-cost $(COST_DEVICES)
.PHONY: check-cost
EXTRA_DIST += %D%/check-cost

# Ranks that fail: the plugin that makes them, and what must come of it.
check_LTLIBRARIES += tests/meta/fault/fault.la
tests_meta_fault_fault_la_SOURCES = %D%/fault/plugin.c %D%/fault/queue.c %D%/fault/fault.h
# -rpath: without it libtool would make no module of what is not installed
tests_meta_fault_fault_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere \
	-export-symbols-regex '_LTX_eng_plugin_descriptor$$'
if ENABLE_META
if ENABLE_CPU
check_PROGRAMS += tests/meta/test-fault tests/meta/test-stuck tests/meta/test-ahead
TESTS += tests/meta/test-fault tests/meta/test-stuck tests/meta/test-ahead
if ENABLE_OPENCL
check_PROGRAMS += tests/meta/test-stuck-opencl tests/meta/test-uneven
TESTS += tests/meta/test-stuck-opencl tests/meta/test-uneven
endif
valgrind_tests += tests/meta/test-fault tests/meta/test-stuck
endif
endif
fault_subject = %D%/fault/subject.c %D%/fault/subject.h tests/tap.c tests/tap.h
tests_meta_test_fault_SOURCES = %D%/test-fault.c $(fault_subject)
tests_meta_test_fault_LDADD = libengine.la $(LIBM)
tests_meta_test_stuck_SOURCES = %D%/test-stuck.c $(fault_subject)
tests_meta_test_stuck_LDADD = libengine.la $(LIBM)
tests_meta_test_ahead_SOURCES = %D%/test-ahead.c tests/pocl.h $(fault_subject)
tests_meta_test_ahead_LDADD = libengine.la $(LIBM)
tests_meta_test_stuck_opencl_SOURCES = %D%/test-stuck.c $(fault_subject)
tests_meta_test_stuck_opencl_CPPFLAGS = $(AM_CPPFLAGS) -DON_OPENCL=1
tests_meta_test_stuck_opencl_LDADD = libengine.la $(LIBM)

tests_meta_test_uneven_SOURCES = %D%/test-uneven.c $(meta_rig)
tests_meta_test_uneven_LDADD = libengine.la

# Exchanges alone, with ranks that only hold memory.
check_PROGRAMS += tests/meta/test-collective
TESTS += tests/meta/test-collective
valgrind_tests += tests/meta/test-collective
tests_meta_test_collective_SOURCES = %D%/test-collective.c plugins/meta/run/collective.c plugins/meta/device/cost.c plugins/meta/cut/cut.c plugins/meta/cut/moves.c \
	plugins/meta/cut/partition.c plugins/meta/run/spots.c plugins/meta/run/team.c
tests_meta_test_collective_CPPFLAGS = $(meta_test_cppflags)
tests_meta_test_collective_LDADD = libengine-util.la $(LIBM)
