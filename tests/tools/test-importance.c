/*
 * Importance matrices and the encoders that need them, without memory at one point: what a model is asked for, the file
 * that is written of it, both forms of file that are read, and blocks of each type.  Each request is refused once,
 * alone or with all that follow: a failure with words, or the result; nothing is kept.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/generate_imatrix.h"
#include "tools/importance.h"
#include "tools/weigh.h"
#include "tools/weighted.h"

#include "../lm/subject.h"
#include "../meta/count.h"
#include "../tap.h"

#define COLUMNS 256
#define ROWS 4

static eng_context *engine;
static char path[256], older[256];
static subject model;
static uint32_t type;
static float rows[ROWS * COLUMNS], worth[COLUMNS];

/* A model's products are collected and written. */
static int collect(void)
{
    static const int32_t ids[] = {1, 2, 3};
    imatrix *m = NULL;
    int status = imatrix_begin(model.context, &m);
    eng_lm_sequence_remove(model.context, 0);
    if (!status)
        status = eng_lm_decode(model.context,
                               &(eng_lm_batch){.size = sizeof(eng_lm_batch), .n_tokens = 3, .tokens = ids});
    if (!status)
        status = imatrix_write(m, path, "text", 1, 3);
    eng_lm_context_collect(model.context, NULL, NULL);
    imatrix_end(m);
    return status;
}

static int read_one(const char *file, const char *name, int64_t columns)
{
    importance *m;
    const float *values = NULL;
    int64_t sets = 0;
    int status = importance_open(file, &m);
    if (status)
        return status;
    status = importance_find(m, name, columns, 1, &values, &sets);
    importance_close(m);
    return !status && (!values || sets != 1) ? ENG_ERR_INTERNAL : status;
}

static int read_gguf(void)
{
    return read_one(path, "blk.0.ffn_down.weight", 768);
}

static int read_older(void)
{
    return read_one(older, "abc", 2);
}

static int encode(void)
{
    static uint8_t blocks[ROWS * COLUMNS * 4];
    weigher *w;
    int status = weigher_create(&w);
    if (status)
        return status;
    status = weigher_run(w, NULL, ENG_TYPE_F32, rows, type, blocks, COLUMNS, ROWS, worth);
    weigher_destroy(w);
    return status;
}

/* Files are opened by the C library, which says of memory what it says of all else. */
static bool is_for_memory(int status, const char *said)
{
    return status == ENG_ERR_NOMEM || (status == ENG_ERR_IO && strstr(said, strerror(ENOMEM)));
}

static void check(const char *what, int (*run)(void))
{
    uint64_t tried = 0, bad = 0;
    int status = run();
    for (bool more = !status && count_possible(); more && bad < 5; tried += more) {
        char said[600] = "";
        count_refuse(tried + 1, tried % 2);
        count_start();
        const int is = run();
        if (is)
            snprintf(said, sizeof said, "%s", eng_last_error());
        more = count_refused();
        count_refuse(0, false);
        count_stop();
        if ((is && (!is_for_memory(is, said) || !more || !said[0])) || count_kept() > 0) {
            printf("# request %" PRIu64 ": %s, '%s', %" PRId64 " pieces kept\n", tried + 1, eng_status_name(is), said,
                   count_kept());
            bad++;
        }
    }
    tap_check(!status && !bad && (tried > 2 || !count_possible()),
              "%s: %" PRIu64 " requests for memory refused, %" PRIu64 " runs go wrong%s%s", what, tried, bad,
              status ? ": " : "", status ? eng_last_error() : "");
}

/* The older form: one entry of two numbers. */
static void write_older(void)
{
    static const int32_t head[] = {1, 3}, middle[] = {7, 2};
    static const float values[] = {0.5f, 2};
    FILE *f = fopen(older, "wb");
    if (!f)
        return;
    fwrite(head, sizeof head, 1, f);
    fwrite("abc", 3, 1, f);
    fwrite(middle, sizeof middle, 1, f);
    fwrite(values, sizeof values, 1, f);
    fclose(f);
}

int main(void)
{
    eng_lm_context_params params;
    engine = tap_begin();
    eng_lm_context_defaults(&params);
    params.n_cells = 64;
    params.n_batch = 16;
    scratch_path("importance.gguf", path);
    scratch_path("importance.dat", older);
    write_older();
    for (int i = 0; i < ROWS * COLUMNS; i++)
        rows[i] = (float)((i * 37) % 101 - 50) / 50;
    for (int i = 0; i < COLUMNS; i++)
        worth[i] = (float)(1 + i % 7);
    eng_context_set_option(engine, "cpu.threads", "2");
    int status = subject_open(&model, engine, "cpu", data_path("tiny-hybrid-f16.gguf"), NULL, &params);
    if (tap_check(!status, "a model is opened%s%s", status ? ": " : "", status ? eng_last_error() : "")) {
        check("collecting and writing", collect);
        check("reading a GGUF file", read_gguf);
    }
    check("reading the older form", read_older);
    for (type = 0; type < ENG_TYPE_LIMIT; type++)
        if (eng_type_get(type) && (weighted_uses(type) || weighted_only(type)))
            check(eng_type_get(type)->name, encode);
    subject_close(&model);
    unlink(path);
    unlink(older);
    return tap_end(engine);
}
