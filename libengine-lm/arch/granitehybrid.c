/* granitehybrid: granitemoe, most of whose layers scan; a key says whether the others are rotated. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ROPE_FREQS, LM_ROWS_SCAN, LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN,
    LM_ROWS_EXPERTS, LM_ROWS_SHARED_EXPERT(LM_W_OPTIONAL),
};

static int more(lm_loader *l)
{
    int64_t rotated;
    int status = lm_key_integer(l, "rope.scaling.finetuned", 0, 1, &rotated); /* which these files must have */
    return status ? status : lm_granite_rope(l);
}

const lm_arch lm_arch_granitehybrid = {
    .name = "granitehybrid",
    LM_ROWS(rows),
    .reads = LM_READS_EMBD_SCALE | LM_READS_RESIDUAL_SCALE | LM_READS_ATTN_SCALE | LM_READS_LOGIT_SCALE |
             LM_READS_LAYER_SIZES,
    .needs = LM_READS_LOGIT_SCALE,
    .divided = true,
    .scans = LM_SCAN_OR_ATTEND,
    .experts = LM_EXPERTS_MAYBE,
    .shared = LM_SHARED_LENGTH,
    .more = more,
    .conv_words = LM_SCAN_CHANNELS,
    .head_words = LM_SCAN_HEADS,
};
