#!/bin/sh
# Weights in lanes, in pieces: they are cut between rows that lie side by side.
bin=${top_builddir:-.}
"$bin/engine-probe" opencl:0 >/dev/null 2>&1 || { echo "1..0 # SKIP there is no opencl:0"; exit 0; }
exec "$bin/tests/conformance/conformance" --lenient --option opencl.max_alloc=6000 --ops mul_mat,get_rows --filter 'q4_K' opencl:0
