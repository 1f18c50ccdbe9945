#!/bin/sh
# What ggml's decoders give for the blocks of blocks.h, as tests/data/decoded.txt has it: GGML=FOLDER is its checkout.
src=${srcdir:-.}
if test -z "${GGML:-}" || ! test -f "$GGML/src/ggml-quants.c"; then
    echo "1..0 # SKIP GGML=FOLDER names no checkout of ggml"
    exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
echo 1..1
# Of what the file needs besides, the decoders need nothing.
${CC:-cc} -O1 -static -Wl,--unresolved-symbols=ignore-all -I"$GGML/include" -I"$GGML/src" -I"$src/tests/peers" \
    -o "$tmp/decoded" "$src/tests/peers/decoded.c" "$GGML/src/ggml-quants.c" -lm > "$tmp/log" 2>&1 || {
    sed 's/^/# /' "$tmp/log"
    echo "not ok 1 - ggml's decoders compile"
    exit 0
}
"$tmp/decoded" > "$tmp/values"
if diff "$src/tests/data/decoded.txt" "$tmp/values" > "$tmp/diff"; then
    echo "ok 1 - tests/data/decoded.txt is what ggml decodes"
else
    sed 's/^/# /' "$tmp/diff"
    echo "not ok 1 - tests/data/decoded.txt is what ggml decodes"
fi
