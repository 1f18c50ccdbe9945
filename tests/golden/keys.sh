#!/bin/sh
# What is said of files without one of their keys, and with 0 in its place; nothing: they open.  TAP.
#
#     keys.sh [--write]
. "${top_srcdir:-.}/tests/golden/says.sh"

keys='attention.head_count attention.head_count_kv attention.key_length attention.layer_norm_rms_epsilon block_count context_length
    embedding_length feed_forward_length rope.dimension_count rope.freq_base'
hybrid_keys='full_attention_interval ssm.conv_kernel ssm.group_count ssm.inner_size ssm.state_size ssm.time_step_rank'
expert_keys='expert_count expert_used_count expert_feed_forward_length expert_shared_feed_forward_length'

# keys_of KEYS OPTION...
keys_of()
{
    for key in $1; do
        for change in "--without $key" "--key $key=0"; do
            # shellcheck disable=SC2046,SC2086
            "$top_builddir/tests/tools/make-model" --layers 2 --embd 32 --ffn 32 --vocab 300 --heads 2 --kv-heads 1 --head 16 \
                $(shift; echo "$@") $change "$dir/key.gguf" >/dev/null
            echo "$change: $("$dump" null "$dir/key.gguf" 1 2>&1 >/dev/null | sed "s|$dir/||g")"
        done
    done
}
hybrid='--interval 2 --state 16 --k-heads 1 --v-heads 1' experts='--experts 2 --used 1 --expert-ffn 32'
for arch in llama qwen2 qwen3; do
    says keys-$arch keys_of "$keys" --arch $arch
done
says keys-qwen3moe keys_of "$keys $expert_keys" --arch qwen3moe $experts
says keys-qwen35 keys_of "$keys $hybrid_keys" --arch qwen35 $hybrid
says keys-qwen35moe keys_of "$hybrid_keys $expert_keys" --arch qwen35moe $hybrid $experts --shared-ffn 32
echo "1..$n"
