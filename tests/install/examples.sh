#!/bin/sh
# The programs of examples/ compile against the installed headers alone and run, on one device and on parts of it.
set -u
src=${top_srcdir:-.}
out=${top_builddir:-.}
model=$src/tests/data/tiny-hybrid-f16.gguf
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0

# result STATUS TEXT
result()
{
    n=$((n + 1))
    if test "$1" = 0; then
        echo "ok $n - $2"
    else
        sed 's/^/# /' "$tmp/log"
        echo "not ok $n - $2"
    fi
}

for name in split generate; do
    # shellcheck disable=SC2086 # a compiler may be two words: "ccache gcc"
    ${CC:-cc} ${ENG_TEST_CFLAGS:-} -std=c11 -Wall -Wextra -Werror -I"$src/include" "$src/examples/$name.c" -o "$tmp/$name" \
        -L"$out/.libs" -lengine-lm -lengine -lm -Wl,-rpath,"$(cd "$out" && pwd)/.libs" > "$tmp/log" 2>&1
    result $? "examples/$name.c compiles ($(wc -l < "$src/examples/$name.c") lines)"
done
for device in cpu cpu/2 cpu/3@3:1:0; do
    "$tmp/split" "$device" > "$tmp/log" 2>&1
    result $? "split on $device: $(tail -n 1 "$tmp/log")"
done
"$tmp/generate" "$model" cpu "The king" 20 > "$tmp/whole" 2> "$tmp/log" && grep -q '^The king .' "$tmp/whole"
result $? "generate on cpu: $(cat "$tmp/whole")"
"$tmp/generate" "$model" cpu/3@3:1:1 "The king" 20 > "$tmp/log" 2>&1 && cmp -s "$tmp/whole" "$tmp/log"
result $? "generate on cpu/3@3:1:1 writes the same text"
! "$tmp/split" nope > "$tmp/log" 2>&1 && grep -q "^split: device 'nope': there is no plugin 'nope'" "$tmp/log"
result $? "a device that is not there: $(cat "$tmp/log")"
echo "1..$n"
