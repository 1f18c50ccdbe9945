#!/bin/sh
# What the documents name is there: files (`store/place.c` is the end of a path of the tree, NAME stands for any name)
# and targets of make (`make check-cost`).
src=${srcdir:-.}
makefile=${top_builddir:-.}/Makefile
documents="$src/README.md $src/docs/*.md $src/plugins/null/README.md"

echo 1..2

missing=
for name in $(grep -ohE '`[A-Za-z0-9_./*-]+\.(c|h|cl|clh|def|sh|mk|md)`' $documents | tr -d '`' | sort -u); do
    test ! -f "${top_builddir:-.}/$name" || continue # made by configure
    pattern=$(printf '%s' "$name" | sed 's/NAME/*/g')
    for folder in completions include libengine libengine-lm plugins kernels tools tests examples docs man; do
        test -z "$(find "$src/$folder" -path "*/$pattern" -print -quit)" || continue 2
        test -z "$(find "$src/$folder" -path "$src/$pattern" -print -quit)" || continue 2
    done
    missing="$missing $name"
done
test -z "$missing" || echo "# no such file:$missing"
test -z "$missing" && echo "ok 1 - the files that documents name are there" || echo "not ok 1 - the files that documents name are there"

missing=
for target in $(grep -ohE 'make (check|fuzz)-[a-z-]+' $documents | sed 's/^make //' | sort -u); do
    grep -qE "^([A-Za-z0-9_ -]* )?$target( [A-Za-z0-9_ -]*)?:" "$makefile" || missing="$missing $target"
done
test -z "$missing" || echo "# no such target of make:$missing"
test -z "$missing" && echo "ok 2 - the targets of make that documents name are there" || echo "not ok 2 - the targets of make that documents name are there"
