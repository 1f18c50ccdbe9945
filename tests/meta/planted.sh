#!/bin/sh
# Every planted fault applies to the planner as it is, and what it makes of it is still C:
# so that the faults follow when the planner moves on, and not when check-planted is run.
# TAP on stdout.
meta=${top_srcdir:-.}/plugins/meta
here=${top_srcdir:-.}/tests/meta/planted
work=$(mktemp -d "${TMPDIR:-/tmp}/applies.XXXXXX") || exit 1
trap 'rm -rf "$work"' 0
trap 'exit 1' 1 2 15
n=0

for edit in "$here"/*.sed; do
    fault=$(basename "$edit" .sed)
    file=$(sed -n 's/^# file: //p' "$edit")
    why=
    if ! sed -f "$edit" "$meta/$file" >"$work/edited.c"; then
        why="sed cannot do it"
    elif cmp -s "$meta/$file" "$work/edited.c"; then
        why="it changes nothing in plugins/meta/$file any more"
    elif ! ${CC:-cc} -std=gnu11 -fsyntax-only -I"${top_srcdir:-.}/include" -I"${top_srcdir:-.}" -I"$meta/$(dirname "$file")" "$work/edited.c" 2>"$work/errors"; then
        why="plugins/meta/$file does not compile with it"
        sed 's/^/# /' "$work/errors"
    fi
    n=$((n + 1))
    if test "$why"; then
        echo "# mend tests/meta/planted/$fault.sed: $why"
        echo "not ok $n - $fault applies"
    else
        echo "ok $n - $fault applies"
    fi
done
echo "1..$n"
