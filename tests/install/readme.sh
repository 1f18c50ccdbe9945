#!/bin/sh
# The host program in README.md compiles and runs, as it stands there.
set -u
src=${top_srcdir:-.}
out=${top_builddir:-.}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
echo 1..2
sed -n '/^```c$/,/^```$/p' "$src/README.md" | sed '/^```/d' > "$tmp/host.c"
lines=$(wc -l < "$tmp/host.c")
# shellcheck disable=SC2086 # a compiler may be two words: "ccache gcc"
if ${CC:-cc} ${ENG_TEST_CFLAGS:-} -std=c11 -Wall -Wextra -Werror -I"$src/include" "$tmp/host.c" -o "$tmp/host" \
        -L"$out/.libs" -lengine -Wl,-rpath,"$(cd "$out" && pwd)/.libs" > "$tmp/log" 2>&1; then
    echo "ok 1 - the host program of README.md compiles ($lines lines)"
else
    sed 's/^/# /' "$tmp/log"
    echo "not ok 1 - the host program of README.md compiles"
fi
if text=$("$tmp/host" 2>&1) && test "$text" = "11 22 33 44"; then
    echo "ok 2 - it runs: $text"
else
    echo "# it said: $text"
    echo "not ok 2 - the host program of README.md runs"
fi
