#!/bin/sh
# What the tools say of models, as it was when somebody last looked at it: graphs of every architecture, plans, memory and
# exchanges of devices that only count (null.accept=measure), reports.  TAP.
#
#     golden.sh [--write]
#
# --write: what they say now is what is right (look at `git diff` then).  Left out is what differs from run to run:
# rates, seconds, versions, paths.
. "${top_srcdir:-.}/tests/golden/says.sh"

# graph NAME OPTION...: two layers of a model that make-model makes.
graph()
{
    name=$1
    shift
    "$top_builddir/tests/tools/make-model" --layers 2 --interval 2 --embd 64 --ffn 96 --vocab 300 --heads 4 --kv-heads 2 \
        --head 16 "$@" "$dir/$name.gguf" >/dev/null
    says "graph-$name" "$dump" null "$dir/$name.gguf" 5
}

graph llama --arch llama --seed 1 --freqs --biases
graph llama-moe --arch llama --seed 2 --experts 4 --used 2 --yarn 4
graph qwen2 --arch qwen2 --seed 3 --linear 2 --tied
graph qwen3 --arch qwen3 --seed 4 --fused-qkv --scales
graph qwen3moe --arch qwen3moe --seed 5 --experts 4 --used 2 --expert-ffn 32
graph qwen35 --arch qwen35 --seed 6 --state 16 --k-heads 2 --v-heads 4
graph qwen35moe --arch qwen35moe --seed 7 --state 16 --k-heads 2 --v-heads 4 --experts 4 --used 2 --expert-ffn 32 \
    --shared-ffn 32 --fused-experts

says plan-text "$generate" -m "$hybrid" -d null/2@3:1 --explain --pass 8
says plan-json "$generate" -m "$hybrid" -d null/3@3:1:0 --explain=json
says plan-dot "$generate" -m "$dir/llama.gguf" -d null/2 --explain=dot
says plan-layers "$generate" -m "$hybrid" -d null/2 -sm layer --explain
says plan-experts "$generate" -m "$dir/qwen35moe.gguf" -d null/2 --explain
says plan-dealt "$generate" -m "$dir/qwen35moe.gguf" -d null/3@2:1:1 --expert-parallel --explain=json
says plan-heads "$generate" -m "$dir/llama.gguf" -d null/4 --explain=json --pass 5
"$top_builddir/tests/tools/make-model" --arch qwen2 --seed 8 --layers 2 --embd 64 --ffn 352 --vocab 300 --heads 6 --kv-heads 3 \
    --head 32 --type q8_0 "$dir/blocks.gguf" >/dev/null 2>&1
says_if_cpu plan-blocks "$generate" -m "$dir/blocks.gguf" -d null/3@5:2:1 --explain
"$top_builddir/tests/tools/make-model" --arch llama --seed 9 --layers 4 --embd 96 --ffn 96 --vocab 300 --heads 3 --kv-heads 3 \
    --head 32 --context 8192 "$dir/long.gguf" >/dev/null
says plan-cells "$generate" -m "$dir/long.gguf" -d null/2 -c 8192 --explain
for memory in 100000 6000000; do
    says fit-$memory env ENGINE_NULL_MEMORY=$memory "$generate" -m "$hybrid" -d null/2 --fit=0 -c 256 -p 'bug: n.' -n 1 --temp 0
    says fit-alone-$memory env ENGINE_NULL_MEMORY=$memory "$generate" -m "$hybrid" -d null --fit=0 -c 256 -p 'bug: n.' -n 1 --temp 0
done
says report-json "$generate" -m "$hybrid" -d null/2@3:1 -p 'bug: n.' -n 4 --temp 0 --json
says report-table "$generate" -m "$hybrid" -d null/2@3:1 -p 'bug: n.' -n 4 --temp 0
says report-none "$generate" -m "$hybrid" -d null/2@3:1 -p 'bug: n.' -n 0 --temp 0 --json
says report-one "$generate" -m "$hybrid" -d null -p 'bug: n.' -n 1 --temp 0 --ignore-eos -ctk q8_0
says report-measured "$generate" -m "$hybrid" -d null --perplexity "$top_srcdir/tests/data/valid.txt" --chunks 1 -c 64 --json

says probe-text env ENGINE_NULL_MEMORY=123456789 "$top_builddir/engine-probe" null/2@3:1
says probe-json env ENGINE_NULL_MEMORY=123456789 "$top_builddir/engine-probe" --json null/2@3:1 null
says probe-tsv env ENGINE_NULL_MEMORY=123456789 "$top_builddir/engine-probe" --format=tsv null/2@3:1 null
says probe-ops env ENGINE_NULL_ACCEPT=copies "$top_builddir/engine-probe" --ops=null
says quantize-help "$top_builddir/engine-quantize" --help
says_if_cpu quantize "$top_builddir/engine-quantize" "$dir/qwen3.gguf" "$dir/out.gguf" q8_0
echo "1..$n"
