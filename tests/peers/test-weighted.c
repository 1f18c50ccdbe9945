/*
 * Encoders on the host, with importance: they lose no more than another maker's do for the same rows
 * (tests/data/weighted.txt), and less than without importance; types that need none give that maker's bytes.  Any
 * numbers give numbers.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/convert.h"
#include "../../tools/weighted.h"
#include "../tap.h"
#include "weighted.h"

static float x[PEERS_WEIGHTS], y[PEERS_WEIGHTS], importance[PEERS_COLUMNS];
static uint8_t blocks[PEERS_WEIGHTS];

/* What the file has for a type; "": nothing. */
static const char *recorded(const char *type)
{
    static char value[64];
    char path[1024], name[32];
    const char *top = getenv("top_srcdir"), *found = "";
    snprintf(path, sizeof path, "%s/tests/data/weighted.txt", top ? top : ".");
    FILE *f = fopen(path, "r");
    while (f && !*found && fscanf(f, "%31s %63s", name, value) == 2)
        if (!strcmp(name, type))
            found = value;
    if (f)
        fclose(f);
    return found;
}

static void encode(uint32_t type, const float *weights)
{
    const uint64_t row = eng_row_bytes(type, PEERS_COLUMNS);
    for (int r = 0; r < PEERS_ROWS; r++)
        weighted_row(type, x + r * PEERS_COLUMNS, weights, PEERS_COLUMNS, blocks + (uint64_t)r * row);
}

static double lost(converter *c, uint32_t type, const float *weights)
{
    encode(type, weights);
    return converter_run(c, type, blocks, ENG_TYPE_F32, y, PEERS_COLUMNS, PEERS_ROWS) ? INFINITY :
                                                                                        peers_lost(x, y, importance);
}

static void check(converter *c, uint32_t type)
{
    const char *name = eng_type_get(type)->name;
    const double theirs = strtod(recorded(name), NULL), ours = lost(c, type, importance), plain = lost(c, type, NULL);
    tap_check(theirs > 0 && ours <= 1.02 * theirs && ours < 0.985 * plain,
              "%s loses %.5f, without importance %.5f, the peer %.5f", name, ours, plain, theirs);
}

static void check_bytes(uint32_t type)
{
    char hash[32];
    const eng_type_info *t = eng_type_get(type);
    encode(type, NULL);
    snprintf(hash, sizeof hash, "%016" PRIx64, peers_bytes_hash(blocks, PEERS_WEIGHTS / t->block * t->block_bytes));
    tap_check(strcmp(hash, recorded(t->name)) == 0, "%s gives the peer's bytes", t->name);
}

/* NaN, infinities, the largest and the least numbers, zeros, and importance of that kind: what comes out is finite. */
static void check_odd(converter *c, uint32_t type)
{
    static const float odd[] = {0, -0.0f, NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-38f, -1e-45f, 1, 65504, 1e-8f};
    float weights[PEERS_COLUMNS];
    uint64_t s = type;
    bool finite = true;
    for (int kind = 0; kind < 3; kind++) {
        for (int i = 0; i < PEERS_WEIGHTS; i++) /* alone in a block, some, all */
            x[i] = (kind == 0 ? i % 256 == 7 : kind == 1 ? i % 3 == 0 : true) ? odd[(size_t)(peers_uniform(&s) * 12)] : 0.5f;
        for (int i = 0; i < PEERS_COLUMNS; i++)
            weights[i] = odd[(size_t)(peers_uniform(&s) * 12)];
        encode(type, weights);
        finite &= converter_run(c, type, blocks, ENG_TYPE_F32, y, PEERS_COLUMNS, PEERS_ROWS) == ENG_OK;
        for (int i = 0; i < PEERS_WEIGHTS; i++)
            finite &= isfinite(y[i]) != 0;
    }
    tap_check(finite, "%s: whatever the numbers, those encoded are finite", eng_type_get(type)->name);
}

int main(void)
{
    eng_context *context = tap_begin();
    converter *c = NULL;
    if (!context || !tap_check(converter_create(context, "cpu", NULL, &c) == ENG_OK, "the cpu device opens"))
        return tap_end(context);
    peers_rows(x, importance);
#define ONE(name, number, tables)                                                                                      \
    tap_check(weighted_prepare(number) && weighted_uses(number), #name " uses importance");                                  \
    check(c, number);
    PEERS_WEIGHTED(ONE)
#define FEW(name, number, block, bytes) check_bytes(number);
    PEERS_FEW(FEW)
#define ODD(name, number, tables) check_odd(c, number);
    PEERS_WEIGHTED(ODD)
#define ODD_FEW(name, number, block, bytes) check_odd(c, number);
    PEERS_FEW(ODD_FEW)
    weighted_end();
    converter_destroy(c);
    return tap_end(context);
}
