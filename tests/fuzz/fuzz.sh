#!/bin/sh
# The fuzz targets, each with its seeds.  TAP.
#     fuzz.sh [--seconds S] [--seed S] [fuzz-TARGET...]: not a few inputs of each, but for so long; of these alone
set -u
. "${top_srcdir:-.}/tests/tap.sh"
how=
seed=1
while test $# -gt 0; do
    case $1 in --seconds) how="--seconds $2"; shift 2 ;; --seed) seed=$2; shift 2 ;; *) break ;; esac
done
test -e /proc/self/fd || { echo "1..0 # SKIP inputs are files in /proc/self/fd"; exit 0; }
ENG_FUZZ_MODEL=$src/tests/data/tiny-hybrid-f16.gguf
export ENG_FUZZ_MODEL
make=$out/tests/tools/make-model
small="--layers 1 --embd 32 --ffn 32 --vocab 300 --heads 1 --kv-heads 1"
# shellcheck disable=SC2086 # words
"$make" --arch llama $small "$tmp/llama.gguf" > "$tmp/log" 2>&1 && "$make" --arch qwen3 $small "$tmp/qwen3.gguf" > "$tmp/log" 2>&1
result $? "seeds for files of models: $(cd "$tmp" && wc -c *.gguf | tail -n 1)"
for target in ${*:-fuzz-gguf fuzz-model fuzz-text fuzz-names fuzz-patterns fuzz-templates fuzz-grammar fuzz-vocabulary}; do
    case $target in
        fuzz-gguf) files=$tmp/llama.gguf runs=1500 ;;
        fuzz-templates) files= runs=3000 ;;
        fuzz-model) files="$tmp/llama.gguf $tmp/qwen3.gguf" runs=300 ;;
        fuzz-vocabulary) files="$(ls "$src"/tests/data/tokenizers/*.gguf)" runs=1500 ;;
        *) files= runs=5000 ;;
    esac
    # shellcheck disable=SC2086 # words
    "$out/tests/fuzz/$target" ${how:---runs $runs} --seed "$seed" $files > "$tmp/log" 2>&1 && grep -q '^ok 1' "$tmp/log" && ! grep -q 'runtime error' "$tmp/log"
    result $? "$target: $(sed -n 's/^ok 1 - //p' "$tmp/log")"
done
finish
