#!/bin/sh
# What make check has of check-gpu-build: programs are listed, and the judge finds a spill, a register too many and a kernel
# without a budget.  Compiling takes other tools, and longer.
src=${top_srcdir:-.} build=${top_builddir:-.} n=0 failed=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

verdict() { # GOOD TEXT
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; failed=1; fi
}

judge() { # MEASURED: what it says of it, and whether it is right
    printf '# c\nproduct nvidia 64 0 1024 4\n' > "$tmp/budget"
    printf '%s\n' "$1" > "$tmp/measured"
    awk -f "$src/tests/gpu/judge.awk" "$tmp/budget" "$tmp/measured" > "$tmp/said"
}

judge "p-1 sm_90a product 64 0 1024 10 40 0"
verdict $? "a kernel as its budget allows"
judge "p-1 sm_90a product 65 0 1024 10 40 0"
[ $? = 1 ] && grep -q "registers 65, budget 64" "$tmp/said"
verdict $? "a register too many"
judge "p-1 sm_90a product 64 8 1024 10 40 0"
[ $? = 1 ] && grep -q "scratch 8, budget 0.*p-1 sm_90a" "$tmp/said"
verdict $? "a spill, with the program that has it"
judge "p-1 sm_90a product 64 0 1024 10 39 0"
[ $? = 1 ] && grep -q "loads 3.9 bytes, budget 4" "$tmp/said"
verdict $? "narrower loads"
printf '# c\nproduct nvidia 64 0 1024 4 8\n' > "$tmp/budget"
printf '%s\n' "p-1 sm_90a product 64 0 1024 10 40 7" > "$tmp/measured"
awk -f "$src/tests/gpu/judge.awk" "$tmp/budget" "$tmp/measured" > "$tmp/said"
[ $? = 1 ] && grep -q "matrix instructions 7, budget 8" "$tmp/said"
verdict $? "fewer matrix instructions"
judge "p-1 gfx942 product 64 0 1024 10 40 0"
[ $? = 1 ] && grep -q "product amd: it has no line" "$tmp/said"
verdict $? "a kernel without a budget"
printf '# c\nproduct amd 64 0 1024 -\nproduct gfx906 64 8 1024 -\n' > "$tmp/budget"
printf '%s\n' "p-1 gfx906 product 64 8 1024 10 40 0" "p-1 gfx942 product 64 0 1024 10 40 0" > "$tmp/measured"
awk -f "$src/tests/gpu/judge.awk" "$tmp/budget" "$tmp/measured" > "$tmp/said"
verdict $? "a card with a line of its own"
sed -i 's/gfx906/gfx900/' "$tmp/measured"
awk -f "$src/tests/gpu/judge.awk" "$tmp/budget" "$tmp/measured" > "$tmp/said"
[ $? = 1 ] && grep -q "product amd: scratch 8, budget 0" "$tmp/said"
verdict $? "which another card does not have"

if "$build/tests/gpu/list-builds" "$tmp" --ops mul_mat > "$tmp/log" 2>&1; then
    listed=$(grep -l '^// options: .*-DSIMT=1 .*-DAT=q4_0 .*-DCOLS=1$' "$tmp"/mul_mat-*.cl | wc -l)
    [ "$listed" = 1 ]
    verdict $? "the programs that the plugin builds, each once"
    cat "$tmp"/mul_mat-*.cl | grep -q '^KERNEL(.*, mul_mat_rows,' && ! grep -q '^#include' "$tmp"/*.cl
    verdict $? "with their whole text"
    mkdir "$tmp/models"
    "$build/tests/gpu/list-builds" "$tmp/models" --ops '' --model "$src/tests/data/tiny-hybrid-f16.gguf" > "$tmp/log" 2>&1 &&
        [ -e "$(ls "$tmp"/models/heads-*.cl | head -1)" ] && [ -e "$(ls "$tmp"/models/chain-*.cl | head -1)" ]
    verdict $? "those of a model, with what fusion makes of its ops"
else
    sed 's/^/# /' "$tmp/log"
    grep -q "no OpenCL device" "$tmp/log"
    verdict $? "programs are listed, or there is no device to list them for"
fi
echo "1..$n"
exit "$failed"
