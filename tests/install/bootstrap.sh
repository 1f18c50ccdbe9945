#!/bin/sh
# The first five minutes: what bootstrap.sh asks for, and what it and configure refuse at once.  TAP.
set -u
. "${top_srcdir:-.}/tests/tap.sh"

sh "$src/bootstrap.sh" packages > "$tmp/run" 2> "$tmp/log"
sh "$src/bootstrap.sh" packages check > "$tmp/check" 2>> "$tmp/log"
grep -q libltdl-dev "$tmp/run" && ! grep -qE 'valgrind|dbg|clinfo| check' "$tmp/run"
result $? "run asks for what building and running need alone"
grep -q libltdl-dev "$tmp/check" && grep -q valgrind "$tmp/check"
result $? "check asks for more"

mkdir "$tmp/a space"
cp "$src/bootstrap.sh" "$tmp/a space/"
code=0
begin=$(date +%s)
sh "$tmp/a space/bootstrap.sh" build > "$tmp/log" 2>&1 || code=$?
test $code = 1 && grep -q 'has a space in it' "$tmp/log" && test $(($(date +%s) - begin)) -le 2
result $? "bootstrap.sh refuses a path with a space at once"

if test -x "$src/configure"; then
    code=0
    (cd "$tmp/a space" && "$src/configure" --quiet) > "$tmp/log" 2>&1 || code=$?
    test $code != 0 && grep -q 'a path with a space' "$tmp/log" && test ! -f "$tmp/a space/Makefile"
    result $? "configure, too: $(grep -m 1 error "$tmp/log")"
    mkdir "$tmp/static"
    code=0
    (cd "$tmp/static" && "$src/configure" --quiet --disable-shared --enable-static) > "$tmp/log" 2>&1 || code=$?
    test $code != 0 && grep -q 'leave out --disable-shared' "$tmp/log"
    result $? "configure refuses to build no shared libraries: $(grep -m 1 error "$tmp/log")"
    if test -f "$src/config.status"; then # automake's own check comes first
        skip "or only those of others" "the source folder is configured itself"
    else
        mkdir "$tmp/others"
        code=0
        (cd "$tmp/others" && "$src/configure" --quiet --enable-shared=libothers) > "$tmp/log" 2>&1 || code=$?
        test $code != 0 && grep -q 'say --enable-shared' "$tmp/log" && test ! -f "$tmp/others/Makefile"
        result $? "or only those of others: $(grep -m 1 error "$tmp/log")"
    fi
fi

if command -v aclocal > "$tmp/log" 2>&1; then
    mkdir "$tmp/tree"
    cp "$src/configure.ac" "$tmp/tree/"
    (cd "$tmp/tree" && aclocal -Wall $(sed -n 's/^ACLOCAL_AMFLAGS *= *//p' "$src/Makefile.am")) > "$tmp/log" 2>&1 && test ! -s "$tmp/log"
    result $? "aclocal has nothing to say"
fi
finish
