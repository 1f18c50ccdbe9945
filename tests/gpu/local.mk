# The kernels of graphics cards, compiled for cards that are not here: docs/gpu.md.
if ENABLE_OPENCL
check_PROGRAMS += tests/gpu/list-builds
dist_check_SCRIPTS += tests/gpu/judge.sh tests/gpu/matrix.sh
TESTS += tests/gpu/judge.sh tests/gpu/matrix.sh
endif
tests_gpu_list_builds_SOURCES = %D%/list-builds.c
tests_gpu_list_builds_LDFLAGS = -export-dynamic
tests_gpu_list_builds_LDADD = tests/conformance/libconformance.la libengine-lm.la libengine.la $(OPENCL_LIBS) $(LIBM)

# Products by matrix units emulated in C, every type; `make check` has some.
check-gpu-matrix: all tests/conformance/conformance$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/gpu/matrix.sh all
.PHONY: check-gpu-matrix

# About twenty minutes on two cores; GPU_OPS=mul_mat GPU_TARGETS="sm_90a gfx942": two.
.PHONY: check-gpu-build
check-gpu-build: all tests/gpu/list-builds$(EXEEXT) tests/tools/make-model$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/gpu/check-gpu-build $(srcdir) .
EXTRA_DIST += %D%/check-gpu-build %D%/judge.awk %D%/budget tests/bench/on-card.sh tests/bench/card-peers.py tests/bench/against-llama.py tests/bench/shares.py tests/bench/first-token.sh
