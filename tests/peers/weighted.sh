#!/bin/sh
# What ggml's encoders lose with importance, as tests/data/weighted.txt has it: GGML=FOLDER is its checkout.
src=${srcdir:-.}
if test -z "${GGML:-}" || ! test -f "$GGML/src/ggml-quants.c"; then
    echo "1..0 # SKIP GGML=FOLDER names no checkout of ggml"
    exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
echo 1..1
${CC:-cc} -O1 -static -Wl,--unresolved-symbols=ignore-all -I"$GGML/include" -I"$GGML/src" -I"$src/tests/peers" \
    -o "$tmp/weighted" "$src/tests/peers/weighted.c" "$GGML/src/ggml-quants.c" -lm > "$tmp/log" 2>&1 || {
    sed 's/^/# /' "$tmp/log"
    echo "not ok 1 - ggml's encoders compile"
    exit 0
}
"$tmp/weighted" > "$tmp/values"
if diff "$src/tests/data/weighted.txt" "$tmp/values" > "$tmp/diff"; then
    echo "ok 1 - tests/data/weighted.txt is what ggml encodes"
else
    sed 's/^/# /' "$tmp/diff"
    echo "not ok 1 - tests/data/weighted.txt is what ggml encodes"
fi
