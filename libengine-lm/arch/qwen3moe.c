/* qwen3moe: qwen3 with experts. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_HEAD_NORMS, LM_ROWS_EXPERTS,
};

static int numbers(lm_loader *l)
{
    int status = lm_numbers_common(l);
    if (!status)
        status = lm_numbers_rope(l, ENG_ROPE_NEOX);
    if (!status)
        status = lm_numbers_experts(l, true);
    return status;
}

const lm_arch lm_arch_qwen3moe = {
    .name = "qwen3moe",
    .numbers = numbers,
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .build = lm_layers,
};
