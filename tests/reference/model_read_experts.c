/* The whole-model oracle: weights of experts. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_reader.h"

/* i32, of each token of the vocabulary. */
void ref_read_token_experts(reader *r, layer *l, int64_t il)
{
    char name[64];
    int64_t n = r->m->used * r->m->n_vocab;
    snprintf(name, sizeof name, "blk.%d.ffn_gate_tid2eid.weight", (int)il);
    const eng_gguf_tensor *t = eng_gguf_tensor_find(r->gguf, name);
    if (!t || t->type != ENG_TYPE_I32 || t->ne[0] * t->ne[1] != n) {
        ref_fail(r, "no table %s of %lld", name, (long long)n);
        return;
    }
    l->token_experts = (int32_t *)ref_own(r, malloc((size_t)n * sizeof(double)));
    if (l->token_experts)
        memcpy(l->token_experts, t->data, (size_t)n * sizeof(int32_t));
}

/* Gate and up of all experts out of the tensor that holds both, gate's rows first. */
static void unfuse(reader *r, layer *l, const matrix *both)
{
    int64_t part = both->k * both->m / 2, n = r->m->experts;
    int64_t half = both->m / 2;
    l->gate = (matrix){ref_own(r, malloc((size_t)(n * part) * sizeof(double))), both->scale, NULL, both->k, half};
    l->up = l->gate;
    if (both->bias) {
        l->gate.bias = ref_own(r, malloc((size_t)(n * half) * sizeof(double)));
        l->up.bias = ref_own(r, malloc((size_t)(n * half) * sizeof(double)));
    }
    for (int64_t i = 0; i < n * half && l->gate.bias && l->up.bias; i++) {
        l->gate.bias[i] = both->bias[i / half * 2 * half + i % half];
        l->up.bias[i] = both->bias[i / half * 2 * half + half + i % half];
    }
    l->up.w = ref_own(r, malloc((size_t)(n * part) * sizeof(double)));
    for (int64_t e = 0; e < n && l->gate.w && l->up.w; e++) {
        memcpy(l->gate.w + e * part, both->w + 2 * e * part, (size_t)part * sizeof(double));
        memcpy(l->up.w + e * part, both->w + (2 * e + 1) * part, (size_t)part * sizeof(double));
    }
}

void ref_read_experts(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t e = m->n_embd, f = m->n_ff_expert, n = m->experts;
    l->choice_bias = ref_weights(r, false, n, il, "exp_probs_b", ".bias");
    l->router =
        (matrix){.w = m->f.beside ? ref_weights(r, true, e * n, il, "ffn_gate_inp", ".weight") : NULL, .k = e, .m = n};
    if (!m->f.beside) /* there the file's "scale" is that of its norm */
        l->router = ref_matrix_of(r, true, il, "ffn_gate_inp", e, n, 1);
    matrix both = ref_matrix_of(r, false, il, "ffn_gate_up_exps", e, 2 * f, n);
    if (both.w) {
        unfuse(r, l, &both);
    } else {
        l->gate = ref_matrix_of(r, true, il, "ffn_gate_exps", e, f, n);
        l->up = ref_matrix_of(r, true, il, "ffn_up_exps", e, f, n);
    }
    l->down = ref_matrix_of(r, true, il, "ffn_down_exps", f, e, n);
    if (m->n_ff_shared == 0)
        return;
    l->s_router = ref_matrix_of(r, m->f.shared == 1, il, "ffn_gate_inp_shexp", e, 1, 1);
    l->s_gate = ref_matrix_of(r, true, il, "ffn_gate_shexp", e, m->n_ff_shared, 1);
    l->s_up = ref_matrix_of(r, true, il, "ffn_up_shexp", e, m->n_ff_shared, 1);
    l->s_down = ref_matrix_of(r, true, il, "ffn_down_shexp", m->n_ff_shared, e, 1);
}
