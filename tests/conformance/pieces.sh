#!/bin/sh
# Attention over caches in pieces, cut at other cells than those of the next head; check-full has all ops in pieces.
bin=${top_builddir:-.}
"$bin/engine-probe" opencl:0 >/dev/null 2>&1 || { echo "1..0 # SKIP there is no opencl:0"; exit 0; }
exec "$bin/tests/conformance/conformance" --lenient --option opencl.max_alloc=65536 --ops attention --filter cells=1500 opencl:0
