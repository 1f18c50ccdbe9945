#!/bin/sh
# libengine-lm(3) names each function of lm.h, sampler.h, grammar.h and chat.h and no other; libengine(3) none that no header has; all pages are read without a
# complaint, where there is a program for that; each program has its page.  TAP.
set -u
. "${top_srcdir:-.}/tests/tap.sh"

# declared FOLDER-FILES...: functions of headers;  named PAGE: calls of a page
declared() { cat "$@" | grep -oE '\<eng_[a-z0-9_]+\(' | tr -d '(' | sort -u; }
named() { sed 's/\\-/-/g; s/[" ]//g' "$1" | grep -oE 'eng_[a-z0-9_]+(\(\)|,?\(\))' | grep -oE 'eng_[a-z0-9_]+' | sort -u; }

declared "$src/include/engine/lm.h" "$src/include/engine/sampler.h" "$src/include/engine/grammar.h" "$src/include/engine/chat.h" | grep '^eng_lm_' > "$tmp/want"
named "$src/man/libengine-lm.3" | grep '^eng_lm_' | diff "$tmp/want" - > "$tmp/log"
result $? "libengine-lm(3) names the $(wc -l < "$tmp/want") functions of lm.h, sampler.h, grammar.h and chat.h"
declared "$src"/include/engine/*.h > "$tmp/all"
named "$src/man/libengine.3" | while read -r name; do grep -qx "$name" "$tmp/all" || echo "$name"; done > "$tmp/log"
test ! -s "$tmp/log" && test "$(named "$src/man/libengine.3" | wc -l)" -gt 15
result $? "libengine(3) names $(named "$src/man/libengine.3" | wc -l) calls that there are"
for program in $(cd "$out" && find engine-* -prune -type f -perm -100); do test -f "$src/man/$program.1" || echo "$program"; done > "$tmp/log"
test ! -s "$tmp/log"
result $? "each program has its page"
if command -v man > "$tmp/log" 2>&1 && command -v groff > "$tmp/log" 2>&1; then
    for page in "$src"/man/*.[1-8]; do LC_ALL=C.UTF-8 man --warnings -l "$page" 2>&1 > "$tmp/page" | sed "s|^|$(basename "$page"): |"; done > "$tmp/log"
    test ! -s "$tmp/log"
    result $? "the pages are read without a complaint"
else
    skip "the pages are read without a complaint" "there is no man or groff"
fi
finish
