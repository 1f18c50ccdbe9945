/* qwen2: as llama, with the two halves of a head rotated together and biases of Q, K and V. */
#include "config.h"

#include "../blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(0), LM_ROWS_FFN,
};

static int numbers(lm_loader *l)
{
    int status = lm_numbers_common(l);
    if (!status)
        status = lm_numbers_rope(l, ENG_ROPE_NEOX);
    if (!status)
        status = lm_numbers_ffn(l);
    return status;
}

const lm_arch lm_arch_qwen2 = {
    .name = "qwen2",
    .numbers = numbers,
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .build = lm_layers,
};
