# Fixture plugins, one fault each, and the tests of the floors base, registry, device and engine.
if HAVE_CHECK
# -rpath: without it libtool would make no module of what is not installed
fixture_ldflags = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere -export-symbols-regex '_LTX_eng_plugin_descriptor$$'
check_LTLIBRARIES += \
	tests/registry/gone/libgone.la tests/registry/second/good.la \
	tests/registry/fixtures/good.la tests/registry/fixtures/symbol.la tests/registry/fixtures/dependency.la \
	tests/registry/fixtures/nodescriptor.la tests/registry/fixtures/magic.la tests/registry/fixtures/abimajor.la \
	tests/registry/fixtures/smalltable.la tests/registry/fixtures/nocall.la tests/registry/fixtures/wrongname.la \
	tests/registry/fixtures/openfails.la tests/registry/fixtures/nodevice.la tests/registry/fixtures/newer.la \
	tests/registry/fixtures/older.la tests/registry/fixtures/nostate.la tests/registry/fixtures/rude.la
tests_registry_fixtures_good_la_SOURCES = tests/registry/fixtures/good.c tests/registry/fixtures/fixture.h
tests_registry_fixtures_good_la_LDFLAGS = $(fixture_ldflags)
tests_registry_fixtures_symbol_la_SOURCES = tests/registry/fixtures/symbol.c tests/registry/fixtures/fixture.h
tests_registry_fixtures_symbol_la_LDFLAGS = $(fixture_ldflags)
tests_registry_fixtures_dependency_la_SOURCES = tests/registry/fixtures/dependency.c tests/registry/fixtures/fixture.h
tests_registry_fixtures_magic_la_SOURCES = tests/registry/fixtures/magic.c tests/registry/fixtures/fixture.h
tests_registry_fixtures_magic_la_LDFLAGS = $(fixture_ldflags)
tests_registry_fixtures_abimajor_la_SOURCES = tests/registry/fixtures/abimajor.c tests/registry/fixtures/fixture.h
tests_registry_fixtures_abimajor_la_LDFLAGS = $(fixture_ldflags)
tests_registry_fixtures_smalltable_la_SOURCES = tests/registry/fixtures/smalltable.c tests/registry/fixtures/fixture.h
tests_registry_fixtures_smalltable_la_LDFLAGS = $(fixture_ldflags)
tests_registry_fixtures_nocall_la_SOURCES = tests/registry/fixtures/nocall.c tests/registry/fixtures/fixture.h
tests_registry_fixtures_nocall_la_LDFLAGS = $(fixture_ldflags)
tests_registry_fixtures_wrongname_la_SOURCES = tests/registry/fixtures/wrongname.c tests/registry/fixtures/fixture.h
tests_registry_fixtures_wrongname_la_LDFLAGS = $(fixture_ldflags)
tests_registry_fixtures_openfails_la_SOURCES = tests/registry/fixtures/openfails.c tests/registry/fixtures/fixture.h
tests_registry_fixtures_openfails_la_LDFLAGS = $(fixture_ldflags)
tests_registry_fixtures_nodevice_la_SOURCES = tests/registry/fixtures/nodevice.c tests/registry/fixtures/fixture.h
tests_registry_fixtures_nodevice_la_LDFLAGS = $(fixture_ldflags)
tests_registry_fixtures_newer_la_SOURCES = tests/registry/fixtures/newer.c tests/registry/fixtures/fixture.h
tests_registry_fixtures_newer_la_LDFLAGS = $(fixture_ldflags)
tests_registry_fixtures_older_la_SOURCES = tests/registry/fixtures/older.c tests/registry/fixtures/fixture.h
tests_registry_fixtures_older_la_LDFLAGS = $(fixture_ldflags)
tests_registry_fixtures_nostate_la_SOURCES = tests/registry/fixtures/nostate.c tests/registry/fixtures/fixture.h
tests_registry_fixtures_nostate_la_LDFLAGS = $(fixture_ldflags)
tests_registry_fixtures_rude_la_SOURCES = tests/registry/fixtures/rude.c tests/registry/fixtures/fixture.h
tests_registry_fixtures_rude_la_LDFLAGS = $(fixture_ldflags)
# straight to the linker: libtool itself would note where the library lies
tests_registry_fixtures_dependency_la_LDFLAGS = $(fixture_ldflags) -Wl,tests/registry/gone/.libs/libgone.so
tests_registry_fixtures_dependency_la_DEPENDENCIES = tests/registry/gone/libgone.la
tests_registry_fixtures_nodescriptor_la_SOURCES = tests/registry/fixtures/nodescriptor.c
tests_registry_fixtures_nodescriptor_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere
tests_registry_second_good_la_SOURCES = tests/registry/second/good.c
tests_registry_second_good_la_LDFLAGS = $(fixture_ldflags)
tests_registry_gone_libgone_la_SOURCES = tests/registry/gone/gone.c
tests_registry_gone_libgone_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
tests_registry_gone_libgone_la_LDFLAGS = $(AM_LDFLAGS) -rpath /nowhere

registry_tests = tests/registry/test-base tests/registry/test-names tests/registry/test-registry tests/registry/test-device \
	tests/registry/test-misuse tests/registry/test-memory tests/registry/test-fork tests/registry/test-questions
check_PROGRAMS += $(registry_tests)
TESTS += $(registry_tests)
valgrind_tests += $(registry_tests)
tests_registry_test_base_SOURCES = tests/registry/test-base.c
tests_registry_test_base_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_registry_test_base_LDADD = $(core_test_libs)
tests_registry_test_names_SOURCES = tests/registry/test-names.c
tests_registry_test_names_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_registry_test_names_LDADD = $(core_test_libs)
tests_registry_test_registry_SOURCES = tests/registry/test-registry.c
tests_registry_test_registry_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_registry_test_registry_LDADD = $(core_test_libs)
tests_registry_test_device_SOURCES = tests/registry/test-device.c
tests_registry_test_device_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_registry_test_device_LDADD = $(core_test_libs)
tests_registry_test_memory_SOURCES = tests/registry/test-memory.c tests/tap.c tests/tap.h
tests_registry_test_memory_LDADD = libengine.la
tests_registry_test_fork_SOURCES = tests/registry/test-fork.c tests/tap.c tests/tap.h
tests_registry_test_fork_CPPFLAGS = $(AM_CPPFLAGS) $(have_plugins)
tests_registry_test_fork_LDADD = libengine.la
tests_registry_test_questions_SOURCES = tests/registry/test-questions.c tests/tap.c tests/tap.h
tests_registry_test_questions_LDADD = libengine.la
check_PROGRAMS += tests/registry/test-roof
TESTS += tests/registry/test-roof
tests_registry_test_roof_SOURCES = tests/registry/test-roof.c tests/tap.c tests/tap.h
tests_registry_test_roof_LDADD = libengine.la
tests_registry_test_misuse_SOURCES = tests/registry/test-misuse.c
tests_registry_test_misuse_CPPFLAGS = $(AM_CPPFLAGS) $(have_plugins)
tests_registry_test_misuse_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_registry_test_misuse_LDADD = $(core_test_libs)
endif
