#!/bin/sh
# The conformance suite once for each instruction set of the cpu plugin that
# this machine has, and with more threads than it has cores.
suite=./tests/conformance/conformance
number=0
echo 1..13

# label, options
run() {
    number=$((number + 1))
    label=$1
    shift
    if output=$($suite "$@" cpu 2>&1); then
        echo "ok $number - $label"
    elif echo "$output" | grep -q 'this processor lacks it'; then
        echo "ok $number - $label # SKIP this processor lacks it"
    else
        echo "not ok $number - $label"
        echo "$output" | grep -v '^ok' | sed 's/^/# /'
    fi
}

run "scalar" --option cpu.simd=scalar
run "avx2" --option cpu.simd=avx2
run "avx512" --option cpu.simd=avx512
run "avx2vnni" --option cpu.simd=avx2vnni --ops mul_mat,mul_mat_id
run "avx512vnni" --option cpu.simd=avx512vnni --ops mul_mat,mul_mat_id
run "amx" --option cpu.simd=amx --option cpu.amx=emulated --ops mul_mat,mul_mat_id
run "neon" --option cpu.simd=neon
run "neondot" --option cpu.simd=neondot --ops mul_mat,mul_mat_id
run "neonmm" --option cpu.simd=neonmm --ops mul_mat,mul_mat_id
run "five threads" --option cpu.threads=5 --ops mul_mat,mul_mat_id,attention,gated_delta_net,ssm_conv,ssm_scan,set_rows
for simd in scalar avx2 avx512; do
    run "past the caches, $simd" --option cpu.stream=yes --option cpu.simd=$simd \
        --ops cpy,hadamard,add,sub,mul,div,scale,clamp,unary,glu
done
