#!/bin/sh
# How long a first token takes with nothing compiled, and at the next start: by turns, without other processes that compile and with them.
#     tests/bench/first-token.sh MODEL [DEVICE [ROUNDS]]
# Caches are empty folders (POCL_CACHE_DIR, XDG_CACHE_HOME); the caches of other drivers are emptied by hand.  The programs are those of
# ENGINE_BUILD (build), or else of PATH.
set -eu
model=$1
device=${2:-opencl:0}
rounds=${3:-6}
PATH=${ENGINE_BUILD:-build}:$PATH
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset ENGINE_CACHE_DIR ENGINE_COMPILERS

seconds() { date +%s.%N; }
# first NAME OPTION...: seconds to the first letter, to $tmp/NAME
first()
{
    name=$1
    shift
    : > "$tmp/text"
    begin=$(seconds)
    POCL_CACHE_DIR=$tmp/caches/pocl XDG_CACHE_HOME=$tmp/caches/ours engine-generate -m "$model" -d "$device" -p "bug: n." -n 2 --temp 0 "$@" \
        > "$tmp/text" 2> "$tmp/err" &
    while ! test -s "$tmp/text" && kill -0 $! 2> /dev/null; do sleep 0.01; done
    echo "$(seconds) - $begin" | bc >> "$tmp/$name"
    wait $! || cat "$tmp/err"
}

for round in $(seq "$rounds"); do
    for compilers in 0 default; do
        rm -rf "$tmp/caches"
        mkdir -p "$tmp/caches/pocl" "$tmp/caches/ours"
        if test $compilers = 0; then set -- --compilers 0; else set --; fi
        first "cold-$compilers" "$@"
        first "warm-$compilers" "$@"
    done
    echo "round $round" >&2
done
for name in cold-0 cold-default warm-0 warm-default; do
    echo "$name: $(sort -n "$tmp/$name" | tr '\n' ' ')"
done
