#!/bin/sh
# The lines with which the suite names its cases for engine-bench (a failure prints its own): engine-bench runs them.  TAP.
. "${top_srcdir:-.}/tests/tap.sh"
need cpu
"$out/tests/conformance/conformance" --verbose cpu > "$tmp/suite" 2> "$tmp/log"
# two of each op; views compute nothing, nor does what has no elements
sed -n "s/^#   engine-bench '\(.*\)'$/\1/p" "$tmp/suite" | grep -vE '^(reshape|permute|slice|view) |[[,]0[],]' | sort -u |
    awk '{ if (n[$1]++ < 2) print }' > "$tmp/cases"
ops=$(cut -d' ' -f1 "$tmp/cases" | sort -u | wc -l)
result "$((ops <= 30))" "lines of $ops ops"
"$out/engine-bench" -d cpu -w 0 -s 0.0001 --cases "$tmp/cases" > "$tmp/log" 2>&1
result $? "engine-bench runs $(wc -l < "$tmp/cases") of them"
finish
