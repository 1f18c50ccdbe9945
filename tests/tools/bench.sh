#!/bin/sh
# engine-bench: cases are read as they are written, figures come out whole, reports are compared and drawn, and what is wrong is
# told.  How fast anything is is no test.  TAP.
set -u
. "${top_srcdir:-.}/tests/tap.sh"
LC_ALL=C
export LC_ALL
need cpu
bench="$out/engine-bench"
quick="-s 0 -w 0 -d cpu"

# says STATUS WORDS COMMAND...: ends with STATUS, and says that
says()
{
    status=$1 words=$2
    shift 2
    "$@" > "$tmp/log" 2>&1
    test $? = "$status" && grep -qF -e "$words" "$tmp/log"
    result $? "$(echo "$*" | sed "s|$out/||g; s|$src/||g; s|$tmp/||g"): $words"
}

"$bench" --list > "$tmp/list" 2> "$tmp/log" && sed -e '/^#/d' -e '/^$/d' "$src/tools/bench.cases" | diff - "$tmp/list" > "$tmp/log"
result $? "--list gives the $(wc -l < "$tmp/list") standard cases as they are written"
# each standard case is one that the op's row accepts: with small extents they run in no time
sed -e 's/4096\|14336\|8192\|32768\|1024/256/g' -e 's/\[2048,768,128\]/[256,32,8]/' -e 's/\[2048,1,/[256,1,/' -e 's/%128/%8/' \
    -e 's/\[8,256\]/[8,3]/; s/,1,256\]/,1,3]/' -e 's/512/16/g' -e 's/pos=i32\[1\]+8191/pos=i32[1]+255/' \
    -e 's/v=f32\[128,32,256\]\(.*\):0:1024/v=f32[128,32,256]\1:0:256/' "$src/tools/bench.cases" > "$tmp/small"
# shellcheck disable=SC2086
"$bench" $quick --cases "$tmp/small" --json --plot "$tmp/plot.svg" > "$tmp/small.json" 2> "$tmp/log"
result $? "the standard cases with small extents run on cpu"
! grep '"failed"' "$tmp/small.json" > "$tmp/log"
result $? "none of them fails"
"$out/tests/probe/schema-check" "$src/docs/schema/engine-bench-1.json" < "$tmp/small.json" > "$tmp/log" 2>&1
result $? "their report follows its schema"
test "$(grep -c '<rect x' "$tmp/plot.svg")" = "$(wc -l < "$tmp/list")" && grep -q '</svg>' "$tmp/plot.svg" &&
    grep -q '>cpu: read [0-9.]* GB/s; copy [0-9.]* GB/s; fma [0-9]* GFLOP/s; int8 products: \(none\|[0-9]* GOP/s by its dot product\); matrix unit: \(none\|[0-9]* GFLOP/s\)<' \
        "$tmp/plot.svg" && test -z "$(ls "$tmp" | grep part-)"
result $? "the plot has a bar for each, and the roofs"
case='mul_mat   a=q4_0[256,64] b=f32[256,2]   precision=fast'
# shellcheck disable=SC2086
"$bench" $quick "$case" --json > "$tmp/old.json" 2> "$tmp/log" &&
    grep -q '"case": "mul_mat a=q4_0\[256,64\] b=f32\[256,2\] precision=fast"' "$tmp/old.json" &&
    grep -q '"bytes": 11776' "$tmp/old.json" && grep -q '"operations": 65536,' "$tmp/old.json" && grep -q '"launches": 1' "$tmp/old.json"
result $? "a case of the command line: its bytes (256*64/32*18 + 4*512 + 4*128 + ...), operations and launches"
# shellcheck disable=SC2086
says 0 "geometric mean of 1 cases" "$bench" $quick "$case" --compare "$tmp/old.json"
# shellcheck disable=SC2086
says 0 "has none of these cases" "$bench" $quick "scale x=f32[64]" --compare "$tmp/old.json"
echo '{"schema": "engine-probe/1"}' > "$tmp/other.json"
# shellcheck disable=SC2086
says 1 "must be a report of engine-bench --json, schema engine-bench/1, got schema engine-probe/1" "$bench" $quick "scale x=f32[64]" --compare "$tmp/other.json"
# shellcheck disable=SC2086
says 1 "none.json" "$bench" $quick "scale x=f32[64]" --compare "$tmp/none.json"
! grep -q "scale x" "$tmp/log"
result $? "an earlier report is read before anything is measured"
says 64 'there is no op mul_mta (did you mean mul_mat?)' "$bench" -d cpu "mul_mta a=f32[4]"
says 64 'mul_mat needs operand b' "$bench" -d cpu "mul_mat a=f32[4,4]"
says 64 'kv_param must be an integer, got "99999999999999999999"' "$bench" -d cpu "attention q=f32[64,2,1] k=f32[64,8,2] v=f32[64,8,2] pos=i32[1]+7 kv_param=99999999999999999999"
says 64 'scale must be a number, got "1e999"' "$bench" -d cpu "attention q=f32[64,2,1] k=f32[64,8,2] v=f32[64,8,2] pos=i32[1]+7 scale=1e999"
says 64 'scale is there twice' "$bench" -d cpu "attention q=f32[64,2,1] k=f32[64,8,2] v=f32[64,8,2] pos=i32[1]+7 scale=1 scale=2"
says 64 'a must be TYPE[EXTENT,...]' "$bench" -d cpu "mul_mat a=f33[4,4] b=f32[4]"
says 64 'a must have 1 to 8 extents, each at least 1' "$bench" -d cpu "mul_mat a=f32[4,0] b=f32[4]"
says 64 'only integers have values that a line gives' "$bench" -d cpu "mul_mat a=f32[4,4]%7 b=f32[4]"
says 64 'has no operand and no parameter c' "$bench" -d cpu "mul_mat a=f32[4,4] b=f32[4] c=1"
says 64 'precision must be exact or fast' "$bench" -d cpu "mul_mat a=f32[4,4] b=f32[4] precision=faster"
printf 'scale x=f32[8]\n\n# fine so far\nscale y=3\n' > "$tmp/cases"
says 64 "line 4: scale has no operand" "$bench" -d cpu --cases "$tmp/cases"
says 64 "no case matches" "$bench" -d cpu --filter 'no such thing'
says 64 "both write to standard output" "$bench" -d cpu --json --compare "$tmp/old.json"
says 1 "plugin 'nowhere'" "$bench" -d nowhere "scale x=f32[8]"
# operands of which an op reads little (one row of 4096) are there no more often than half the memory has room for
# shellcheck disable=SC2086
ENGINE_CPU_MEMORY=64M "$bench" -s 0 -w 1 -d cpu "get_rows a=f32[256,4096] ids=i32[1]%4096" --json > "$tmp/log" 2>&1 &&
    grep -q '"copies": 7,' "$tmp/log"
result $? "copies of operands have room in the device's memory"
# what cannot run is told in its place, and the others run
# shellcheck disable=SC2086
"$bench" $quick "mul_mat a=f32[4,4] b=f32[5]" "scale x=f32[8]" > "$tmp/log" 2>&1
test $? = 1 && grep -q 'b=f32\[5\]: .' "$tmp/log" && grep -q ' scale x=f32\[8\]$' "$tmp/log"
result $? "a case that cannot run does not stop the others"
if has meta; then
    # shellcheck disable=SC2086
    says 0 "cpu/2 " "$bench" -s 0 -w 1 "mul_mat a=q8_0[256,64] b=f32[256,1] device=cpu/2"
fi
if "$out/engine-probe" 2> /dev/null | grep -q '^opencl:0 .*ready'; then
    says 0 " by a loop; matrix unit: " "$bench" -s 0 -w 0 -d opencl:0 "scale x=f32[8]"
    "$bench" -s 0 -w 0 -d opencl:0 "scale x=f32[8]" --json > "$tmp/units.json" 2> "$tmp/log" &&
        "$out/tests/probe/schema-check" "$src/docs/schema/engine-bench-1.json" < "$tmp/units.json" >> "$tmp/log" 2>&1 &&
        grep -q '"int8": [1-9]' "$tmp/units.json"
    result $? "and in JSON"
fi
"$bench" -d cpu --model "$src/tests/data/tiny-hybrid-f16.gguf" --json > "$tmp/model.json" 2> "$tmp/log" &&
    "$out/tests/probe/schema-check" "$src/docs/schema/engine-bench-1.json" < "$tmp/model.json" >> "$tmp/log" 2>&1 &&
    grep -q '"behind": 0' "$tmp/model.json" && ! grep -q failed "$tmp/model.json"
result $? "a model: prefill and decode, as the schema has them"
"$bench" -d cpu --model "$src/tests/data/tiny-hybrid-f16.gguf" --prefill 16 --behind none --sequences 1,3 --cache-type-k q8_0 \
    --cache-type-v q4_0 --precision fast --json > "$tmp/model.json" 2> "$tmp/log" &&
    grep -q '"prefill": \[{"tokens": 16,' "$tmp/model.json" && grep -q '"decode": \[\]' "$tmp/model.json" &&
    grep -q '"together": \[{"sequences": 1,.*{"sequences": 3,' "$tmp/model.json" && grep -q '"peak_bytes": [1-9]' "$tmp/model.json"
result $? "of it what is asked for: lengths, sequences at once, types of caches, precision"
says 0 "prefill  5000 not timed: the model's context has 2048 tokens" "$bench" -d cpu \
    --model "$src/tests/data/tiny-hybrid-f16.gguf" --prefill 16,5000 --behind none --sequences none
says 0 "decode behind  5000 not timed: the model's context has 2048 tokens" "$bench" -d cpu \
    --model "$src/tests/data/tiny-hybrid-f16.gguf" --prefill none --behind 0,5000 --sequences none
says 1 "type q4_K is not possible for K" "$bench" -d cpu --model "$src/tests/data/tiny-hybrid-f16.gguf" --cache-type-k q4_K
says 64 '--sequences must be none or up to 8 numbers from 1 to 256, separated by commas, got "4,0"' "$bench" --model x --sequences 4,0
says 64 '--cache-type-v must be a type, as f16 or q8_0, got "q9"' "$bench" --model x --cache-type-v q9
says 64 'go with --model; a case has precision=fast' "$bench" --precision fast "scale x=f32[8]"
finish
