# Unit tests are Check programs; their TAP output feeds automake's harness.
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
# Where the plugins of this tree are; nothing of the system or the user is used.
tree_plugins = $(abs_top_builddir)/plugins/cpu/.libs:$(abs_top_builddir)/plugins/opencl/.libs:$(abs_top_builddir)/plugins/meta/.libs:$(abs_top_builddir)/plugins/null/.libs
AM_TESTS_ENVIRONMENT = \
	CK_TAP_LOG_FILE_NAME=-; export CK_TAP_LOG_FILE_NAME; \
	CK_VERBOSITY=silent; export CK_VERBOSITY; \
	ENGINE_PLUGIN_PATH='$(tree_plugins)'; export ENGINE_PLUGIN_PATH; \
	ENGINE_CACHE_DIR='$(abs_top_builddir)/tests/cache'; export ENGINE_CACHE_DIR; \
	ENGINE_COMPILERS=0; export ENGINE_COMPILERS; \
	LSAN_OPTIONS='suppressions=$(abs_srcdir)/tests/lsan.supp'; export LSAN_OPTIONS; \
	CC='$(CC)'; export CC; \
	ENG_TEST_CFLAGS='$(ENG_TEST_CFLAGS)'; export ENG_TEST_CFLAGS; \
	ENG_BUILD_CFLAGS='$(ENG_CFLAGS) $(CFLAGS)'; export ENG_BUILD_CFLAGS; \
	top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir;

# What a unit test of the core is linked with: the real code, inner functions too.
core_test_libs = libengine-core.la $(CHECK_LIBS)

# Which plugins there are, for tests of which a part needs one.  Programs that need one as a whole are not built without it, scripts
# skip themselves (tests/tap.sh), and tests/install/plugins.sh says what was left out.
have_plugins =
if ENABLE_CPU
have_plugins += -DHAVE_CPU
endif
if ENABLE_META
have_plugins += -DHAVE_META
endif

# What scripts print their results with.
EXTRA_DIST += tests/tap.sh

# What stays in memory after failures, in short forms also by make check: each OpenCL call fails in several ways, each request for
# memory of random graphs and of a language model.
leak_tests =
.PHONY: check-leaks
check-leaks: all $(check_PROGRAMS)
	$(AM_TESTS_ENVIRONMENT) failed=0; for test in $(leak_tests); do echo "# $$test"; \
	  case $$test in */test-leaks) $$test --full --each ;; *) $$test ;; esac || failed=1; done; exit $$failed

include %D%/util/local.mk
include %D%/reference/local.mk
include %D%/conformance/local.mk
include %D%/registry/local.mk
include %D%/graph/local.mk
include %D%/executor/local.mk
include %D%/abi/local.mk
include %D%/memory/local.mk
include %D%/peers/local.mk
include %D%/meta/local.mk
include %D%/cpu/local.mk
include %D%/opencl/local.mk
include %D%/gpu/local.mk
include %D%/arm/local.mk
include %D%/lm/local.mk
include %D%/chat/local.mk
include %D%/fuzz/local.mk
include %D%/tools/local.mk
include %D%/golden/local.mk
include %D%/probe/local.mk
include %D%/layering/local.mk
include %D%/mutants/local.mk
include %D%/install/local.mk

clean-local:
	rm -rf tests/cache tests/arm/tree tests/mutants/tree tests/mutants/work tests/install/configurations tests/abi/kept tests/abi/kept-host tests/abi/plugin
