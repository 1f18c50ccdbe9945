#!/bin/sh
# docs/ops.md must be what the op table says.
echo 1..1
if ./docs/make-ops | cmp -s - "${srcdir:-.}/docs/ops.md"; then
    echo "ok 1 - docs/ops.md is up to date"
else
    echo "not ok 1 - docs/ops.md differs from the op table: run make update-docs"
fi
