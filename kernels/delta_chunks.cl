/*
 * kernels/delta_chunks.cl - the gated delta rule for many tokens, on processors: chunks of CHUNK tokens between which the
 * state goes, and within which all is products of matrices (arXiv:2406.06484, arXiv:2412.06464).
 *
 * With S the state before a chunk (keys x values), A(t, s) the product of the gates of the tokens after s up to t, and
 * G(t) that of all up to t:
 *     d(t) = beta(t) (v(t) - (G(t) k(t)) S) - sum over s < t of beta(t) (k(t) . A(t, s) k(s)) d(s)
 *     o(t) = (G(t) q(t)) S + sum over s <= t of (q(t) . A(t, s) k(s)) d(s)
 *     S    = G(n) S + sum of (A(n, s) k(s)) d(s)'
 * Nothing is divided by a gate, so that nothing is larger than token by token.  One gate for all keys (PER_KEY 0) goes
 * on the results; gates for each key go on the keys.
 *
 * A work-item has COLUMNS columns of a head's state, in strips of ACROSS groups of 16, each of which stays in the nearest cache
 * while a chunk goes over it.  Rows of the operands, often a multiple of 4096 bytes apart, are copied beside one another.
 *
 * -DCOLUMNS= multiple of 16, -DPER_KEY=
 */
#include "delta.clh"
#include "dots.clh"
#include "transpose.clh"

#define CHUNK 18
#define TILE 6
#define ROWS (CHUNK + 4) /* what tiles may read */
#define STRIPS ((COLUMNS + 16 * ACROSS - 1) / (16 * ACROSS))
#define GROUPS_WIDE (STRIPS * ACROSS)
#define TALL ((S + TILE - 1) / TILE * TILE) /* keys of a strip, whole tiles */
#define WIDE (16 * SG)                      /* floats of a row of keys      */
#define EACH(i, n) UNROLL for (uint i = 0; i < (n); i++)

/* TILE x ACROSS sums are half of the registers, or all but what they are made of. */
#if WIDTH >= 16
#define ACROSS 2
#define DOT_A 4
#define DOT_B 4
#define DOTS_OF dots_4x4
#else
#define ACROSS 1
#define DOT_A 2
#define DOT_B 6
#define DOTS_OF dots_2x6
#endif

typedef float16 sums[TILE][ACROSS];

/* Adds n rows, each times a number of its own for each row of the tile: x[i * step] and the following or those `apart`. */
#define ADD_ROWS(s, x, step, apart, m, n)                                                                              \
    for (ulong i = 0; i < (n); i++) {                                                                                  \
        float16 y[ACROSS];                                                                                             \
        EACH(a, ACROSS) y[a] = (m)[i * ACROSS + a];                                                                    \
        EACH(r, TILE)                                                                                                  \
        {                                                                                                              \
            const float16 by = (x)[i * (step) + r * (apart)];                                                          \
            EACH(a, ACROSS) s[r][a] = fma(by, y[a], s[r][a]);                                                          \
        }                                                                                                              \
    }

/* Rows of x times a strip. */
DOTS void rows_tile(const float *x, const float16 *m, float16 *out)
{
    sums s;
    EACH(r, TILE) EACH(a, ACROSS) s[r][a] = 0.0f;
    ADD_ROWS(s, x, 1, WIDE, m, S)
    EACH(r, TILE) EACH(a, ACROSS) out[r * ACROSS + a] = s[r][a];
}

DOTS void row_times(const float *x, const float16 *m, float16 *out)
{
    float16 even[ACROSS], odd[ACROSS];
    EACH(a, ACROSS) even[a] = odd[a] = 0.0f;
    for (ulong i = 0; i + 1 < S; i += 2)
        EACH(a, ACROSS)
        {
            even[a] = fma((float16)x[i], m[i * ACROSS + a], even[a]);
            odd[a] = fma((float16)x[i + 1], m[(i + 1) * ACROSS + a], odd[a]);
        }
    if (S & 1)
        EACH(a, ACROSS) even[a] = fma((float16)x[S - 1], m[(S - 1) * ACROSS + a], even[a]);
    EACH(a, ACROSS) out[a] = even[a] + odd[a];
}

static void rows_times(const float *x, const float16 *m, int n, float16 *out)
{
    int t = 0;
    for (; t + 1 < n; t += TILE)
        rows_tile(x + t * WIDE, m, out + t * ACROSS);
    if (t < n)
        row_times(x + t * WIDE, m, out + t * ACROSS);
}

/* TILE keys of a strip after the chunk: each times the gates of it all, and what the tokens add. */
DOTS void update_tile(const float *x, const float16 *d, int n, const float *whole, float16 *m)
{
    sums s;
    EACH(r, TILE) EACH(a, ACROSS) s[r][a] = whole[r] * m[r * ACROSS + a];
    ADD_ROWS(s, x, WIDE, 1, d, (ulong)n)
    EACH(r, TILE) EACH(a, ACROSS) m[r * ACROSS + a] = s[r][a];
}

/* What a chunk's tokens are to one another, and what gates make of them. */
typedef struct chunk {
    float keys[ROWS * ROWS], queries[ROWS * ROWS]; /* [t][s]: beta(t) k(t) . A k(s); q(t) . A k(s) */
    float beta[ROWS], gate[ROWS];
    float since[ROWS], until[ROWS]; /* gates up to t; of the tokens after s (PER_KEY: 1) */
    float whole[WIDE + TILE];
} chunk;

#if PER_KEY

/* Keys on their way to the chunk's end; then keys and queries as they meet the state. */
static void relate(chunk *c, int n, float16 *k, float16 *q, const float16 *gates, float16 *to_end)
{
    for (int s = 0; s < n; s++) {
        float16 *key = to_end + s * SG;
        for (int t = s; t < n; t++) {
            float16 x = 0.0f, y = 0.0f;
            for (int i = 0; i < SG; i++) {
                const float16 m = t > s ? key[i] * gates[t * SG + i] : k[s * SG + i];
                x = fma(m, k[t * SG + i], x);
                y = fma(m, q[t * SG + i], y);
                key[i] = m;
            }
            c->keys[t * ROWS + s] = c->beta[t] * sum16(x);
            c->queries[t * ROWS + s] = sum16(y);
        }
        c->since[s] = c->until[s] = 1.0f;
    }
    for (int i = 0; i < SG; i++) {
        float16 all = 1.0f;
        for (int t = 0; t < n; t++) {
            all *= gates[t * SG + i];
            k[t * SG + i] *= all;
            q[t * SG + i] *= all;
        }
        vstore16(all, i, c->whole);
    }
}

#else

static void relate(chunk *c, int n, const float16 *k, const float16 *q)
{
    for (int s = 0; s < n; s += DOT_A)
        for (int t = s / DOT_B * DOT_B; t < n; t += DOT_B) {
            float kk[16], qk[16];
            vstore16(DOTS_OF(k + s * SG, SG, k + t * SG, SG, SG), 0, kk);
            vstore16(DOTS_OF(k + s * SG, SG, q + t * SG, SG, SG), 0, qk);
            FEW for (int j = 0; j < DOT_A * DOT_B; j++)
            {
                const int at = (t + j / DOT_A) * ROWS + s + j % DOT_A;
                c->keys[at] = kk[j];
                c->queries[at] = qk[j];
            }
        }
    float all = 1.0f;
    for (int s = 0; s < n; s++) {
        float a = 1.0f;
        FEW for (int t = s; t < n; t++)
        {
            a *= t > s ? c->gate[t] : 1.0f;
            c->keys[t * ROWS + s] *= c->beta[t] * a;
            c->queries[t * ROWS + s] *= a;
        }
        all *= c->gate[s];
        c->since[s] = all;
        c->until[s] = a;
    }
    for (int i = 0; i < WIDE + TILE; i++)
        c->whole[i] = all;
}

#endif

/* d and o of a strip, one token after another; d as it meets the keys of to_end. */
static void solve(const chunk *c, int n, const float16 *v, const float16 *from_keys, const float16 *from_queries,
                  float scale, float16 *d, float16 *o)
{
    for (int t = 0; t < n; t++) {
        const float *x = c->keys + t * ROWS, *y = c->queries + t * ROWS;
        float16 mine[ACROSS], out[ACROSS];
        EACH(a, ACROSS)
        {
            mine[a] = c->beta[t] * (v[t * GROUPS_WIDE + a] - c->since[t] * from_keys[t * ACROSS + a]);
            out[a] = c->since[t] * from_queries[t * ACROSS + a];
        }
        for (int s = 0; s < t; s++)
            EACH(a, ACROSS)
            {
                const float16 before = d[s * ACROSS + a];
                mine[a] = fma((float16)-x[s], before, mine[a]);
                out[a] = fma((float16)y[s], before, out[a]);
            }
        EACH(a, ACROSS)
        {
            d[t * ACROSS + a] = mine[a];
            o[t * GROUPS_WIDE + a] = fma((float16)y[t], mine[a], out[a]) * scale;
        }
    }
    for (int t = 0; t < n; t++)
        EACH(a, ACROSS) d[t * ACROSS + a] *= c->until[t];
}

/* Sixteen floats of sixteen columns of a state as rows of a strip, and back. */
DOTS void columns_in(__global const float *const *column, uint at, float16 *rows)
{
    float16 x[16], y[16];
    EACH(i, 16) x[i] = vload16(0, column[i] + at);
    TRANSPOSE(x, y)
    EACH(i, 16) rows[i * ACROSS] = x[i];
}

DOTS void columns_out(__global float *const *column, uint at, const float16 *rows)
{
    float16 x[16], y[16];
    EACH(i, 16) x[i] = rows[i * ACROSS];
    TRANSPOSE(x, y)
    EACH(i, 16) vstore16(x[i], 0, column[i] + at);
}

/* Up to sixteen columns. */
static void take_columns(__global const float *const *column, uint n, float16 *rows)
{
    const uint whole = n == 16 ? S / 16 * 16 : 0;
    for (uint i = 0; i < whole; i += 16)
        columns_in(column, i, rows + i * ACROSS);
    for (uint j = 0; j < n; j++)
        FEW for (uint i = whole; i < S; i++) ((float *)(rows + i * ACROSS))[j] = column[j][i];
}

static void leave_columns(__global float *const *column, uint n, const float16 *rows)
{
    const uint whole = n == 16 ? S / 16 * 16 : 0;
    for (uint i = 0; i < whole; i += 16)
        columns_out(column, i, rows + i * ACROSS);
    for (uint j = 0; j < n; j++)
        FEW for (uint i = whole; i < S; i++) column[j][i] = ((const float *)(rows + i * ACROSS))[j];
}

/* Group p of this work-item's columns in row `row` of the pool, and where they lie here. */
#define COLUMN_GROUP(p, row)                                                                                           \
    const uint many = min(columns - 16 * (p), 16u);                                                                    \
    __global float *column[16];                                                                                        \
    for (uint j = 0; j < many; j++)                                                                                    \
        column[j] = STATE(j0 + 16 * (p) + j, row);                                                                     \
    float16 *rows = m + (p) / ACROSS * ACROSS * TALL + (p) % ACROSS

KERNEL(GROUP_OF(1), delta_chunks, BUFFERS, gated_delta_net)
{
    UNPACK(GDN_NUMBERS)
    const long h = ITEM(1), b = ITEM(2);
    const uint j0 = ITEM(0) * COLUMNS;
    if (j0 >= S || h >= head.x || b >= shape.y)
        return;
    BEGIN;
    const uint columns = min((uint)COLUMNS, S - j0);
    if (b == 0)
        ORPHANS(j0, j0 + columns);
    if (from == to)
        return;

    chunk c;
    float16 m[GROUPS_WIDE * TALL], ks[ROWS * SG], qs[ROWS * SG], vs[ROWS * GROUPS_WIDE], os[ROWS * GROUPS_WIDE];
    float16 from_keys[ROWS * ACROSS], from_queries[ROWS * ACROSS], d[ROWS * ACROSS];
#if PER_KEY
    float16 gates[ROWS * SG], to_end[ROWS * SG];
#else
    float16 *to_end = ks;
#endif
    for (uint i = 0; i < GROUPS_WIDE * TALL; i++)
        m[i] = 0.0f;
    for (uint i = 0; i < ROWS * SG; i++)
        to_end[i] = ks[i] = qs[i] = 0.0f;
    if (IN_POOL(row))
        for (uint p = 0; 16 * p < columns; p++) {
            COLUMN_GROUP(p, row);
            take_columns((__global const float *const *)column, many, rows);
        }

    for (int first = from, n; first < to; first += n) {
        /* a chunk ends at each token whose state is wanted */
        const int wanted = to - shape.w > first ? min((int)(to - shape.w) + 1, to) : first + 1;
        n = min(wanted - first, CHUNK);
        for (int t = 0; t < n; t++) {
            const long token = first + t;
            cbytes gt = g + h * g_nb.x + token * g_nb.y, vt = v + h * v_nb.x + token * v_nb.y + 4 * j0;
            for (uint i = 0; i < SG; i++) {
                ks[t * SG + i] = ld16_f32(k + qk * k_nb.x + token * k_nb.y, i, S);
                qs[t * SG + i] = ld16_f32(q + qk * q_nb.x + token * q_nb.y, i, S);
#if PER_KEY
                gates[t * SG + i] = exp(ld16_f32(gt, i, S));
#endif
            }
#if !PER_KEY
            c.gate[t] = exp(FLOAT(gt, 0));
#endif
            c.beta[t] = FLOAT(beta, h * g_nb.z + token * g_nb.w);
            for (uint p = 0; p < GROUPS_WIDE; p++)
                vs[t * GROUPS_WIDE + p] = 16 * p < columns ? ld16_f32(vt, p, columns) : (float16)0.0f;
        }
#if PER_KEY
        relate(&c, n, ks, qs, gates, to_end);
#else
        relate(&c, n, ks, qs);
#endif
        for (uint p = 0; 16 * p < columns; p += ACROSS) {
            float16 *strip = m + p * TALL;
            rows_times((const float *)ks, strip, n, from_keys);
            rows_times((const float *)qs, strip, n, from_queries);
            solve(&c, n, vs + p, from_keys, from_queries, scale, d, os + p);
            for (uint i = 0; i < S; i += TILE)
                update_tile((const float *)to_end + i, d, n, c.whole + i, strip + i * ACROSS);
        }
        for (int t = 0; t < n; t++) {
            __global float *out = RESULT(first + t) + j0;
            for (uint p = 0; 16 * p < columns; p++)
                st16_f32(out, p, columns, os[t * GROUPS_WIDE + p]);
        }

        const int into = ROW_AFTER(to - (first + n));
        if (IN_POOL(into))
            for (uint p = 0; 16 * p < columns; p++) {
                COLUMN_GROUP(p, into);
                leave_columns(column, many, rows);
            }
    }
}
