#!/bin/sh
# What the programs print as JSON is what the schemas in docs/schema say.  TAP on stdout.
set -u
LC_ALL=C
export LC_ALL
. "${top_srcdir:-.}/tests/tap.sh"
need cpu
model=$src/tests/data/tiny-hybrid-f16.gguf

# follows SCHEMA COMMAND...
follows()
{
    schema=$1
    shift
    "$@" > "$tmp/out" 2> "$tmp/err"
    "$out/tests/probe/json-check" < "$tmp/out" > "$tmp/log" 2>&1 &&
        "$out/tests/probe/schema-check" "$src/docs/schema/$schema" < "$tmp/out" > "$tmp/log" 2>&1
    good=$?
    cat "$tmp/err" >> "$tmp/log"
    result $good "$(echo "$*" | sed "s|$out/||g; s|$src/||g; s|^env ||")"
}

probe=$out/engine-probe
follows engine-probe-1.json "$probe" --json
follows engine-probe-1.json "$probe" --plugins --json --plugin-path="$out/plugins/null/.libs"
follows engine-probe-1.json "$probe" --env --json
follows engine-probe-1.json "$probe" --ops=cpu --json
follows engine-probe-1.json "$probe" --json cpu/2@3:1
follows engine-probe-1.json env ENGINE_PLUGINS=none "$probe" --json
generate=$out/engine-generate
follows engine-generate.json "$generate" -m "$model" -d cpu -p x -n 9 --temp 0 --json --grammar 'root ::= "a" "b"'
follows engine-generate.json "$generate" -m "$model" -d cpu -p x -n 9 --temp 0 --json -r e --n-probs 3
follows engine-generate.json "$generate" -m "$model" -d cpu -p x -n 2 --json --temp 0
follows engine-generate.json "$generate" -m "$model" -d cpu --perplexity "$src/tests/data/valid.txt" --chunks 1 -c 64 --json
if has meta; then
    follows engine-generate.json "$generate" -m "$model" -d cpu/2 -p x -n 2 --json
    follows engine-explain.json "$generate" -m "$model" -d cpu/2 --explain=json
    follows engine-explain.json "$generate" -m "$model" -d cpu/3@1:1:0 --explain=json -nkvo
fi

# and the check sees what does not
wrong()
{
    ! printf '%s' "$2" | "$out/tests/probe/schema-check" "$tmp/schema" > "$tmp/log" 2>&1
    result $? "$1 is refused: $(cat "$tmp/log")"
}
cat > "$tmp/schema" <<'EOF'
{"type": "object", "required": ["a"], "additionalProperties": false,
 "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"type": "array", "items": {"enum": ["x", null]}}},
 "$defs": {"n": {"type": ["integer", "null"], "minimum": 0}}}
EOF
printf '%s' '{"a": 1, "b": ["x", null]}' | "$out/tests/probe/schema-check" "$tmp/schema" > "$tmp/log" 2>&1
result $? "what follows it is taken"
wrong "a missing member" '{"b": []}'
wrong "another type" '{"a": "1"}'
wrong "a fraction" '{"a": 1.5}'
wrong "too small a number" '{"a": -1}'
wrong "a member too many" '{"a": null, "c": 1}'
wrong "a word that is not listed" '{"a": 1, "b": ["y"]}'

# one device, one list of capabilities, whoever is asked and however; but what only trying tells is known of open devices alone
asked()
{
    printf '%s\n' "$1" | tr ' ' '\n' | grep -vx -e mma -e dot4 | tr '\n' ' ' | sed 's/ $//'
}
same=
for device in $("$probe" --format=tsv 2> "$tmp/err" | sed -n 's/^\([a-z]*[:0-9]*\)	.*/\1/p' | grep -v '^id$'); do
    listed=$("$probe" --json 2> "$tmp/err" | sed -n "s/.*\"name\": \"$device\", \"kind\".*\"capabilities\": \"\([^\"]*\)\".*/\1/p")
    json=$("$probe" --json "$device" 2> "$tmp/err" | sed -n 's/.*"capabilities": "\([^"]*\)".*/\1/p')
    text=$("$probe" "$device" 2> "$tmp/err" | sed -n 's/^ *capabilities  *//p')
    test -n "$listed" && test "$listed" = "$(asked "$json")" && test "$json" = "$text" || same="$same [$device: '$listed', '$json', '$text']"
done
echo "$same" > "$tmp/log"
test -z "$same"
result $? "capabilities are the same everywhere"
finish
