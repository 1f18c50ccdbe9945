# engine-probe's command line, with plugins that crash or hang.
check_PROGRAMS += tests/probe/json-check
tests_probe_json_check_SOURCES = tests/probe/json-check.c
check_PROGRAMS += tests/probe/schema-check
tests_probe_schema_check_SOURCES = tests/probe/schema-check.c
dist_check_SCRIPTS += tests/probe/schema.sh
TESTS += tests/probe/schema.sh
if HAVE_CHECK
check_LTLIBRARIES += tests/probe/fixtures/aborts.la tests/probe/fixtures/exits.la tests/probe/fixtures/hangs.la \
	tests/probe/fixtures/breaks.la tests/probe/fixtures/closes.la tests/probe/fixtures/forks.la
endif
tests_probe_fixtures_aborts_la_SOURCES = tests/probe/fixtures/aborts.c
tests_probe_fixtures_aborts_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere
tests_probe_fixtures_exits_la_SOURCES = tests/probe/fixtures/exits.c
tests_probe_fixtures_exits_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere
tests_probe_fixtures_hangs_la_SOURCES = tests/probe/fixtures/hangs.c
tests_probe_fixtures_hangs_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere
tests_probe_fixtures_closes_la_SOURCES = tests/probe/fixtures/closes.c
tests_probe_fixtures_closes_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere
tests_probe_fixtures_forks_la_SOURCES = tests/probe/fixtures/forks.c
tests_probe_fixtures_forks_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere
tests_probe_fixtures_breaks_la_SOURCES = tests/probe/fixtures/breaks.c
tests_probe_fixtures_breaks_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere \
	-export-symbols-regex '_LTX_eng_plugin_descriptor$$'
dist_check_SCRIPTS += tests/probe/probe.sh
TESTS += tests/probe/probe.sh
