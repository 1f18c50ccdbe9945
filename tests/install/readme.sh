#!/bin/sh
# The host program in README.md compiles and runs, as it stands there.
set -u
. "${top_srcdir:-.}/tests/tap.sh"
need cpu
sed -n '/^```c$/,/^```$/p' "$src/README.md" | sed '/^```/d' > "$tmp/host.c"
lines=$(wc -l < "$tmp/host.c")
# shellcheck disable=SC2086 # a compiler may be two words: "ccache gcc"
${CC:-cc} ${ENG_TEST_CFLAGS:-} -std=c11 -Wall -Wextra -Werror -I"$src/include" "$tmp/host.c" -o "$tmp/host" \
    -L"$out/.libs" -lengine -Wl,-rpath,"$out/.libs" > "$tmp/log" 2>&1
result $? "the host program of README.md compiles ($lines lines)"
"$tmp/host" > "$tmp/log" 2>&1 && test "$(cat "$tmp/log")" = "11 22 33 44"
result $? "it runs: $(cat "$tmp/log")"
finish
