#!/bin/sh
# Experts in pieces: those of the second piece have a list of their own.
bin=${top_builddir:-.}
"$bin/engine-probe" opencl:0 >/dev/null 2>&1 || { echo "1..0 # SKIP there is no opencl:0"; exit 0; }
exec "$bin/tests/conformance/conformance" --lenient --option opencl.max_alloc=100K --ops mul_mat_id --filter 'm=40 k=96 e=32' opencl:0
