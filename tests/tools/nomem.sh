#!/bin/sh
# Tools, the libraries and plugins in them without memory at one point: they say so and fail, or do without, and crash
# nowhere.  TAP.
#
#     nomem.sh [POINTS]
#
# POINTS: how many of the calls that could fail are tried, of each part (8), evenly spread.
top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
points=${1:-8}
case $ENG_BUILD_CFLAGS in *-fsanitize*) echo "1..0 # SKIP sanitizers have their own malloc"; exit 0 ;; esac
preload=$top_builddir/tests/tools/.libs/failing.so
test -f "$preload" || { echo "1..0 # SKIP there is no shared library to load before a program"; exit 0; }
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
n=0
says=memory
ENGINE_NULL_ACCEPT=measure
LD_LIBRARY_PATH=$top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export ENGINE_NULL_ACCEPT LD_LIBRARY_PATH

# without PART TOOL ARGUMENT...: PART (of a path) has no memory at one call after the other.
without()
{
    part=$1 tool=$2
    shift 2
    program=$top_builddir/${tool%"${tool##*/}"}.libs/${tool##*/}
    test -f "$program" || program=$top_builddir/$tool
    env LD_PRELOAD="$preload" ENG_TEST_FAIL_IN="$part" ENG_TEST_COUNT="$dir/count" "$program" "$@" >/dev/null 2>"$dir/err"
    calls=$(cat "$dir/count")
    step=$((calls / points + 1)) at=1 failed=0 tried=0
    while [ "$at" -le "$calls" ]; do
        env LD_PRELOAD="$preload" ENG_TEST_FAIL_IN="$part" ENG_TEST_FAIL_AT=$at timeout 300 "$program" "$@" >/dev/null 2>"$dir/err"
        code=$?
        if [ $code -ge 124 ] || { [ $code != 0 ] && ! grep -q "$says" "$dir/err"; }; then
            echo "# ENG_TEST_FAIL_IN=$part ENG_TEST_FAIL_AT=$at: exit code $code, $(head -n 1 "$dir/err")"
            failed=$((failed + 1))
        fi
        at=$((at + step)) tried=$((tried + 1))
    done
    n=$((n + 1))
    [ $failed = 0 ] && [ $tried != 0 ] || printf 'not '
    echo "ok $n - $tool $*: $part without memory at $tried of $calls calls"
}

model=$top_srcdir/tests/data/tiny-hybrid-f16.gguf
without engine- engine-probe
without engine- engine-probe --plugins --json --no-isolate
without libengine.so engine-probe --no-isolate null
for part in engine- libengine.so libengine-lm.so meta.so null.so; do
    without $part engine-generate -m "$model" -d null/2 -p x -n 2
done
without cpu.so engine-generate -m "$model" -d cpu/2 -p x -n 2
without engine- engine-quantize -q --force "$model" "$dir/out.gguf" q8_0
# programs are told by the code, about none of what was given; of what a plugin said when it was opened there is the text
says='^dump-graph: code 1, index -1: .*memory\|is not usable (open)'
for part in libengine.so libengine-lm.so meta.so null.so; do
    without $part tests/golden/dump-graph null/2 "$model" 2
done
without cpu.so tests/golden/dump-graph cpu/2 "$model" 2
says=memory
"$top_builddir/tests/tools/make-model" --arch llama --layers 1 --embd 32 --ffn 32 --vocab 300 --heads 1 --kv-heads 1 "$dir/one.gguf" \
    >/dev/null
"$top_builddir/tests/tools/make-model" --arch llama --layers 1 --embd 256 --ffn 256 --vocab 300 --heads 1 --kv-heads 1 "$dir/two.gguf" \
    >/dev/null
head -c 2000 "$top_srcdir/tests/data/valid.txt" > "$dir/text"
for part in engine- libengine-lm.so; do
    without $part engine-generate -m "$dir/two.gguf" -d cpu --perplexity "$dir/text" --chunks 1 -c 64 --imatrix-out "$dir/importance.gguf"
done
"$top_builddir/engine-generate" -m "$dir/two.gguf" -d cpu --perplexity "$dir/text" --chunks 1 -c 64 --imatrix-out "$dir/importance.gguf" >/dev/null 2>&1
without engine- engine-quantize -q --force --imatrix "$dir/importance.gguf" "$dir/two.gguf" "$dir/out.gguf" iq2_xxs
points=$((points * 1000)) # where a queue has work left: every call
without libengine.so engine-quantize -q --force "$dir/one.gguf" "$dir/out.gguf" q8_0
echo "1..$n"
