#!/bin/sh
# What the null device copies, whole and between parts.  It refuses copies into another type, and nothing else of these.
"${top_builddir:-.}/tests/conformance/conformance" --lenient --ops cpy,store,reshape,permute,slice null null/2 null/3@2:0:1 |
    sed -E 's/^ok (.* (reshape|permute|slice) on .* [1-9][0-9]* unsupported)/not ok \1/'
