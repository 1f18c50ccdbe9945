# For scripts of this folder: what a program that is made of ggml's own file gives, as a file of tests/data/ has it.
# GGML=FOLDER is a checkout of ggml.  TAP.
src=${srcdir:-.}

# ggml_gives NAME VERB: tests/peers/NAME.c prints what tests/data/NAME.txt has, which ggml's functions VERB.
ggml_gives()
{
    if test -z "${GGML:-}" || ! test -f "$GGML/src/ggml-quants.c"; then
        echo "1..0 # SKIP GGML=FOLDER names no checkout of ggml"
        exit 0
    fi
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    echo 1..1
    # Of what the file needs besides, these functions need nothing.
    ${CC:-cc} -O1 -static -Wl,--unresolved-symbols=ignore-all -I"$GGML/include" -I"$GGML/src" -I"$src/tests/peers" \
        -o "$tmp/program" "$src/tests/peers/$1.c" "$GGML/src/ggml-quants.c" -lm > "$tmp/log" 2>&1 || {
        sed 's/^/# /' "$tmp/log"
        echo "not ok 1 - what ggml has to $2 compiles"
        exit 0
    }
    "$tmp/program" > "$tmp/values"
    if diff "$src/tests/data/$1.txt" "$tmp/values" > "$tmp/diff"; then
        echo "ok 1 - tests/data/$1.txt is what ggml ${2}s"
    else
        sed 's/^/# /' "$tmp/diff"
        echo "not ok 1 - tests/data/$1.txt is what ggml ${2}s"
    fi
}
