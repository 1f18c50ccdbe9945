#!/bin/sh
# A graphics card for a quarter of an hour: what is right on it, then how fast it is.  Needs nothing but this tree.
#
#     tests/bench/on-card.sh [--out FOLDER] [--build FOLDER] [--only PATTERN] [DEVICE]
#
# First ops and models: each op's quick cases, with all of the device's capabilities and with none, on its halves and in buffers
# that end where tensors end; the bundled model against the cpu device.  Then figures: the standard cases of engine-bench, what
# PyTorch does in the same cases where python3 has it (card-peers.py), a random model of a few hundred MB.  With what time is
# left, the suite's full list.  Ops are checked as many at a time as there are processors; figures are taken alone.
# DEVICE: the first opencl device that is no processor, or the first.  PATTERN: only steps whose names match it (grep -E).
# FOLDER (on-card) gets the logs and reports, and summary.txt, which is printed: a line a step.
# ON_CARD_SECONDS (900): all together; a step that the time does not suffice for is called "not tried".
# Exit code: 0 all that was tried is right, 1 something is not, 77 there is no OpenCL device.
set -u
# shellcheck disable=SC2086

here=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd) out=on-card build=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)/build device= only=.
while [ $# -gt 0 ]; do
    case $1 in
    --out) out=$2; shift ;;
    --build) build=$2; shift ;;
    --only) only=$2; shift ;;
    -*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'; exit 64 ;;
    *) device=$1 ;;
    esac
    shift
done
total=${ON_CARD_SECONDS:-900} began=$(date +%s) failed=0
mkdir -p "$out" || exit 1
out=$(CDPATH= cd -- "$out" && pwd)
: > "$out/summary.txt"

say() { printf '%s\n' "$*" | tee -a "$out/summary.txt"; }
left() { echo $((total - $(date +%s) + began)); }

# How many cells a log has of each kind, where it has some: the sums of what runs of the conformance suite say last.
counts() {
    awk '/^# [^ ]*: [0-9]+ cells, / { runs++
             for (i = 4; i < NF; i += 2) { kind = $i; sub(/,$/, "", kind); sum[kind] += $(i - 1) } }
         END { if (runs) printf ": %d cells, %d passed, %d failed, %d unsupported", sum["cells"], sum["passed"], sum["failed"], sum["unsupported"] }' "$1"
}

# step NAME SECONDS COMMAND...: its output in NAME.log; no longer than SECONDS, nor than what is left
step() {
    name=$1 limit=$2
    shift 2
    echo "$name" | grep -qE -- "$only" || return 0
    [ "$(left)" -lt "$limit" ] && limit=$(left)
    if [ "$limit" -lt 10 ]; then
        say "not tried  $name (no time left)"
        return
    fi
    start=$(date +%s)
    timeout "$limit" "$@" > "$out/$name.log" 2>&1
    status=$?
    took=$(($(date +%s) - start))
    case $status in
    0) say "right      $name (${took} s)$(counts "$out/$name.log")" ;;
    77) say "not tried  $name: $(tail -1 "$out/$name.log")" ;;
    124) say "unfinished $name: stopped after $took s$(awk '/^# pass/ { p++ } /^# FAIL/ { f++ }
             END { if (p + f) printf ", cases right: %d, wrong: %d", p, f }' "$out/$name.log")"
         ! grep -q '^# FAIL' "$out/$name.log" || failed=1 ;;
    *) say "FAILED     $name: exit code $status"
       grep -h '^# FAIL\|^#   \|^not ok' "$out/$name.log" | head -5 | tee -a "$out/summary.txt"
       failed=1 ;;
    esac
}

# -- what there is ------------------------------------------------------------------------------

if [ ! -x "$build/engine-probe" ] || [ ! -x "$build/tests/conformance/conformance" ]; then
    say "building in $build, which is not counted"
    (mkdir -p "$build" && cd "$build" && { [ -x "$here/configure" ] || (cd "$here" && autoreconf -fi); } &&
        { [ -f Makefile ] || "$here/configure" --quiet; } && make -s -j"$(nproc)" all &&
        make -s -j"$(nproc)" check TESTS=) > "$out/build.log" 2>&1 || { say "FAILED     build: see $out/build.log"; exit 1; }
    began=$(date +%s)
fi
build=$(CDPATH= cd -- "$build" && pwd)
cd "$build" || exit 1
ENGINE_PLUGIN_PATH=$(for n in cpu opencl meta null; do printf '%s/plugins/%s/.libs:' "$build" $n; done)
export ENGINE_PLUGIN_PATH
# Containers often have NVIDIA's driver without the file that tells the loader of it.
nvidia=$(ls /usr/local/nvidia/lib64/libnvidia-opencl.so.1 2> /dev/null ||
    ldconfig -p 2> /dev/null | sed -n 's/.*=> \(.*libnvidia-opencl\.so\.1\)$/\1/p' | head -1)
if [ ! -e /etc/OpenCL/vendors/nvidia.icd ] && [ -n "$nvidia" ]; then
    mkdir -p "$out/vendors"
    cp /etc/OpenCL/vendors/*.icd "$out/vendors/" 2> /dev/null
    echo "$nvidia" > "$out/vendors/nvidia.icd"
    OCL_ICD_VENDORS=$out/vendors
    export OCL_ICD_VENDORS
fi
ready=$(./engine-probe --format=tsv | awk -F '\t' '$1 ~ /^opencl:/ && $6 == "ready"')
device=${device:-$(echo "$ready" | awk -F '\t' '$2 != "cpu" { print $1; exit }')}
device=${device:-$(echo "$ready" | awk -F '\t' '{ print $1; exit }')}
if [ -z "$device" ]; then
    say "no OpenCL device: see engine-probe --plugins"
    ./engine-probe --plugins > "$out/plugins.log" 2>&1
    exit 77
fi
ENG_TEST_OPENCL=$device
export ENG_TEST_OPENCL
./engine-probe "$device" > "$out/device.log" 2>&1
./engine-probe --json > "$out/probe.json" 2> /dev/null
say "$device: $(echo "$ready" | awk -F '\t' -v d="$device" '$1 == d { print $3 ", driver " $5 }')"
command -v nvidia-smi > /dev/null && nvidia-smi > "$out/nvidia-smi.log" 2>&1

# -- right ---------------------------------------------------------------------------------------

data=$here/tests/data conformance="tests/conformance/conformance --verbose"

# The suite's ops side by side: a run for each, of products and attention one for each type of a and k.
jobs=$(tests/conformance/conformance --list | awk '$1 !~ /:$/ { next }
    { op = $1; sub(/:$/, "", op); type = "" }
    op == "mul_mat" && match($0, / a=[a-zA-Z0-9_]+/) { type = substr($0, RSTART, RLENGTH) }
    op == "attention" && match($0, / k=[a-zA-Z0-9_]+/) { type = substr($0, RSTART, RLENGTH) }
    !seen[op type]++ { print op type }' | sort -r)
one_job='
    op=${1%% *} type=${1#"$op"}
    part=$(mktemp) || exit 1
    $suite --ops "$op" ${type:+--filter ${type# }} > "$part" 2>&1
    status=$?
    cat "$part" # at once, so that no lines are mixed
    rm -f "$part"
    exit "$status"
'
ops() { # NAME SECONDS OPTION... DEVICE
    name=$1 limit=$2
    shift 2
    suite="$conformance $*"
    export suite one_job jobs
    step "$name" "$limit" sh -c 'echo "$jobs" | xargs -P "$(nproc)" -I JOB sh -c "$one_job" one_job JOB'
}

# The bundled model's cross entropy is that of the cpu device to 1e-4.
same_model='
entropy() { ./engine-generate -m "$1/tiny-hybrid-f16.gguf" -d "$2" --perplexity "$1/valid.txt" -c 256 --chunks 4; }
here=$(entropy "$1" "$2") && there=$(entropy "$1" cpu) || exit 1
echo "cross entropy $here on $2, $there on cpu"
awk -v a="$here" -v b="$there" "BEGIN { exit !(a - b < 1e-4 && b - a < 1e-4) }"
'

tenth=$((total / 10))
ops ops $((3 * tenth)) "$device"
step model "$tenth" sh -c "$same_model" model "$data" "$device"
step model-halves "$tenth" sh -c "$same_model" model "$data" "$device/2"
step plugin "$tenth" tests/opencl/test-opencl
step beyond "$tenth" tests/opencl/test-beyond
ops no-capability $((2 * tenth)) --option opencl.capabilities=none "$device"

# -- fast ----------------------------------------------------------------------------------------

# Kernels are compiled first, on all processors; then one report for each op, so that what is finished stays.
step compile $((2 * tenth)) sh -c './engine-bench --list | tr "\n" "\0" |
    xargs -0 -P "$(nproc)" -I CASE ./engine-bench -d "$1" -s 0 -w 0 CASE' compile "$device"
for op in $(./engine-bench --list | awk '!seen[$1]++ { print $1 }'); do
    step "bench-$op" $((2 * tenth)) sh -c "./engine-bench -d '$device' -s 0.2 -f '^$op ' --json > '$out/bench-$op.json'"
done
step peers "$tenth" python3 "$here/tests/bench/card-peers.py"
step make-model "$tenth" tests/tools/make-model --arch llama --large "$out/random.gguf"
step bench-model $((2 * tenth)) ./engine-bench -d "$device" -m "$out/random.gguf"
step bench-halves "$tenth" ./engine-bench -d "$device/2" -m "$out/random.gguf"
rm -f "$out/random.gguf"

# -- with what time is left ---------------------------------------------------------------------------

ops apart $((2 * tenth)) --option opencl.apart=yes "$device"
ops ops-halves $((2 * tenth)) "$device/2"
step ops-full "$total" $conformance --full "$device"
say "logs and reports: $out"
exit "$failed"
