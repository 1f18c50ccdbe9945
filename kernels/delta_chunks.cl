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
#include "chunks.clh"
#include "delta.clh"

/* What a chunk's tokens are to one another, and what gates make of them. */
typedef struct chunk {
    float keys[ROWS * ROWS], queries[ROWS * ROWS]; /* [t][s]: beta(t) k(t) . A k(s); q(t) . A k(s) */
    float beta[ROWS];
    gates gate; /* PER_KEY: since and until are 1 */
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
        c->gate.since[s] = c->gate.until[s] = 1.0f;
    }
    for (int i = 0; i < SG; i++) {
        float16 all = 1.0f;
        for (int t = 0; t < n; t++) {
            all *= gates[t * SG + i];
            k[t * SG + i] *= all;
            q[t * SG + i] *= all;
        }
        vstore16(all, i, c->gate.whole);
    }
}

#else

static void relate(chunk *c, int n, const float16 *k, const float16 *q)
{
    relate_rows(k, k, n, c->keys);
    relate_rows(k, q, n, c->queries);
    meet_gates(&c->gate, n);
    for (int t = 0; t < n; t++)
        for (int s = 0; s <= t; s++) {
            const float a = c->gate.between[t * ROWS + s];
            c->keys[t * ROWS + s] *= c->beta[t] * a;
            c->queries[t * ROWS + s] *= a;
        }
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
            mine[a] = c->beta[t] * (v[t * GROUPS_WIDE + a] - c->gate.since[t] * from_keys[t * ACROSS + a]);
            out[a] = c->gate.since[t] * from_queries[t * ACROSS + a];
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
        EACH(a, ACROSS) d[t * ACROSS + a] *= c->gate.until[t];
}

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
    for (uint i = 0; i < ROWS * SG; i++)
        to_end[i] = ks[i] = qs[i] = 0.0f;
    BEGIN_STATE(m, row)

    for (int first = from, n; first < to; first += n) {
        n = tokens_of_chunk(first, to, shape.w);
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
            c.gate.own[t] = exp(FLOAT(gt, 0));
#endif
            c.beta[t] = FLOAT(beta, h * g_nb.z + token * g_nb.w);
            take_token(vt, columns, vs + t * GROUPS_WIDE);
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
            update_strip((const float *)to_end, d, n, c.gate.whole, strip);
        }
        for (int t = 0; t < n; t++)
            leave_token(RESULT(first + t) + j0, columns, os + t * GROUPS_WIDE);
        const int into = ROW_AFTER(to - (first + n));
        END_STATE(m, into)
    }
}
