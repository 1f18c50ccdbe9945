#!/bin/sh
# The products that matrix units do (kernels/matrix_tile.clh, matrix_exact.clh, matrix_rows.clh, matrix_lanes.clh, attention_matrix.clh), or dot
# products of bytes (kernels/units_bytes.clh), sums over lanes that exchange registers (kernels/across.clh), and products of bf16
# on processors (kernels/bf16.clh) and what their tiles do (tiles.clh, strips_planes.clh, strips_joint.clh, attention_bfloats.clh), with the instruction in C: they run without a card, and are those that a card runs but for
# this.  Skipped where there is no OpenCL device.  Some types; with the argument `all`, each of them, and the products of
# precision exact by tiles.
build=${top_builddir:-.} n=0 failed=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

right() { # OPS FILTER [UNIT=KIND [FAMILY]]
    n=$((n + 1))
    if "$build/tests/conformance/conformance" --ops "$1" --filter "$2" --option "opencl.family=${4:-simt}" \
        --option "opencl.${3:-matrix=in-c}" opencl:0 > "$tmp/log" 2>&1; then
        echo "ok $n - $1, ${3:-matrix=in-c}, cases with '$2'"
    elif grep -q "there are 0 OpenCL devices\|there is no plugin" "$tmp/log"; then
        echo "ok $n - $1 # SKIP no OpenCL device"
    elif grep -q "its tiles need groups of" "$tmp/log"; then
        echo "ok $n - $1, ${3:-matrix=in-c} # SKIP the device has no groups, or no local memory, for that"
    else
        sed 's/^/# /' "$tmp/log" | tail -5
        echo "not ok $n - $1, cases with '$2'"
        failed=1
    fi
}

if test "${1:-}" = all; then
    right mul_mat "n=40"
    right mul_mat "matrix" # weights in lanes: exactly, too
    right get_rows "matrix"
    right mul_mat_id "matrix"
    right mul_mat_id "crowd"
    right mul_mat_id "fast"
    right attention " t=35 "
    right attention " t=80 "
    for kind in wmma wmma12 mfma dpas; do
        right mul_mat "n=40" "matrix=$kind-in-c"
        right mul_mat "a=f16 *fast" "matrix=$kind-in-c"
        right mul_mat_id "fast" "matrix=$kind-in-c"
        right mul_mat_id "plain" "matrix=$kind-in-c"
    done
    right mul_mat,mul_mat_id,rms_norm,soft_max,hadamard,gated_delta_net,ssm_scan,attention "" shuffle=in-c
    right mul_mat "n=40" dot4=in-c
    right mul_mat_id "fast" dot4=in-c
else
    for type in f16 q8_0 q5_1; do
        right mul_mat "a=$type *n=40*fast"
    done
    for type in q4_0 bf16 iq2_xs; do # exactly
        right mul_mat "a=$type *n=40"
    done
    right mul_mat_id "a=iq4_nl *plain"
    for type in q4_K q8_0 mxfp4; do # weights in lanes, exactly
        right mul_mat "a=$type *matrix"
    done
    right get_rows "matrix"
    for type in q4_K q8_0 mxfp4; do # experts: few and many tokens
        right mul_mat_id "a=$type *matrix"
        right mul_mat_id "a=$type *fast"
    done
    right mul_mat_id "crowd"
    right attention "k=f16 v=f16* d=64 * t=80" # exact and fast, a mask, values that are no numbers
    right attention "k=q8_0 v=q4_0* d=64 * t=80*fast"
    right attention "d=128 * t=35*oned"
    right attention "k=f16 v=f16* d=256 *t=80" # halves of the channels
    right attention "k=q4_0 v=iq4_nl* steep" # blocks, whose scales differ
    for kind in wmma wmma12 mfma dpas; do
        right mul_mat "a=f16 b=f32 *k=768*fast" "matrix=$kind-in-c" # tiles of 32 and of 128 columns
        right mul_mat "a=q8_0 *n=40" "matrix=$kind-in-c"
        right mul_mat "a=q2_K *n=40" "matrix=$kind-in-c" # exact alone
        right mul_mat_id "a=q4_K *fast" "matrix=$kind-in-c"
    done
    # sums over lanes that exchange registers
    right mul_mat "a=q4_K b=f32 *k=256" shuffle=in-c
    right mul_mat_id "a=q4_0 *ids/plain" shuffle=in-c
    right rms_norm,soft_max,hadamard "" shuffle=in-c
    right gated_delta_net "s=64 *tiled gate=-1 plain" shuffle=in-c
    right ssm_scan "n=16 *plain" shuffle=in-c
    right attention "d=128 *cells=3000" shuffle=in-c
    for type in q8_0 q5_1; do
        right mul_mat "a=$type *n=40*fast" dot4=in-c
    done
    right mul_mat "a=q4_K *n=33*fast" dot4=in-c
    right mul_mat_id "a=q4_K *fast" dot4=in-c
    right mul_mat "a=bf16 *n=40*fast" bf16=in-c vec
    right mul_mat "a=bf16 *n=40" tiles=in-c vec # rounded, and exact
    right mul_mat "a=q4_0 *n=512*fast" tiles=in-c vec # as in the file
    right mul_mat "a=q4_K *n=512*fast" tiles=in-c vec # in lanes: 48 rows are
    right mul_mat "a=f16 *n=100" tiles=in-c vec # and exactly
    for type in q4_0 q5_1 iq4_xs q2_K q3_K q6_K nvfp4; do # weights in lanes, exactly: digits, integers over blocks, and numbers of bf16
        right mul_mat "a=$type *matrix" tiles=in-c vec
    done
    right mul_mat_id "a=q4_K *matrix" tiles=in-c vec
    right mul_mat_id "crowd" tiles=in-c vec
    right attention "k=f16 v=f16* d=64 *t=80" tiles=in-c vec
    right attention "k=q8_0 v=q4_0* d=64 * t=80" tiles=in-c vec
    right attention "oned" tiles=in-c vec
    right attention "d=64 e=64*alibi*win=16*fast" tiles=in-c vec
    right attention "d=64 e=64*masked" tiles=in-c vec
    right gated_delta_net "s=64 *fast" tiles=in-c vec
    right gated_delta_net "s=128 hk=4*fast" tiles=in-c vec
    right mul_mat_id "a=bf16 *fast" bf16=in-c vec
fi
echo "1..$n"
exit "$failed"
