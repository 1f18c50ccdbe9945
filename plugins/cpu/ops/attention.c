/*
 * Attention with grouped queries over a cache of any type pair.
 *
 * A unit of work is a KV head and a chunk of tokens: its columns (the group's
 * heads of each token) go over the cells in blocks, with a running maximum and
 * sum (Milakov, Gimelshein, arXiv:1805.02867; Dao et al., arXiv:2205.14135),
 * so that K and V are read and decoded once for all of them.  Cells are cut into parts, each summed
 * from nothing and merged in their order.  With few tokens threads share parts, too.  So a token's result is
 * the same bits whatever other tokens there are, and whatever cells that it does not see.
 */
#include "attention.h"

enum { SINKS = 8, TABLE = 9 }; /* operands */

#define CELLS CPU_ATTN_CELLS
#define PIECE 8           /* cells whose values are decoded for few columns, which lie in the nearest cache then */
#define CUT 512           /* cells of a part                                 */
#define FEW 8             /* parts are shared out for at most this many tokens */
#define CHUNK_COLUMNS 96  /* columns of a chunk at most, if the group is smaller */
#define UNIT_COLUMNS 192  /* by a unit, for which a block is made ready once     */
#define LEAST_COLUMNS 24  /* chunks are not made smaller than that ...       */
#define ENOUGH_UNITS 64   /* ... to give many threads something to do        */

static cpu_attn_shape unit_shape(const cpu_task *task, int64_t group, int64_t columns)
{
    const cpu_tensor *k = task->in[1], *v = task->in[2];
    return (cpu_attn_shape){k->ne[0], v->ne[0], columns, group, k->type, v->type, row_size(k), row_size(v)};
}

/* What has a block's products with all queries of a chunk; NULL: nothing. */
static const cpu_attn_unit *unit_for(const cpu_task *task, int64_t group, int64_t columns)
{
    const cpu_attn_shape s = unit_shape(task, group, columns);
    const cpu_attn_unit *exact = task->variant->attention,
                        *fast = task->node->precision == ENG_PRECISION_FAST ? task->variant->attention_fast : NULL;
    return fast && fast->takes(&s) ? fast : exact && exact->takes(&s) ? exact : NULL;
}

static attn_shape shape_of(const cpu_task *task)
{
    const cpu_tensor *q = task->in[0], *k = task->in[1], *v = task->in[2], *table = task->in[TABLE];
    attn_shape s = {.d = q->ne[0], .e = v->ne[0], .heads = q->ne[1], .kv_heads = k->ne[2], .tokens = q->ne[2],
                    .cells = table ? table->ne[0] * task->node->ip[ENG_ATTN_BLOCK] : k->ne[1]};
    if (s.heads == 0)
        s.kv_heads = 0; /* nothing to do */
    s.group = s.kv_heads ? s.heads / s.kv_heads : 1;
    int64_t width = unit_for(task, s.group, UNIT_COLUMNS) ? UNIT_COLUMNS : CHUNK_COLUMNS;
    while (width > LEAST_COLUMNS && s.kv_heads * s.tokens * s.group < ENOUGH_UNITS * width)
        width /= 2;
    s.chunk = s.group < width ? width / s.group : 1;
    s.cut = s.tokens <= FEW;
    if (s.cut && s.chunk > s.tokens)
        s.chunk = s.tokens ? s.tokens : 1;
    s.chunks = (s.tokens + s.chunk - 1) / s.chunk;
    s.columns = s.chunk * s.group;
    s.parts = (s.cells + CUT - 1) / CUT;
    return s;
}

/* Columns for which there is room. */
static int64_t room_for(const attn_shape *s)
{
    return (s->columns + CPU_ATTN_TOGETHER - 1) / CPU_ATTN_TOGETHER * CPU_ATTN_TOGETHER;
}

/* Bytes of the chunk's queries, packed; a unit has them in its scratch. */
static size_t packed_bytes(const cpu_task *task, const attn_shape *s)
{
    if (unit_for(task, s->group, s->columns))
        return 0;
    return cpu_products_for(task, task->in[1], s->columns)->packed_bytes(task->in[1]->type, s->d, s->columns);
}

static size_t product_bytes(const cpu_task *task, const attn_shape *s)
{
    const cpu_attn_unit *unit = unit_for(task, s->group, s->columns);
    const cpu_tensor *k = task->in[1];
    const cpu_attn_shape shape = unit_shape(task, s->group, s->columns);
    return unit ? unit->scratch_bytes(&shape)
                : cpu_products_for(task, k, s->columns)->scratch_bytes(k->type, s->d, s->columns);
}

static size_t thread_bytes(const cpu_task *task, int threads)
{
    (void)threads;
    attn_shape s = shape_of(task);
    return product_bytes(task, &s) + packed_bytes(task, &s) + 2 * floats(CELLS * room_for(&s)) +
           floats(CELLS * (s.d > s.e ? s.d : s.e)) + floats(s.chunk * CELLS) + 2 * floats(room_for(&s) * s.e) +
           8 * floats(2 * s.columns) + floats(CELLS) + 4096;
}

/* Partial results: for each unit, part and column e sums, maximum, total. */
static size_t shared_bytes(const cpu_task *task, int threads)
{
    (void)threads;
    attn_shape s = shape_of(task);
    return s.cut && s.parts > 1 ? floats(s.kv_heads * s.chunks * s.parts * s.columns * (s.e + 2)) : 0;
}

/* -- one block of cells ----------------------------------------------------------------- */

/* Raw products become scores; returns the largest, or `max`. */
static float scores(const attn_work *w, int64_t c, float *s, float max)
{
    const float *bias = w->bias + c / w->s.group * CELLS;
    vf scale = v_set1(w->softcap != 0 ? w->scale / w->softcap : w->scale), slope = v_set1(w->slope[c]),
       top = v_set1(max);
    CPU_UNROLL
    for (int j = 0; j < CELLS; j += CPU_VL) {
        vf x = v_load(s + j) * scale, b = v_load(bias + j);
        if (w->softcap != 0)
            x = w->softcap * v_tanh_of(x);
        x = v_select(b == v_set1(-INFINITY), b, v_fma(slope, b, x));
        v_store(s + j, x);
        top = v_max(x, top);
    }
    return v_hmax(top);
}

static void scale_row(float *x, int64_t n, float f)
{
    int64_t i = 0;
    for (; i + CPU_VL <= n; i += CPU_VL)
        v_store(x + i, v_load(x + i) * v_set1(f));
    for (; i < n; i++)
        x[i] *= f;
}

/* Raw products become weights; maxima, totals and sums are brought up to date. */
static void weigh(const attn_work *w, int64_t n)
{
    for (int64_t t = 0; t < w->t1 - w->t0; t++)
        for (int64_t j = n; j < CELLS; j++)
            w->bias[t * CELLS + j] = -INFINITY;
    for (int64_t c = 0; c < w->columns; c++) {
        float *s = w->score + c * CELLS, max = scores(w, c, s, w->max[c]);
        if (max == -INFINITY) { /* nothing seen yet; NaN must show */
            for (int64_t j = 0; j < CELLS; j++) {
                s[j] = s[j] == s[j] ? 0 : s[j];
                w->total[c] += s[j];
            }
            continue;
        }
        if (max > w->max[c]) {
            float f = expf(w->max[c] - max);
            scale_row(w->sum + c * w->s.e, w->s.e, f);
            w->total[c] *= f;
            w->max[c] = max;
        }
        vf total = {0};
        CPU_UNROLL
        for (int j = 0; j < CELLS; j += CPU_VL) {
            /* weights below the normal numbers would cost time and weigh nothing */
            vf x = v_load(s + j) - max, p = v_select(x < -87.0f, (vf){0}, v_exp_down(x));
            v_store(s + j, p);
            total += p;
        }
        w->total[c] += v_sum(total);
    }
}

/* Cells that a column does not see have weight zero, but zero times infinity is
 * not zero: where V holds such numbers, those cells are left out one by one. */
static bool finite_values(const cpu_rows *v)
{
    vf bad = {0};
    float b = 0;
    for (int64_t j = 0; j < v->n; j++) {
        const float *row = (const float *)(v->at + j * v->stride);
        int64_t i = 0;
        for (; i + CPU_VL <= v->e; i += CPU_VL) {
            vf x = v_load(row + i);
            bad += x - x;
        }
        for (; i < v->e; i++)
            b += row[i] - row[i];
    }
    return b + v_sum(bad) == 0;
}

/* From the j-th cell of the block on. */
static void add_values_carefully(const attn_work *w, const cpu_rows *v, int64_t j)
{
    for (int64_t c = 0; c < w->columns; c++) {
        const float *bias = w->bias + c / w->s.group * CELLS + j, *p = w->score + c * CELLS + j;
        for (int64_t r = 0; r < v->n; r++) {
            const float *row = (const float *)(v->at + r * v->stride);
            if (bias[r] != -INFINITY)
                for (int64_t i = 0; i < w->s.e; i++)
                    w->sum[c * w->s.e + i] += p[r] * row[i];
        }
    }
}

/* The rows of V, of so many bytes, decoded, some at a time; as many of the next ones are asked for with them. */
static cpu_rows decoded(const cpu_rows *v, int64_t bytes, float *value)
{
    enum { AT_ONCE = 4 };
    const cpu_format *f = &cpu_formats[v->type];
    for (int64_t j = 0; j < v->n; j += AT_ONCE) {
        const int64_t n = v->n - j < AT_ONCE ? v->n - j : AT_ONCE;
        ask_for(v->next + j * v->stride, n, v->stride, bytes, false);
        if (v->together)
            f->decode(v->at + j * v->stride, 0, n * v->e, value + j * v->e);
        else
            for (int64_t i = j; i < j + n; i++)
                f->decode(v->at + i * v->stride, 0, v->e, value + i * v->e);
    }
    return (cpu_rows){(const uint8_t *)value, v->e * 4, v->n, v->e, ENG_TYPE_F32, true, NULL};
}

static void add_values(const attn_work *w, cpu_rows v, bool partly)
{
    const bool decode = !CPU_V(cpu_attn_takes)(v.type, w->columns) || (partly && v.type != ENG_TYPE_F32);
    const int64_t piece = decode && w->columns <= CPU_ATTN_FEW ? PIECE : CELLS;
    for (int64_t j = 0; j < v.n; j += piece) {
        cpu_rows some = v;
        some.at += j * v.stride;
        some.next += j * v.stride;
        some.n = v.n - j < piece ? v.n - j : piece;
        if (decode)
            some = decoded(&some, row_size(w->task->in[2]), w->value);
        if (partly && !finite_values(&some))
            add_values_carefully(w, &some, j);
        else
            CPU_V(cpu_attn_values)(w->score + j, &some, w->sum, w->columns);
    }
}

/* Scores and weights are of the next block now. */
static void exchange(attn_work *w)
{
    float *score = w->weights;
    w->weights = w->score;
    w->score = score;
    for (int64_t c = 0; c < w->columns; c++)
        w->score_at[c] = score + c * CELLS;
}

/* The scores of a block, and the values of the one before. */
static void do_by_turns(attn_work *w, const cpu_rows *keys, const cpu_rows *values)
{
    CPU_V(cpu_attn_turns)(w, keys, &w->waiting);
    weigh(w, keys->n);
    w->waiting = *values;
    exchange(w);
}

static void add_waiting(attn_work *w)
{
    const cpu_rows none = {0};
    if (w->waiting.n > 0)
        CPU_V(cpu_attn_turns)(w, &none, &w->waiting);
    w->waiting.n = 0;
}

/* A block's rows decoded, and zeros behind them. */
static cpu_rows all_rows(const attn_work *w, const cpu_rows *r)
{
    const cpu_format *f = &cpu_formats[r->type];
    for (int64_t j = 0; j < r->n; j++)
        f->decode(r->at + j * r->stride, 0, r->e, w->value + j * r->e);
    memset(w->value + r->n * r->e, 0, (size_t)((CELLS - r->n) * r->e) * sizeof *w->value);
    return (cpu_rows){(const uint8_t *)w->value, r->e * 4, r->n, r->e, ENG_TYPE_F32, true, NULL};
}

/* The block by a unit. */
static void do_whole_block(attn_work *w, const cpu_rows *keys, const cpu_rows *values, bool partly)
{
    const bool floats = w->unit->floats;
    const later_rows next = later_rows_from(values->at, values->stride, w->shape.value_bytes),
                     then = later_rows_from(keys->next, keys->stride, w->shape.key_bytes);
    cpu_rows rows = floats ? all_rows(w, keys) : *keys;
    w->unit->scores(&w->shape, &rows, &next, w->score, w->gemm);
    weigh(w, keys->n);
    rows = floats || partly ? all_rows(w, values) : *values;
    if (partly && !finite_values(&rows))
        add_values_carefully(w, &rows, 0);
    else
        w->unit->values(&w->shape, floats ? &rows : values, &then, w->score, w->sum, w->gemm);
}

static void do_block(attn_work *w, int64_t j0, int64_t cell0, int64_t n)
{
    const cpu_tensor *k = w->task->in[1], *v = w->task->in[2];
    block_sight sight = CPU_V(cpu_attn_look)(w, j0, cell0, n);
    if (sight == UNSEEN)
        return;
    const uint8_t *key = k->data + w->kv_head * k->nb[2] + cell0 * k->nb[1],
                  *value = v->data + w->kv_head * v->nb[2] + cell0 * v->nb[1];
    const cpu_rows keys = {key, k->nb[1], n, w->s.d, k->type, k->nb[1] == row_size(k), key + n * k->nb[1]},
                   values = {value, v->nb[1], n, w->s.e, v->type, v->nb[1] == row_size(v), value + n * v->nb[1]};
    if (w->unit) {
        do_whole_block(w, &keys, &values, sight == PARTLY);
        return;
    }
    if (w->by_turns && sight == FULLY) {
        do_by_turns(w, &keys, &values);
        return;
    }
    add_waiting(w);
    cpu_gemm g = {.a = key, .stride = k->nb[1], .block = k->block, .block_bytes = k->block_bytes, .type = k->type,
                  .b_type = ENG_TYPE_F32, .k = w->s.d, .n = w->columns, .b = w->q, .o = w->score_at,
                  .blocked = CPU_V(cpu_gemm_blocked)(w->columns), .packed = w->packed};
    w->product->rows(&g, 0, n, w->gemm);
    weigh(w, n);
    add_values(w, values, sight == PARTLY);
}

/* Cells j0 .. j1 - 1 for the chunk, whose tokens are of one sequence if there is
 * a table of blocks. */
static void do_cells(attn_work *w, int64_t j0, int64_t j1)
{
    const cpu_tensor *table = w->task->in[TABLE], *seq = w->task->in[4], *k = w->task->in[1];
    int64_t page = w->task->node->ip[ENG_ATTN_BLOCK];
    for (int64_t j = j0; j < j1;) {
        int64_t n = j1 - j < CELLS ? j1 - j : CELLS, cell = j;
        if (table) {
            int64_t left = page - j % page, s = seq ? int_at(seq, w->t0) : 0;
            n = n < left ? n : left;
            int64_t at = s >= 0 && s < table->ne[1]
                             ? index_at(table, table->data + j / page * table->nb[0] + s * table->nb[1]) : -1;
            cell = at < 0 || at > k->ne[1] / page ? -1 : at * page + j % page;
        }
        const int64_t there = k->ne[1] - cell < n ? k->ne[1] - cell : n; /* the cache may end within a block */
        if (cell >= 0 && there > 0)
            do_block(w, j, cell, there);
        j += n;
    }
    add_waiting(w);
}

/* -- units ------------------------------------------------------------------------------- */

static void start(attn_work *w)
{
    const cpu_tensor *q = w->task->in[0], *k = w->task->in[1];
    w->columns = (w->t1 - w->t0) * w->s.group;
    for (int64_t c = 0; c < w->columns; c++) {
        int64_t h = w->kv_head * w->s.group + c % w->s.group, t = w->t0 + c / w->s.group;
        w->q[c] = q->data + h * q->nb[1] + t * q->nb[2];
        w->score_at[c] = w->score + c * CELLS;
        w->slope[c] = alibi_slope(w->max_bias, w->s.heads, h);
    }
    if (w->unit) {
        w->shape = unit_shape(w->task, w->s.group, w->columns);
        w->unit->queries(&w->shape, w->q, w->gemm);
        return;
    }
    cpu_gemm g = {.block = k->block, .type = k->type, .b_type = ENG_TYPE_F32, .k = w->s.d, .n = w->columns, .b = w->q};
    w->product->pack(&g, 0, w->columns, w->packed);
}

static void stop(const attn_work *w)
{
    if (w->unit && w->unit->end)
        w->unit->end();
}

/* Sums of columns from nothing. */
static void clear(const attn_work *w, float *max, float *total, float *sum)
{
    for (int64_t c = 0; c < w->columns; c++) {
        max[c] = -INFINITY;
        total[c] = 0;
    }
    memset(sum, 0, (size_t)(w->columns * w->s.e) * sizeof *sum);
}

/* A part of which a column sees something added to those before; e sums.  Not inlined: a compiler could round the sum
 * of two products in two ways. */
static __attribute__((noinline)) void add_part(float *max, float *total, float *sum, float part_max, float part_total,
                                               const float *part, int64_t e)
{
    if (part_max == -INFINITY && part_total == 0)
        return;
    float top = part_max > *max ? part_max : *max;
    float f = *max > -INFINITY ? expf(*max - top) : 1; /* 1: its sums are zero, or NaN */
    float g = part_max > -INFINITY ? expf(part_max - top) : 1;
    *total = *total * f + part_total * g;
    for (int64_t i = 0; i < e; i++)
        sum[i] = sum[i] * f + part[i] * g;
    *max = top;
}

/* A column's results from its maximum, total and sums. */
static void finish(const attn_work *w, int64_t c, float max, float total, const float *sum)
{
    const cpu_tensor *sinks = w->task->in[SINKS], *o = w->task->out[0], *lse = w->task->out[1];
    int64_t h = w->kv_head * w->s.group + c % w->s.group, t = w->t0 + c / w->s.group;
    float *out = (float *)(o->data + h * o->nb[1] + t * o->nb[2]), f = 1;
    if (sinks && total == total) {
        float sink = tail_f32(sinks->data + h * sinks->nb[0]), m = max > sink ? max : sink;
        if (m > -INFINITY) {
            f = max > -INFINITY ? expf(max - m) : 0;
            total = total * f + expf(sink - m);
            max = m;
        }
    }
    if (lse) /* the logarithm of 0 is -inf: nothing seen */
        *(float *)(lse->data + h * lse->nb[0] + t * lse->nb[1]) = total == 0 ? -INFINITY : max + logf(total);
    f = total == 0 ? 0 : f / total;
    if (f == 0)
        memset(out, 0, (size_t)w->s.e * sizeof *out);
    else
        for (int64_t i = 0; i < w->s.e; i++)
            out[i] = sum[i] * f + 0.0f; /* cells that are not seen may have left minus zero, or not */
}

static void whole_unit(attn_work *w, int64_t first, int64_t last, int64_t cells)
{
    const cpu_tensor *table = w->task->in[TABLE], *seq = w->task->in[4];
    for (w->t0 = first; w->t0 < last; w->t0 = w->t1) {
        w->t1 = last;
        if (table && seq) /* only tokens of one sequence share their cells */
            for (w->t1 = w->t0 + 1; w->t1 < last && int_at(seq, w->t1) == int_at(seq, w->t0);)
                w->t1++;
        start(w);
        clear(w, w->all_max, w->all_total, w->all_sum);
        for (int64_t j = 0; j < cells; j += CUT) {
            clear(w, w->max, w->total, w->sum);
            do_cells(w, j, j + CUT < cells ? j + CUT : cells);
            for (int64_t c = 0; c < w->columns; c++)
                add_part(&w->all_max[c], &w->all_total[c], w->all_sum + c * w->s.e, w->max[c], w->total[c],
                         w->sum + c * w->s.e, w->s.e);
        }
        stop(w);
        for (int64_t c = 0; c < w->columns; c++)
            finish(w, c, w->all_max[c], w->all_total[c], w->all_sum + c * w->s.e);
    }
}

/* Where a part leaves its results. */
static float *part_place(const attn_work *w, int64_t unit, int64_t part)
{
    return (float *)w->task->shared + ((unit * w->s.parts + part) * w->s.columns) * (w->s.e + 2);
}

static void do_part(attn_work *w, int64_t unit, int64_t part, int64_t cells)
{
    int64_t e = w->s.e, j0 = part * CUT, j1 = j0 + CUT < cells ? j0 + CUT : cells;
    start(w);
    clear(w, w->max, w->total, w->sum);
    do_cells(w, j0, j1);
    stop(w);
    float *p = part_place(w, unit, part);
    for (int64_t c = 0; c < w->columns; c++, p += e + 2) {
        memcpy(p, w->sum + c * e, (size_t)e * sizeof *p);
        p[e] = w->max[c];
        p[e + 1] = w->total[c];
    }
}

static void merge_parts(attn_work *w, int64_t unit, int64_t c, int64_t parts)
{
    int64_t e = w->s.e;
    float max = -INFINITY, total = 0;
    memset(w->sum, 0, (size_t)e * sizeof *w->sum);
    for (int64_t p = 0; p < parts; p++) {
        const float *x = part_place(w, unit, p) + c * (e + 2);
        add_part(&max, &total, w->sum, x[e], x[e + 1], x, e);
    }
    finish(w, c, max, total, w->sum);
}

static attn_work work_of(const cpu_task *task, const cpu_run *run)
{
    attn_work w = {.task = task, .run = run, .s = shape_of(task)};
    uint8_t *scratch = run->scratch;
    w.scale = (float)task->node->fp[ENG_ATTN_SCALE];
    w.softcap = (float)task->node->fp[ENG_ATTN_SOFTCAP];
    w.max_bias = task->node->fp[ENG_ATTN_MAX_BIAS];
    w.unit = unit_for(task, w.s.group, w.s.columns);
    w.score = take_floats(&scratch, CELLS * room_for(&w.s));
    w.weights = take_floats(&scratch, CELLS * room_for(&w.s));
    w.value = take_floats(&scratch, CELLS * (w.s.d > w.s.e ? w.s.d : w.s.e));
    w.bias = take_floats(&scratch, CELLS * w.s.chunk);
    w.sum = take_floats(&scratch, room_for(&w.s) * w.s.e);
    w.all_sum = take_floats(&scratch, room_for(&w.s) * w.s.e);
    w.all_max = take_floats(&scratch, w.s.columns);
    w.all_total = take_floats(&scratch, w.s.columns);
    w.product = cpu_products_for(task, task->in[1], w.s.columns);
    w.by_turns = CPU_V(cpu_attn_takes_turns)(&w);
    w.packed = scratch;
    scratch += packed_bytes(task, &w.s);
    w.max = take_floats(&scratch, w.s.columns);
    w.total = take_floats(&scratch, w.s.columns);
    w.slope = take_floats(&scratch, w.s.columns);
    w.q = (const uint8_t **)take_floats(&scratch, 2 * w.s.columns);
    w.score_at = (float **)take_floats(&scratch, 2 * w.s.columns);
    w.gemm = scratch;
    return w;
}

/* Cells here that the plan parameter does not exclude: the first so many. */
static int64_t valid_cells(const cpu_task *task, const cpu_run *run, int64_t cells)
{
    const int64_t *ip = task->node->ip;
    int64_t param = ip[ENG_ATTN_KV_PARAM], period = ip[ENG_ATTN_PERIOD];
    if (param < 0 || param >= run->n_params)
        return cells;
    int64_t n = run->params[param] - ip[ENG_ATTN_FIRST];
    if (n > 0 && period) { /* whole runs, and what there is of the last */
        int64_t rest = n % period;
        n = n / period * ip[ENG_ATTN_RUN] + (rest < ip[ENG_ATTN_RUN] ? rest : ip[ENG_ATTN_RUN]);
    }
    return n < 0 ? 0 : n < cells ? n : cells;
}

/* A KV head and a chunk of tokens. */
static void choose_unit(attn_work *w, int64_t unit)
{
    w->kv_head = unit / w->s.chunks;
    w->t0 = unit % w->s.chunks * w->s.chunk;
    w->t1 = w->t0 + w->s.chunk < w->s.tokens ? w->t0 + w->s.chunk : w->s.tokens;
}

static void whole_units(attn_work *w, int64_t units, int64_t cells)
{
    cpu_portions p = cpu_portions_of(w->task, w->run, units, 1);
    int64_t begin, end;
    while (cpu_take(&p, &begin, &end))
        for (int64_t u = begin; u < end; u++) {
            choose_unit(w, u);
            whole_unit(w, w->t0, w->t1, cells);
        }
}

static void units_in_parts(attn_work *w, int64_t units, int64_t parts, int64_t cells)
{
    cpu_portions p = cpu_portions_of(w->task, w->run, units * parts, 1);
    int64_t begin, end;
    while (cpu_take(&p, &begin, &end))
        for (int64_t u = begin; u < end; u++) {
            choose_unit(w, u / parts);
            do_part(w, u / parts, u % parts, cells);
        }
    cpu_barrier(w->run);
    cpu_share(w->run, units * w->s.columns, 1, &begin, &end);
    for (int64_t u = begin; u < end; u++) {
        int64_t unit = u / w->s.columns, c = u % w->s.columns;
        choose_unit(w, unit);
        if (c < (w->t1 - w->t0) * w->s.group)
            merge_parts(w, unit, c, parts);
    }
}

static void run_attention(const cpu_task *task, cpu_run *run)
{
    attn_work w = work_of(task, run);
    const cpu_tensor *table = task->in[TABLE], *seq = task->in[4];
    int64_t cells = valid_cells(task, run, w.s.cells), units = w.s.kv_heads * w.s.chunks;
    int64_t parts = w.s.cut ? (cells + CUT - 1) / CUT : 1;
    if (parts <= 1 || !task->shared || (table && seq && w.s.chunk > 1))
        whole_units(&w, units, cells);
    else
        units_in_parts(&w, units, parts, cells);
}

CPU_DEFINE_TAKING(attention, run_attention, thread_bytes, shared_bytes)
