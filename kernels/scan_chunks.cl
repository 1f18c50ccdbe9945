/*
 * kernels/scan_chunks.cl - the selective scan for many tokens, on processors, of heads with one rate for all states: chunks of CHUNK
 * tokens between which the state goes, and within which all is products of matrices (Dao, Gu, arXiv:2405.21060).
 *
 * With S the state before a chunk (states x channels), a(t) = exp(dt(t) rate), A(t, s) the product of the a of the tokens after s up
 * to t, G(t) that of all up to t, and d(t) = dt(t) x(t):
 *     o(t) = G(t) c(t) S + sum over s <= t of (A(t, s) c(t) . b(s)) d(s)
 *     S    = G(n) S + sum of b(s) (A(n, s) d(s))'
 *
 * A head's channels of one token lie a row of heads before those of the next: what the next chunk has of them is asked for with a
 * chunk, and where its own results go.
 *
 * -DCOLUMNS= channels of a work-item, multiple of 16
 */
#include "chunks.clh"
#include "scan.clh"
#include "stream.clh"

/* What a chunk's tokens are to one another. */
typedef struct chunk {
    float reads[ROWS * ROWS]; /* [t][s]: A(t, s) c(t) . b(s) */
    float step[ROWS];
    gates gate;
} chunk;

static void relate(chunk *c, int n, const float16 *ins, const float16 *reads)
{
    relate_rows(ins, reads, n, c->reads);
    meet_gates(&c->gate, n);
    for (int t = 0; t < n; t++)
        for (int s = 0; s <= t; s++)
            c->reads[t * ROWS + s] *= c->gate.between[t * ROWS + s];
}

/* d and o of a strip; d as it meets the rows of the state. */
static void sum_up(const chunk *c, int n, const float16 *x, const float16 *from_reads, float16 *d, float16 *o)
{
    for (int t = 0; t < n; t++) {
        float16 out[ACROSS];
        EACH(a, ACROSS)
        {
            d[t * ACROSS + a] = c->step[t] * x[t * GROUPS_WIDE + a];
            out[a] = c->gate.since[t] * from_reads[t * ACROSS + a];
        }
        for (int s = 0; s <= t; s++)
            EACH(a, ACROSS) out[a] = fma((float16)c->reads[t * ROWS + s], d[s * ACROSS + a], out[a]);
        EACH(a, ACROSS) o[t * GROUPS_WIDE + a] = out[a];
    }
    for (int t = 0; t < n; t++)
        EACH(a, ACROSS) d[t * ACROSS + a] *= c->gate.until[t];
}

KERNEL(GROUP_OF(1), scan_chunks, BUFFERS, ssm_scan)
{
    UNPACK(SCAN_NUMBERS)
    const long h = ITEM(1), b = ITEM(2), j0 = (long)ITEM(0) * COLUMNS;
    if (j0 >= head.z || h >= head.x || b >= shape.y)
        return;
    BEGIN;
    const uint columns = min((long)COLUMNS, head.z - j0);
    if (b == 0)
        ORPHANS(j0, j0 + columns);
    if (from == to)
        return;

    chunk c;
    float16 m[GROUPS_WIDE * TALL], is[ROWS * SG], rs[ROWS * SG], xs[ROWS * GROUPS_WIDE], os[ROWS * GROUPS_WIDE];
    float16 from_reads[ROWS * ACROSS], d[ROWS * ACROSS];
    for (uint i = 0; i < ROWS * SG; i++)
        is[i] = rs[i] = 0.0f;
    BEGIN_STATE(m, row)

    for (int first = from, n; first < to; first += n) {
        n = tokens_of_chunk(first, to, shape.w);
        for (int t = 0; t < n; t++) {
            const long token = first + t;
            cbytes xt = x + h * x_nb.x + token * x_nb.y + 4 * j0;
            for (uint i = 0; i < SG; i++) {
                is[t * SG + i] = ld16_f32(ins + token * b_nb.y, i, S);
                rs[t * SG + i] = ld16_f32(reads + token * b_nb.w, i, S);
            }
            c.step[t] = FLOAT(dts, token * x_nb.w);
            c.gate.own[t] = exp(c.step[t] * FLOAT(rates, 0));
            take_token(xt, columns, xs + t * GROUPS_WIDE);
            for (uint p = 0; p < GROUPS_WIDE; p++) {
                AHEAD(xt + CHUNK * x_nb.y + 64 * p);
                AHEAD((cbytes)(RESULT(token) + j0 + 16 * p));
            }
        }
        relate(&c, n, is, rs);
        for (uint p = 0; 16 * p < columns; p += ACROSS) {
            float16 *strip = m + p * TALL;
            rows_times((const float *)rs, strip, n, from_reads);
            sum_up(&c, n, xs + p, from_reads, d, os + p);
            update_strip((const float *)is, d, n, c.gate.whole, strip);
        }
        for (int t = 0; t < n; t++)
            leave_token(RESULT(first + t) + j0, columns, os + t * GROUPS_WIDE);
        const int into = ROW_AFTER(to - (first + n));
        END_STATE(m, into)
    }
}
