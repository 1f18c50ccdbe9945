/*
 * kernels/delta_tiles.cl - the sums of delta_chunks.cl on processors with a matrix unit (tiles.clh), in precision fast: heads of a
 * multiple of 32 keys with one gate for all of them, in chunks of CHUNK tokens.
 *
 *     d    = beta (v - G (k S)) + L d        L(t, s) = -beta(t) A(t, s) k(t) . k(s), s < t
 *     o    = c G (q S) + P d                 P(t, s) = c A(t, s) q(t) . k(s), s <= t, c the scale of queries
 *     S    = G(n) S + k' (A(n, .) d)
 * Products are of factors rounded to bf16, of the state's, too; the state that goes from chunk to chunk is f32.  L is below the
 * diagonal, so d is known 16 tokens by 16: what tokens of blocks before bring is a product, and within a block one token after
 * another brings its own in f32.
 *
 * A work-item does HEADS heads that share keys, which are rounded and multiplied with one another once.
 *
 * -DCOLUMNS= multiple of 32, -DHEADS= a divisor of the heads that share keys, -DTILES_UNIT=
 */
#define PARTS 1
#define CHUNK 64
#include "chunks.clh"
#include "delta.clh"
#include "tiles_bf16.clh"
#include "tiles_meet.clh"

#define BLOCK 16 /* tokens that are solved one after another */
#define BLOCKS (CHUNK / BLOCK)
#define STEP 32 /* keys, or tokens, of a row of a tile */
#define STRIP (16 * ACROSS)
typedef uint16 lines_tile[UNIT_COLS]; /* of two keys or tokens each */

/* Keys and queries of a chunk: rounded, as [token][key]; keys as lines, and as [key][token]; products with keys. */
typedef struct keys {
    ushort16 k[CHUNK][SG], q[CHUNK][SG], across[S][BLOCKS];
    lines_tile lines[S / STEP][BLOCKS];
    float16 kk[CHUNK][BLOCKS], qk[CHUNK][BLOCKS];
} keys;

/* What gates make of it; lines of the state, of d, and of d times the gates until the chunk ends. */
typedef struct chunk {
    float a[CHUNK], beta[CHUNK], since[CHUNK], until[CHUNK];
    float16 near[CHUNK];                          /* L within a block */
    ushort16 before[CHUNK][BLOCKS], upto[CHUNK][BLOCKS]; /* L of blocks before; P */
    lines_tile state[STRIPS][S / STEP][ACROSS], solved[STRIPS][CHUNK / STEP][ACROSS], ending[STRIPS][CHUNK / STEP][ACROSS];
    float16 d[STRIPS][CHUNK][ACROSS], from_state[STRIPS][CHUNK][ACROSS], from_chunk[STRIPS][CHUNK][ACROSS];
} chunk;

/* Rows, two tiles at a time, times the two tiles of lines of a strip or of keys. */
static inline void meet_rows(tile_side rows, uint tiles, tile_side lines, uint steps, char *to, ulong row, const bool more)
{
    for (uint t = 0; t < tiles; t += 2) {
        const tile_side a = {rows.at + t * rows.next, rows.row, rows.next, 0, rows.step};
        meet_tiles(&a, &lines, 1, steps, to + t * UNIT_COLS * row, row, 2, more);
    }
}

#define ROWS_OF(x, t) ((tile_side){(const char *)(x)[t], sizeof (x)[0], UNIT_COLS * sizeof (x)[0], 0, UNIT_BYTES})
#define LINES_OF(x) ((tile_side){(const char *)(x), UNIT_BYTES, WHOLE_TILE, 0, sizeof (x)[0]})
#define TO_ROWS(x) (char *)(x), sizeof (x)[0]

/* -- keys and queries ------------------------------------------------------------------------ */

static inline void round_row(cbytes from, ushort16 *to)
{
    for (uint i = 0; i < SG; i++)
        to[i] = bfloats_of(vload16(i, (__global const float *)from));
}

static inline void zero_row(ushort16 *to, uint n)
{
    for (uint i = 0; i < n; i++)
        to[i] = 0;
}

/* 32 keys of 16 tokens. */
static inline void turn_some(keys *w, uint step, uint block)
{
    float16 x[16], y[16];
    EACH(r, 16)
    {
        const uint16 *row = (const uint16 *)&w->k[block * BLOCK + r][2 * step]; /* words of two keys */
        x[r] = as_float16(*row);
    }
    TRANSPOSE(x, y)
    EACH(i, 16)
    {
        const uint16 line = as_uint16(x[i]);
        w->lines[step][block][i] = line;
        w->across[step * STEP + 2 * i][block] = convert_ushort16(line & (uint16)0xffffu);
        w->across[step * STEP + 2 * i + 1][block] = convert_ushort16(line >> (uint16)16);
    }
}

/* Each token's products with the keys of its own and those before, and of some behind. */
__attribute__((noinline)) static void meet_keys(keys *w, uint rows)
{
    tiles_begin(UNIT_BYTES);
    for (uint t = 0; t < rows; t += STEP)
        for (uint i = 0; i <= t; i += STEP) {
            const tile_side lines = {(const char *)w->lines[0][i / BLOCK], UNIT_BYTES, WHOLE_TILE, 0, sizeof w->lines[0]};
            meet_rows(ROWS_OF(w->k, t), 2, lines, S / STEP, (char *)&w->kk[t][i / BLOCK], sizeof w->kk[0], false);
            meet_rows(ROWS_OF(w->q, t), 2, lines, S / STEP, (char *)&w->qk[t][i / BLOCK], sizeof w->qk[0], false);
        }
    tiles_end();
}

__attribute__((noinline)) static void take_keys(keys *w, cbytes k, long k_row, cbytes q, long q_row, uint n, uint rows)
{
    for (uint t = 0; t < n; t++) {
        round_row(k + t * k_row, w->k[t]);
        round_row(q + t * q_row, w->q[t]);
    }
    for (uint t = n; t < rows; t++) {
        zero_row(w->k[t], SG);
        zero_row(w->q[t], SG);
    }
    for (uint i = 0; i < S / STEP; i++)
        for (uint b = 0; b < rows / BLOCK; b++)
            turn_some(w, i, b);
    meet_keys(w, rows);
}

/* -- gates ------------------------------------------------------------------------------------ */

/* Of each token, since the chunk began, and until it ends; those of tokens that there are not are 1. */
static inline void take_gates(chunk *c, cbytes g, long g_row, cbytes beta, long beta_row, uint n)
{
    float all = 1.0f;
    for (uint t = 0; t < CHUNK; t++) {
        c->a[t] = t < n ? FLOAT(g, t * g_row) : 0.0f;
        c->beta[t] = t < n ? FLOAT(beta, t * beta_row) : 0.0f;
    }
    for (uint i = 0; i < CHUNK / 16; i++)
        vstore16(exp(vload16(i, c->a)), i, c->a);
    FEW for (uint t = 0; t < CHUNK; t++)
        c->since[t] = all *= c->a[t];
    all = 1.0f;
    FEW for (uint t = CHUNK; t-- > 0;)
    {
        c->until[t] = all;
        all *= c->a[t];
    }
}

/* L and P from products: of its own block L stays f32, of tokens before it, and P has its own token, too. */
__attribute__((noinline)) static void put_rows(chunk *c, const keys *w, uint n, uint rows, float scale)
{
    const int16 lanes = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    float16 decay[BLOCKS];
    EACH(b, BLOCKS) decay[b] = 0.0f;
    for (uint t = 0; t < n; t++) {
        const uint own = t / BLOCK;
        const int16 lane = (int16)(int)(t % BLOCK);
        const float a = c->a[t], beta = -c->beta[t];
        for (uint b = 0; b <= own; b++)
            decay[b] *= a;
        decay[own] = select(decay[own], (float16)1.0f, lanes == lane);
        for (uint b = 0; b < own; b++) {
            c->before[t][b] = bfloats_of(decay[b] * w->kk[t][b] * beta);
            c->upto[t][b] = bfloats_of(decay[b] * w->qk[t][b] * scale);
        }
        c->near[t] = select((float16)0.0f, decay[own] * w->kk[t][own] * beta, lanes < lane);
        c->upto[t][own] = bfloats_of(select((float16)0.0f, decay[own] * w->qk[t][own] * scale, lanes <= lane));
        zero_row(&c->before[t][own], BLOCKS - own);
        zero_row(&c->upto[t][own + 1], BLOCKS - own - 1);
    }
    for (uint t = n; t < rows; t++) {
        c->near[t] = 0.0f;
        zero_row(c->before[t], BLOCKS);
        zero_row(c->upto[t], BLOCKS);
    }
}

/* -- strips ------------------------------------------------------------------------------- */

/* The state as lines of two keys each; then the chunk's gates are on it. */
__attribute__((noinline)) static void turn_state(chunk *c, float16 *m, uint strips)
{
    const float whole = c->since[CHUNK - 1];
    for (uint p = 0; p < strips; p++)
        for (uint i = 0; i < S; i += 2) {
            float16 *at = m + p * ACROSS * TALL + i * ACROSS;
            EACH(a, ACROSS)
            {
                const float16 x = at[a], y = at[ACROSS + a];
                c->state[p][i / STEP][a][i % STEP / 2] = pair_of(bfloats_of(x), bfloats_of(y));
                at[a] = x * whole;
                at[ACROSS + a] = y * whole;
            }
        }
}

__attribute__((noinline)) static void meet_state(chunk *c, const keys *w, uint strips, uint rows)
{
    tiles_begin(UNIT_BYTES);
    for (uint p = 0; p < strips; p++) {
        meet_rows(ROWS_OF(w->k, 0), rows / UNIT_COLS, LINES_OF(c->state[p]), S / STEP, TO_ROWS(c->d[p]), false);
        meet_rows(ROWS_OF(w->q, 0), rows / UNIT_COLS, LINES_OF(c->state[p]), S / STEP, TO_ROWS(c->from_state[p]), false);
    }
    tiles_end();
}

/* What is known of d before any token brings its own. */
__attribute__((noinline)) static void begin_d(chunk *c, cbytes v, long v_row, uint strips, uint n, uint rows)
{
    for (uint t = 0; t < n; t++) {
        const float beta = c->beta[t], since = c->since[t];
        for (uint p = 0; p < strips; p++)
            EACH(a, ACROSS)
            {
                const float16 value = vload16(p * ACROSS + a, (__global const float *)(v + t * v_row));
                c->d[p][t][a] = beta * (value - since * c->d[p][t][a]);
            }
    }
    for (uint t = n; t < rows; t++)
        for (uint p = 0; p < strips; p++)
            EACH(a, ACROSS) c->d[p][t][a] = 0.0f;
}

/* A block of tokens of a strip's register, to which only its own is left to be added. */
static inline void solve_block(chunk *c, uint p, uint b, uint a)
{
    float16 x[BLOCK];
    EACH(t, BLOCK) x[t] = c->d[p][b * BLOCK + t][a];
    EACH(s, BLOCK - 1)
    for (uint t = s + 1; t < BLOCK; t++) {
        const float by = ((const float *)&c->near[b * BLOCK + t])[s];
        x[t] = fma((float16)by, x[s], x[t]);
    }
    EACH(i, BLOCK / 2)
    {
        const uint t = 2 * i, line = b % 2 * (BLOCK / 2) + i;
        const float first = c->until[b * BLOCK + t], second = c->until[b * BLOCK + t + 1];
        c->solved[p][b / 2][a][line] = pair_of(bfloats_of(x[t]), bfloats_of(x[t + 1]));
        c->ending[p][b / 2][a][line] = pair_of(bfloats_of(x[t] * first), bfloats_of(x[t + 1] * second));
    }
}

/* What tokens of blocks before bring. */
static inline void meet_before(chunk *c, uint b, uint strips)
{
    tiles_begin(UNIT_BYTES);
    for (uint p = 0; p < strips; p++) {
        const tile_side before = ROWS_OF(c->before, b * BLOCK), solved = LINES_OF(c->solved[p]);
        meet_tiles(&before, &solved, 1, (b + 1) / 2, (char *)c->d[p][b * BLOCK], sizeof c->d[p][0], 1, true);
    }
    tiles_end();
}

__attribute__((noinline)) static void solve(chunk *c, uint strips, uint rows)
{
    for (uint p = 0; p < strips; p++) /* tokens to come are met by zeros, and must be numbers */
        for (uint i = 0; i < rows / STEP; i++)
            EACH(a, ACROSS)
            for (uint l = 0; l < UNIT_COLS; l++)
                c->solved[p][i][a][l] = 0;
    for (uint b = 0; b < rows / BLOCK; b++) {
        if (b)
            meet_before(c, b, strips);
        for (uint p = 0; p < strips; p++)
            EACH(a, ACROSS) solve_block(c, p, b, a);
    }
}

/* Products with d. */
__attribute__((noinline)) static void meet_d(chunk *c, const keys *w, float16 *m, uint strips, uint rows)
{
    tiles_begin(UNIT_BYTES);
    for (uint p = 0; p < strips; p++) {
        for (uint t = 0; t < rows; t += STEP)
            meet_rows(ROWS_OF(c->upto, t), 2, LINES_OF(c->solved[p]), t / STEP + 1, (char *)c->from_chunk[p][t],
                      sizeof c->from_chunk[p][0], false);
        meet_rows(ROWS_OF(w->across, 0), S / UNIT_COLS, LINES_OF(c->ending[p]), rows / STEP, (char *)(m + p * ACROSS * TALL),
                  ACROSS * sizeof *m, true);
    }
    tiles_end();
}

__attribute__((noinline)) static void leave_results(const chunk *c, gbytes to, long row, uint strips, uint n, float scale)
{
    for (uint t = 0; t < n; t++) {
        const float16 since = scale * c->since[t];
        for (uint p = 0; p < strips; p++)
            EACH(a, ACROSS)
            vstore16(fma(since, c->from_state[p][t][a], c->from_chunk[p][t][a]), p * ACROSS + a, (__global float *)(to + t * row));
    }
}

/* -- the kernel ---------------------------------------------------------------------------------- */

/* The heads that share keys one after another. */
#define HEAD(i) (head.z ? i0 + (i) : (i0 + (i)) % shared * head.y + (i0 + (i)) / shared)

KERNEL(GROUP_OF(1), delta_tiles, BUFFERS, gated_delta_net)
{
    UNPACK(GDN_NUMBERS)
    const long i0 = ITEM(1) * HEADS, b = ITEM(2), shared = head.x / head.y;
    const uint j0 = ITEM(0) * COLUMNS;
    if (j0 >= S || i0 >= head.x || b >= shape.y)
        return;
    long h = HEAD(0);
    BEGIN;
    const uint columns = min((uint)COLUMNS, S - j0), strips = columns / STRIP;

    keys w;
    chunk c;
    float16 states[HEADS][GROUPS_WIDE * TALL];
    for (uint i = 0; i < HEADS; i++) {
        h = HEAD(i);
        if (b == 0)
            ORPHANS(j0, j0 + columns);
        if (from == to)
            continue;
        float16 *m = states[i];
        BEGIN_STATE(m, row)
    }
    for (int first = from, n; first < to; first += n) {
        n = tokens_of_chunk(first, to, shape.w);
        const uint rows = (n + STEP - 1) / STEP * STEP;
        const int into = ROW_AFTER(to - (first + n));
        take_keys(&w, k + qk * k_nb.x + first * k_nb.y, k_nb.y, q + qk * q_nb.x + first * q_nb.y, q_nb.y, n, rows);
        for (uint i = 0; i < HEADS; i++) {
            float16 *m = states[i];
            h = HEAD(i);
            take_gates(&c, g + h * g_nb.x + first * g_nb.y, g_nb.y, beta + h * g_nb.z + first * g_nb.w, g_nb.w, n);
            put_rows(&c, &w, n, rows, scale);
            turn_state(&c, m, strips);
            meet_state(&c, &w, strips, rows);
            begin_d(&c, v + h * v_nb.x + first * v_nb.y + 4 * j0, v_nb.y, strips, n, rows);
            solve(&c, strips, rows);
            meet_d(&c, &w, m, strips, rows);
            leave_results(&c, (gbytes)(RESULT(first) + j0), o_nb.y, strips, n, scale);
            END_STATE(m, into)
        }
    }
}
