/* llama: attention with rope over neighbouring pairs, whose frequencies the file may scale one by one; a dense
 * feed-forward, or experts of its width. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ROPE_FREQS, LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN, LM_ROWS_EXPERTS,
};

static int numbers(lm_loader *l)
{
    int64_t experts = 0;
    int status = lm_numbers_common(l);
    if (!status)
        status = lm_numbers_rope(l, ENG_ROPE_NORMAL);
    if (!status)
        status = lm_key_integer_or(l, "expert_count", 0, LM_MAX_EXTENT, 0, &experts);
    if (!status)
        status = experts ? lm_numbers_experts(l, false) : lm_numbers_ffn(l);
    return status;
}

const lm_arch lm_arch_llama = {
    .name = "llama",
    .numbers = numbers,
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .build = lm_layers,
};
