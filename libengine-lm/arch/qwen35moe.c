/* qwen35moe: qwen35 with experts, and one more that every token uses as far as its gate says. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("post_attention_norm"), LM_ROWS_GATED_ATTENTION, LM_ROWS_HEAD_NORMS, LM_ROWS_GDN, LM_ROWS_EXPERTS,
    LM_ROWS_SHARED_EXPERT,
};

static int numbers(lm_loader *l)
{
    int status = lm_numbers_common(l);
    if (!status)
        status = lm_numbers_hybrid(l);
    if (!status)
        status = lm_numbers_experts(l, true);
    if (!status)
        status = lm_numbers_shared_expert(l);
    return status;
}

const lm_arch lm_arch_qwen35moe = {
    .name = "qwen35moe",
    .numbers = numbers,
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .build = lm_layers,
    .conv_words = LM_GDN_CHANNELS,
    .head_words = LM_GDN_HEADS,
};
