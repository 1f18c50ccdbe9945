/* A text that is saved in a file and goes on from there. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "engine/gguf.h"
#include "generate.h"
#include "libengine/util/util.h"

int state_tokens(const char *path, int32_t **ids, size_t *n)
{
    eng_gguf *f;
    int status = eng_gguf_open(path, &f);
    if (status)
        return status;
    const eng_gguf_tensor *t = eng_gguf_tensor_find(f, "tokens");
    if (!t || t->type != ENG_TYPE_I32 || t->rank != 1 || t->ne[0] < 1)
        status = eng_fail(ENG_ERR_FORMAT, "%s holds no saved text" ENG_CAUSE "it has no tokens" ENG_ADVICE
                          "give a file that --save-state wrote", path);
    if (!status && !(*ids = malloc((size_t)t->bytes)))
        status = eng_fail_code(EU_NO_MEMORY("the tokens"));
    if (!status) {
        memcpy(*ids, t->data, (size_t)t->bytes);
        *n = (size_t)t->ne[0];
    }
    eng_gguf_close(f);
    return status;
}

int state_load(eng_lm_context *context, const char *path, size_t n_ids, size_t *held)
{
    int status = eng_lm_sequence_load(context, 0, path);
    int64_t n = eng_lm_sequence_length(context, 0);
    if (!status && n == (int64_t)n_ids) { /* nothing follows: its last token gives the logits */
        n--;
        status = n ? eng_lm_sequence_rollback(context, 0, 1) : eng_lm_sequence_remove(context, 0);
    }
    *held = status ? 0 : (size_t)n;
    return status;
}

int state_save(eng_lm_context *context, const char *path, const int32_t *ids, size_t n, size_t keep)
{
    eng_lm_stats stats = {.size = sizeof stats};
    eng_lm_context_get_stats(context, &stats);
    const int32_t *held;
    size_t same = 0, dropped = (size_t)stats.tokens_dropped;
    int64_t length = eng_lm_sequence_tokens(context, 0, &held);
    while ((int64_t)same < length && same + dropped < n && held[same] == ids[same < keep ? same : same + dropped])
        same++;
    /* drafts behind the end */
    int status = (int64_t)same < length ? eng_lm_sequence_rollback(context, 0, length - (int64_t)same) : ENG_OK;
    static const uint8_t none[ENG_LM_DRAFT_MOST + 1];
    if (!status && same + dropped < n) { /* the last one chosen has not run */
        eng_lm_batch b = {.size = sizeof b, .n_tokens = (uint32_t)(n - same - dropped), .tokens = ids + same + dropped};
        b.logits = b.n_tokens <= sizeof none ? none : NULL;
        status = eng_lm_decode(context, &b);
    }
    return status ? status : eng_lm_sequence_save(context, 0, path);
}
