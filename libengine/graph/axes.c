/*
 * Axes of results.  Rules carry them by letter; ops whose result's axes say it
 * all (ENG_OPF_FOLLOW) each have a function here that names an axis only where a
 * shard of the result is the op applied to the operands' shards.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph.h"

typedef struct work {
    eng_inference *f;
    eng_dim_work in[2][ENG_MAX_RANK]; /* axes of the first operands           */
    eng_dim_work out[ENG_MAX_RANK];
    eng_dim_work letter[ENG_MAX_LETTERS];
    bool known[ENG_MAX_LETTERS];
} work;

static void load_operand(const eng_tensor *t, eng_dim_work dims[ENG_MAX_RANK])
{
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        eng_dim_load(&dims[d], t->dims != NULL && d < t->rank ? &t->dims[d] : NULL, t->ne[d]);
}

/* -- by letter --------------------------------------------------------------- */

/* Two operands disagree about a letter: its axes are unusable. */
static void learn_letter(work *w, uint8_t letter, const eng_dim_work *dim)
{
    eng_dim_work n = *dim;
    eng_dim_normalise(&n);
    if (!eng_dim_named(&n))
        return;
    if (!w->known[letter]) {
        w->letter[letter] = n;
        w->known[letter] = true;
    } else if (!eng_dim_equal(&w->letter[letter], &n)) {
        eng_dim_anonymous(&w->letter[letter], w->f->extent[letter]);
    }
}

/* A product's axes are cut between its letters where the factors allow it. */
static void learn_product(work *w, const eng_rule_dim *rule, const eng_dim_work *dim, bool swapped)
{
    eng_dim_work parts[sizeof rule->letters];
    int64_t ne[sizeof rule->letters];
    uint32_t n = rule->n_letters;
    for (uint32_t i = 0; i < n; i++) /* regroup wants innermost first */
        ne[i] = w->f->extent[rule->letters[swapped ? i : n - 1 - i]];
    eng_dims_regroup(dim, 1, ne, parts, n);
    for (uint32_t i = 0; i < n; i++)
        learn_letter(w, rule->letters[swapped ? i : n - 1 - i], &parts[i]);
}

/* gated_delta_net reads its product (r h) as (h r) when grouped. */
static bool products_swapped(const eng_inference *f)
{
    return f->info->op == ENG_OP_GATED_DELTA_NET && f->node->ip[ENG_GDN_GROUPED] != 0;
}

static void learn_operand(work *w, int operand)
{
    const eng_tensor *t = w->f->in[operand];
    eng_dim_work dims[ENG_MAX_RANK];
    if (t == NULL || t->dims == NULL)
        return;
    load_operand(t, dims);
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        const eng_rule_dim *rule = &w->f->info->in[operand].dims[d];
        if (rule->n_letters == 0 || rule->letters[0] == ENG_LETTER_PRIVATE)
            continue;
        if (rule->n_letters > 1)
            learn_product(w, rule, &dims[d], products_swapped(w->f));
        else if (t->ne[d] == w->f->extent[rule->letters[0]])
            learn_letter(w, rule->letters[0], &dims[d]);
    }
}

static void join_letters(work *w, const eng_rule_dim *rule, int64_t extent, eng_dim_work *out)
{
    bool swapped = products_swapped(w->f);
    if (rule->n_letters == 1 && rule->letters[0] != ENG_LETTER_PRIVATE && w->known[rule->letters[0]]) {
        *out = w->letter[rule->letters[0]];
        return;
    }
    eng_dim_anonymous(out, extent);
    if (rule->n_letters < 2)
        return;
    eng_dim_work joined = {.n = 1};
    for (int i = 0; i < rule->n_letters; i++) {
        uint8_t letter = rule->letters[swapped ? rule->n_letters - 1 - i : i];
        eng_dim_work part;
        if (w->known[letter])
            part = w->letter[letter];
        else
            eng_dim_anonymous(&part, w->f->extent[letter]);
        if (part.n != 1 || joined.s[0].n + part.s[0].n > ENG_MAX_FACTORS)
            return;
        memcpy(&joined.s[0].f[joined.s[0].n], part.s[0].f, part.s[0].n * sizeof part.s[0].f[0]);
        joined.s[0].n += part.s[0].n;
    }
    *out = joined;
}

static void by_rule(work *w, int result)
{
    for (int d = 0; d < ENG_MAX_RANK; d++)
        join_letters(w, &w->f->info->out[result].dims[d], w->f->out[result].ne[d], &w->out[d]);
}

/* -- ops that follow ----------------------------------------------------------- */

static void same_dims(work *w)
{
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        w->out[d] = w->in[0][d];
        if (!eng_dim_named(&w->out[d]) && w->f->in[1] != NULL && eng_dim_extent(&w->in[1][d]) == w->f->out[0].ne[d])
            w->out[d] = w->in[1][d];
    }
}

static void glu_halves(work *w)
{
    same_dims(w);
    if (w->f->in[1] != NULL)
        return;
    eng_dim_work half = w->in[0][0];
    half.n /= 2;
    for (uint32_t s = 0; s < half.n; s++) {
        eng_dim_work a = {.n = 1, .s[0] = w->in[0][0].s[s]}, b = {.n = 1, .s[0] = w->in[0][0].s[half.n + s]};
        if (!eng_dim_equal(&a, &b))
            half.n = 0;
    }
    if (w->in[0][0].n % 2 == 0 && half.n > 0)
        w->out[0] = half;
    else
        eng_dim_anonymous(&w->out[0], w->f->out[0].ne[0]);
}

static void concat_segments(work *w, int dim)
{
    same_dims(w);
    eng_dim_work *a = &w->in[0][dim];
    const eng_dim_work *b = &w->in[1][dim];
    if (a->n + b->n > ENG_MAX_SEGMENTS) {
        eng_dim_anonymous(&w->out[dim], w->f->out[0].ne[dim]);
        return;
    }
    w->out[dim] = *a;
    memcpy(&w->out[dim].s[a->n], b->s, b->n * sizeof b->s[0]);
    w->out[dim].n += b->n;
}

static void repeat_dims(work *w)
{
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        int64_t from = w->f->in[0]->ne[d], to = w->f->out[0].ne[d];
        eng_dim_work *out = &w->out[d];
        *out = w->in[0][d];
        if (from == to)
            continue;
        if (out->n != 1 || from == 0 || out->s[0].n == ENG_MAX_FACTORS) {
            eng_dim_anonymous(out, to);
            continue;
        }
        memmove(&out->s[0].f[1], &out->s[0].f[0], out->s[0].n * sizeof out->s[0].f[0]);
        out->s[0].f[0] = (eng_factor){.axis = ENG_AXIS_NONE, .extent = to / from};
        out->s[0].n++;
    }
}

static void pad_dims(work *w)
{
    for (int d = 0; d < ENG_MAX_RANK; d++)
        if (w->f->in[0]->ne[d] == w->f->out[0].ne[d])
            w->out[d] = w->in[0][d];
        else
            eng_dim_anonymous(&w->out[d], w->f->out[0].ne[d]);
}

/* A slice keeps the axes of whole segments; cutting into a segment that has an
 * axis loses them all. */
static void slice_dim(work *w)
{
    const int64_t *ip = w->f->node->ip;
    int64_t dim = ip[ENG_SLICE_DIM], begin = ip[ENG_SLICE_BEGIN], end = begin + ip[ENG_SLICE_LENGTH], at = 0;
    pad_dims(w);
    const eng_dim_work *in = &w->in[0][dim];
    eng_dim_work out = {0};
    if (begin == 0 && end == w->f->in[0]->ne[dim])
        return;
    for (uint32_t s = 0; s < in->n; s++) {
        eng_dim_work one = {.n = 1, .s[0] = in->s[s]};
        int64_t extent = eng_dim_extent(&one), from = at > begin ? at : begin,
                to = at + extent < end ? at + extent : end;
        at += extent;
        if (from >= to)
            continue;
        if (to - from != extent)
            return; /* anonymous: pad_dims said so */
        out.s[out.n++] = in->s[s];
    }
    if (out.n > 0)
        w->out[dim] = out;
}

static void permute_dims(work *w)
{
    for (int d = 0; d < ENG_MAX_RANK; d++)
        w->out[d] = w->in[0][w->f->node->ip[ENG_PERMUTE_DIM0 + d]];
}

/*
 * Whole blocks along dimension 0: an axis may stay only if what is inside of it
 * is whole blocks of both types.
 */
static void keep_blocks(work *w, int64_t block)
{
    eng_dim_work *dim = &w->out[0];
    for (uint32_t s = 0; s < dim->n; s++) {
        int64_t inner = 1;
        for (int i = (int)dim->s[s].n - 1; i >= 0; i--) {
            if (inner % block != 0)
                dim->s[s].f[i].axis = ENG_AXIS_NONE;
            inner *= dim->s[s].f[i].extent;
        }
    }
}

static void follow(work *w)
{
    eng_inference *f = w->f;
    switch (f->info->op) {
    case ENG_OP_RESHAPE:
        eng_dims_regroup(w->in[0], ENG_MAX_RANK, f->out[0].ne, w->out, ENG_MAX_RANK);
        break;
    case ENG_OP_PERMUTE:
        permute_dims(w);
        break;
    case ENG_OP_SLICE:
        slice_dim(w);
        break;
    case ENG_OP_CONCAT:
        concat_segments(w, (int)f->node->ip[ENG_CONCAT_DIM]);
        break;
    case ENG_OP_REPEAT:
        repeat_dims(w);
        break;
    case ENG_OP_PAD:
        pad_dims(w);
        break;
    case ENG_OP_VIEW:
        for (int d = 0; d < ENG_MAX_RANK; d++)
            eng_dim_anonymous(&w->out[d], f->out[0].ne[d]);
        break;
    case ENG_OP_GLU:
        glu_halves(w);
        break;
    default:
        same_dims(w);
    }
    int64_t a = eng_tensor_type(f->in[0])->block, b = eng_tensor_type(&f->out[0])->block;
    if (a > 1 || b > 1)
        keep_blocks(w, a > b ? a : b);
}

/* -- results ------------------------------------------------------------------- */

/* An axis may cut one dimension of a tensor only: later ones lose it. */
static void drop_repeated(eng_dim_work dims[ENG_MAX_RANK])
{
    for (int d = 1; d < ENG_MAX_RANK; d++)
        for (uint32_t s = 0; s < dims[d].n; s++)
            for (uint32_t i = 0; i < dims[d].s[s].n; i++)
                for (int before = 0; before < d; before++)
                    for (uint32_t k = 0; k < dims[before].s[0].n; k++)
                        if (dims[before].s[0].f[k].axis == dims[d].s[s].f[i].axis)
                            dims[d].s[s].f[i].axis = ENG_AXIS_NONE;
}

static int save(work *w, eng_tensor *t)
{
    eng_dim dims[ENG_MAX_RANK];
    eu_arena *arena = &w->f->graph->arena;
    uint32_t rank = 1;
    for (int d = 0; d < ENG_MAX_RANK; d++)
        eng_dim_normalise(&w->out[d]);
    drop_repeated(w->out);
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        eng_dim_normalise(&w->out[d]);
        if (!eng_dim_save(arena, &w->out[d], &dims[d]))
            return eng_fail_code(EU_NO_MEMORY("the axes of a graph"));
        if (t->ne[d] != 1 || dims[d].n_segments > 0)
            rank = (uint32_t)d + 1;
    }
    t->rank = rank;
    t->dims = NULL;
    for (uint32_t d = 0; d < rank; d++)
        if (dims[d].n_segments > 0)
            t->dims = dims;
    if (t->dims == NULL)
        return ENG_OK;
    eng_dim *kept = eu_arena_alloc(arena, rank * sizeof *kept);
    if (kept == NULL)
        return eng_fail_code(EU_NO_MEMORY("the axes of a graph"));
    memcpy(kept, dims, rank * sizeof *kept);
    t->dims = kept;
    return ENG_OK;
}

int eng_infer_axes(eng_inference *f)
{
    int status = ENG_OK;
    work *w = calloc(1, sizeof *w); /* some 100 KiB: not for the stack of a host's thread */
    if (w == NULL)
        return eng_fail_code(EU_NO_MEMORY("the axes of a graph"));
    w->f = f;
    for (int i = 0; i < 2 && i < f->info->n_in; i++)
        if (f->in[i] != NULL)
            load_operand(f->in[i], w->in[i]);
    for (int i = 0; i < f->info->n_in && !(f->info->flags & ENG_OPF_FOLLOW); i++)
        learn_operand(w, i);
    for (int o = 0; o < f->info->n_out && status == ENG_OK; o++) {
        if (f->info->flags & ENG_OPF_FOLLOW)
            follow(w);
        else
            by_rule(w, o);
        status = save(w, &f->out[o]);
    }
    free(w);
    return status;
}
