#!/bin/sh
# engine-generate --compile and --compilers: what is compiled beforehand, or by processes beside, is not compiled again, and the text
# is the same.  PoCL, which keeps each kernel in a file; without it what can be told without.  TAP.
set -u
. "${top_srcdir:-.}/tests/tap.sh"
need cpu
need opencl
model=$src/tests/data/tiny-hybrid-f16.gguf
"$out/engine-probe" opencl:0 > "$tmp/log" 2>&1 || { echo "1..0 # SKIP there is no opencl:0"; exit 0; }

# in_caches NAME OPTION...: the text in $tmp/text, with caches of its own
in_caches()
{
    caches=$tmp/$1
    shift
    mkdir -p "$caches/pocl" "$caches/ours"
    POCL_CACHE_DIR=$caches/pocl ENGINE_CACHE_DIR=$caches/ours "$out/engine-generate" -m "$model" -d opencl:0 -p "bug: n." --temp 0 -n 6 \
        "$@" > "$tmp/text" 2> "$tmp/log"
}
# kernels NAME: those compiled for groups of a size, which are for launches
kernels() { (cd "$tmp/$1/pocl" 2> /dev/null && find . -name '*.so' ! -path '*/0-0-0/*' | sort); }
# known NAME: files that say that nothing is left to compile
known() { find "$tmp/$1/ours" -name 'compiled-*' | wc -l; }

in_caches alone --compilers 0
result $? "a text"
cp "$tmp/text" "$tmp/want"
result "$(known alone)" "alone, nothing is noted"

in_caches beside --compilers 2
good=$?
cmp "$tmp/want" "$tmp/text" >> "$tmp/log" || good=1
result $good "the same with two processes beside it"
test "$(known beside)" = 1
result $? "which is noted: $(known beside)"
in_caches beside --compilers 2 && test "$(known beside)" = 1 && cmp "$tmp/want" "$tmp/text" >> "$tmp/log"
result $? "and the same again"

# compiling: is one of the processes there that compile?
compiling()
{
    for line in /proc/[0-9]*/cmdline; do tr '\0' ' ' 2> /dev/null < "$line" | grep -e "-m $model .*--compile="; done > "$tmp/log"
    test -s "$tmp/log"
}
# nothing_left: do they end at once?
nothing_left()
{
    tries=10
    while compiling; do
        tries=$((tries - 1))
        test $tries -gt 0 || return 1
        sleep 0.1
    done
}
nothing_left
result $? "no process is left"

# asked NAME OPTION...: an answer, the only one of a conversation
asked()
{
    caches=$tmp/$1
    shift
    mkdir -p "$caches/pocl" "$caches/ours"
    echo '{"messages": [{"role": "user", "content": "Which bug?"}], "max_tokens": 4, "temperature": 0}' |
        POCL_CACHE_DIR=$caches/pocl ENGINE_CACHE_DIR=$caches/ours "$out/engine-generate" -m "$model" -d opencl:0 --json-lines \
            --chat-template chatml "$@" > "$tmp/text" 2> "$tmp/log"
}
mkdir -p "$tmp/silent/pocl" "$tmp/silent/ours"
POCL_CACHE_DIR=$tmp/silent/pocl ENGINE_CACHE_DIR=$tmp/silent/ours "$out/engine-generate" -m "$model" -d opencl:0 --json-lines \
    --chat-template chatml --compilers 1 < /dev/null > "$tmp/text" 2> "$tmp/log"
test $? = 0 && test "$(known silent)" = 0
result $? "a conversation without a question notes nothing"
asked talk --compilers 1 && test "$(known talk)" = 1 && cp "$tmp/text" "$tmp/first" && asked quiet --compilers 0 &&
    cmp "$tmp/first" "$tmp/text" >> "$tmp/log"
result $? "an answer is the same, too"

# Asked nothing, the program waits: what is compiled meanwhile others have compiled.
# wait_for NAME SECONDS: until products' kernels are there; its process in $waiting
mkfifo "$tmp/asked"
wait_for()
{
    mkdir -p "$tmp/$1/pocl" "$tmp/$1/ours"
    POCL_CACHE_DIR=$tmp/$1/pocl ENGINE_CACHE_DIR=$tmp/$1/ours "$out/engine-generate" -m "$model" -d opencl:0 --json-lines \
        --chat-template chatml --compilers 1 < "$tmp/asked" > "$tmp/text" 2> "$tmp/log" &
    waiting=$!
    exec 3> "$tmp/asked"
    tries=$((10 * $2))
    until kernels "$1" | grep -q mul_mat; do
        tries=$((tries - 1))
        test $tries -gt 0 || return 1
        sleep 0.1
    done
}
if test -n "$(kernels alone)"; then
    wait_for asking 60
    result $? "before the first question kernels are compiled"
    compiling && kill -KILL $waiting
    nothing_left
    result $? "and nobody goes on when the program is killed"
    exec 3>&-
    mkdir -p "$tmp/noted/ours" && cp -r "$tmp/talk/ours/engine-generate" "$tmp/noted/ours/"
    ! wait_for noted 2 && ! compiling
    result $? "where a model has been before, nobody compiles"
    exec 3>&-
    wait $waiting
    result $? "and without a question the program ends well"
else
    skip "before the first question kernels are compiled" "this driver is not PoCL, or has another cache"
fi

in_caches before --compile
good=$?
grep -q '^engine-generate: compiled, in [0-9.]* s$' "$tmp/log" || good=1
test -s "$tmp/text" && good=1
result $good "compiled before: $(cat "$tmp/log")"
if test -n "$(kernels before)"; then
    kernels before > "$tmp/first"
    in_caches before --compilers 0
    kernels before > "$tmp/then"
    diff "$tmp/first" "$tmp/then" > "$tmp/log"
    result $? "then nothing is left to compile: $(wc -l < "$tmp/first") kernels"
    cmp "$tmp/want" "$tmp/text" > "$tmp/log"
    result $? "and the text is the same"
    in_caches halves --compile=1/2 -e
    kernels halves > "$tmp/then"
    diff "$tmp/first" "$tmp/then" > "$tmp/log"
    result $? "a share comes round to all of them"
    kernels alone > "$tmp/then"
    diff "$tmp/first" "$tmp/then" > "$tmp/log"
    result $? "they are those that a run compiles"
else
    skip "then nothing is left to compile" "this driver is not PoCL, or has another cache"
fi

if "$out/engine-generate" -m "$model" -d opencl:0 -cnv --compile > "$tmp/text" 2> "$tmp/log" && grep -q '^engine-generate: compiled' "$tmp/log" &&
    ! test -s "$tmp/text"; then
    result 0 "before a conversation"
else
    result 1 "before a conversation"
fi

# A model whose experts' lists nobody makes, and halves of a device, whose exchanges nobody waits for.
"$out/tests/tools/make-model" --seed 3 --arch qwen3moe --type q8_0 "$tmp/experts.gguf" > "$tmp/log" 2>&1 &&
    "$out/engine-generate" -m "$tmp/experts.gguf" -d opencl:0 --compile > "$tmp/log" 2>&1
result $? "of a model with experts"
"$out/engine-generate" -m "$model" -d opencl:0/2 --compile > "$tmp/log" 2>&1
result $? "for halves of a device"
mkfifo "$tmp/pipe"
(sleep 1; printf 'bug: n.' > "$tmp/pipe") &
POCL_CACHE_DIR=$tmp/beside/pocl ENGINE_CACHE_DIR=$tmp/pipe-cache timeout 60 "$out/engine-generate" -m "$model" -d opencl:0 -f "$tmp/pipe" --temp 0 -n 6 --compilers 3 \
    > "$tmp/text" 2> "$tmp/log" && cmp "$tmp/want" "$tmp/text" >> "$tmp/log"
result $? "a text from a pipe is read once"
(sleep 1; printf 'Which bug?' > "$tmp/pipe") &
POCL_CACHE_DIR=$tmp/beside/pocl ENGINE_CACHE_DIR=$tmp/pipe-cache timeout 60 "$out/engine-generate" -m "$model" -d opencl:0 -cnv --simple-io -st \
    --chat-template chatml -f "$tmp/pipe" --temp 0 -n 6 --compilers 3 < /dev/null > "$tmp/text" 2> "$tmp/log" && test -s "$tmp/text"
result $? "and so is a question"
POCL_SIGFPE_HANDLER=0 "$out/engine-generate" -m "$model" -d opencl:0 -p "bug: n." --compile > "$tmp/log" 2>&1
result $? "where a division by zero is seen, nothing is launched"

# refused OPTION...: the message in $tmp/log
refused() { ! in_caches before "$@" && ! test -s "$tmp/text"; }
refused --compile=3/2 && grep -q "^engine-generate: --compile takes I/N, 1 <= I <= N" "$tmp/log"
result $? "refused: $(cat "$tmp/log")"
refused --compile --save-state "$tmp/state" && grep -q "^engine-generate: --compile runs nothing: leave out" "$tmp/log"
result $? "refused: $(cat "$tmp/log")"
refused --compile -d cpu && grep -q "^engine-generate: cpu: only devices of the opencl plugin compile kernels" "$tmp/log"
result $? "refused: $(cat "$tmp/log")"
(ENGINE_OPENCL_COMPILE=1/1; export ENGINE_OPENCL_COMPILE; refused -n 1 && grep -q "^engine-generate: ENGINE_OPENCL_COMPILE is 1/1: devices would compute" "$tmp/log")
result $? "refused: $(cat "$tmp/log")"
(ENGINE_COMPILERS=many; export ENGINE_COMPILERS; refused -n 1 && grep -q "^engine-generate: ENGINE_COMPILERS: a whole number" "$tmp/log")
result $? "refused: $(cat "$tmp/log")"
refused --compilers 17
result $? "refused: $(cat "$tmp/log")"
finish
