#!/bin/sh
# Hosts and programs in locales with other points and other capitals: what programs read is the same as in locale C.  TAP.
# The locales are made here; where that cannot be, it is said.
set -u
. "${top_srcdir:-.}/tests/tap.sh"
need cpu
need meta
unset LC_ALL LC_NUMERIC LANG LANGUAGE
model=$src/tests/data/tiny-hybrid-f16.gguf
host=$out/tests/tools/locale-host
devices="cpu cpu/2@0.75:0.25"
if has opencl && LC_ALL=C "$out/engine-probe" opencl:0 > "$tmp/log" 2>&1; then devices="$devices opencl:0"; fi
LOCPATH=$tmp/locales
export LOCPATH
mkdir "$LOCPATH"

# in_locale NAME COMMAND...: what it prints is in $tmp/NAME, also of its errors
in_locale() { locale=$1; shift; LC_ALL=$locale "$@" > "$tmp/$locale" 2> "$tmp/err"; }

# shellcheck disable=SC2086 # words
in_locale C "$host" "$model" $devices && cp "$tmp/C" "$tmp/host" && grep -q "point '\.'" "$tmp/err" && grep -q '^fit: .*@0\.' "$tmp/host"
good=$?
cp "$tmp/err" "$tmp/log"
result $good "in locale C: $(wc -l < "$tmp/host") lines"
# German commas, points of two bytes in Pashto, Turkish capitals
for name in de_DE ps_AF tr_TR; do
    if ! localedef -i $name -f UTF-8 "$LOCPATH/$name.UTF-8" > "$tmp/log" 2>&1 && ! test -d "$LOCPATH/$name.UTF-8"; then
        skip "a host in $name" "localedef cannot make that locale: $(tail -n 1 "$tmp/log")"
        continue
    fi
    # shellcheck disable=SC2086 # words
    in_locale $name.UTF-8 "$host" "$model" $devices && ! grep -q "point '\.'" "$tmp/err" && diff "$tmp/host" "$tmp/$name.UTF-8" > "$tmp/log"
    good=$?
    head -n 12 "$tmp/err" >> "$tmp/log"
    result $good "a host in $name ($(head -n 1 "$tmp/err")) reads and prints the same"
    test $name = de_DE || continue
    for command in "engine-generate -m $model -d cpu/2 -ts 3,1 --temp 0.7 --top-p 0.9 --min-p 0.05 --seed 1 -p King -n 12" \
        "engine-generate -m $model -d cpu -ctk IQ4_NL -ctv q8_0 --temp 0.7 --seed 2 -p King -n 4" \
        "engine-generate -m $model -d cpu/2@0.75:0.25 --explain=json" \
        "engine-probe --timeout=2.5 --ops=cpu --json"; do
        # shellcheck disable=SC2086 # words
        in_locale C "$out/"$command && in_locale $name.UTF-8 "$out/"$command
        good=$?
        sed -i 's/"memory_free": [0-9]*//' "$tmp/C" "$tmp/$name.UTF-8"
        test -s "$tmp/C" && diff "$tmp/C" "$tmp/$name.UTF-8" > "$tmp/log" || good=1
        cat "$tmp/err" >> "$tmp/log"
        result $good "in $name: $(echo "$command" | sed "s|$src/||g")"
    done
    in_locale $name.UTF-8 "$out/engine-generate" -m "$model" -d cpu -p x -n 2 --json &&
        "$out/tests/probe/json-check" < "$tmp/$name.UTF-8" > "$tmp/log" 2>&1
    result $? "in $name: engine-generate --json prints JSON"
done
finish
