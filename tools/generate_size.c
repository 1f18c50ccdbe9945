/* engine-generate: how large the context is, and what its text is as tokens. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "generate_run.h"

#define UNTIL_END 4096  /* tokens that are allowed for if their number is not limited */
#define KEPT_MIB 256    /* of texts that requests may begin with again, and states to go back to */

eng_lm_placement run_placement(const run *r)
{
    return options_placement(&r->o, r->o.overrides, r->o.n_overrides);
}

eng_lm_context_params run_context_params(const run *r, const eng_lm_model *model, uint64_t n_cells)
{
    eng_lm_context_params params;
    eng_lm_context_defaults(&params);
    params.n_cells = n_cells > UINT32_MAX ? UINT32_MAX : (uint32_t)n_cells;
    params.n_batch = r->o.n_batch;
    params.on_full = r->o.shift ? ENG_LM_FULL_DROP : ENG_LM_FULL_REFUSE;
    params.n_keep = r->o.keep;
    params.type_k = r->o.type_k;
    params.precision = r->o.precision;
    params.type_v = r->o.type_v;
    params.n_snapshots = r->o.draft + 1; /* as many as may have to be taken back */
    if (params.n_snapshots == 1 && (r->o.load_state || r->o.save_state))
        params.n_snapshots = 2; /* a text that is loaded may go on without another one */
    params.outputs = options_block(&r->o) ? ENG_LM_HIDDEN_ALL : r->guesser ? ENG_LM_HIDDEN : 0; /* for an assistant */
    params.rotate_k = params.rotate_v = r->o.rotate_kv;
    eng_lm_model_info info = {.size = sizeof info};
    eng_lm_model_get_info(model, &info);
    if (r->o.chat == CHAT_LINES || (r->o.chat && info.recurrent)) /* else the one sequence holds it all */
        params.kept_bytes = (uint64_t)(r->o.cache_ram_given ? r->o.cache_ram : KEPT_MIB) << 20;
    params.placement = run_placement(r);
    return params;
}

/* What --load-state, -p, -f or --perplexity names, as tokens; --fit has asked for them before. */
static int tokenize(run *r, const eng_lm_model *model)
{
    const char *given = r->o.prompt ? r->o.prompt : "", *path = r->o.perplexity ? r->o.perplexity : r->o.prompt_file;
    char *text = NULL;
    size_t length = 0;
    int status = ENG_OK;
    if (r->ids)
        return ENG_OK;
    if (path)
        status = read_text(path, &text, &length);
    else
        length = strlen(given);
    if (!status && path && !r->o.perplexity && length && text[length - 1] == '\n')
        length--; /* that an editor has put at the end */
    int32_t *ids = NULL, *before = NULL;
    size_t n = 0, n_before = 0;
    uint32_t flags = r->o.perplexity ? (r->o.protocol == COUNT_LLAMA ? ENG_LM_ADD_SPECIAL : 0) :
                                       (r->o.load_state ? 0 : ENG_LM_ADD_SPECIAL) | ENG_LM_PARSE_SPECIAL;
    if (!status)
        status = eng_lm_tokenize(model, path ? text : given, length, flags, &ids, &n);
    free(text);
    if (!status && r->o.load_state)
        status = state_tokens(r->o.load_state, &before, &n_before);
    if (!status && !eu_reserve(r->ids, r->capacity, n_before + n + 1))
        status = eng_fail_code(EU_NO_MEMORY("the tokens"));
    if (!status && n_before)
        memcpy(r->ids, before, n_before * sizeof *before);
    if (!status && n)
        memcpy(r->ids + n_before, ids, n * sizeof *ids);
    r->n_ids = r->n_prompt = n_before + n;
    eng_lm_free(ids);
    free(before);
    return status;
}

/* Cells of the context: what is needed, in steps, as far as the model goes. */
int run_count_cells(run *r, const eng_lm_model *model, uint64_t *cells, uint64_t *most)
{
    bool text = !r->o.chat && !options_plan_only(&r->o);
    int status = text ? tokenize(r, model) : ENG_OK;
    if (status)
        return status;
    eng_lm_model_info info = {.size = sizeof info};
    eng_lm_model_get_info(model, &info);
    *most = info.context_length;
    *cells = r->o.n_ctx;
    if (*cells == 0 && r->o.perplexity)
        *cells = 512;
    if (*cells == 0) {
        *cells = (r->n_prompt + (uint64_t)(r->o.chat || r->o.n_predict < 0 ? UNTIL_END : r->o.n_predict) + 255) / 256 *
                 256;
        *cells = *cells > *most ? *most : *cells;
    }
    return ENG_OK;
}

static int fit_context(void *user, eng_lm_model *model, eng_lm_context_params *params, uint64_t *n_tokens)
{
    const run *r = user;
    uint64_t cells, most;
    int status = run_count_cells(user, model, &cells, &most);
    if (status)
        return status;
    *params = run_context_params(r, model, cells);
    *n_tokens = r->o.chat || r->o.perplexity || r->n_prompt > cells ? cells : r->n_prompt ? r->n_prompt : 1;
    return ENG_OK;
}

int run_fit(run *r)
{
    return device_fit(r->engine, &r->o, fit_context, r);
}
