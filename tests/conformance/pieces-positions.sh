#!/bin/sh
# Rope whose positions, four of each token, lie in pieces: it is refused, or right.
bin=${top_builddir:-.}
"$bin/engine-probe" opencl:0 >/dev/null 2>&1 || { echo "1..0 # SKIP there is no opencl:0"; exit 0; }
exec "$bin/tests/conformance/conformance" --lenient --option opencl.max_alloc=1024 --ops rope --filter 'mode=8' opencl:0
