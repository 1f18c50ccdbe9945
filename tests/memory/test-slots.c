/* One store in two slots: what is written through one and read through the other is right, or refused. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "rig.h"

enum { N = 64, ROWS = 500 };

static eng_store *declare(eng_device *device)
{
    const eng_store_tensor t = {.size = sizeof t, .type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_STATE,
                                .ne = {N, ROWS}, .name = "t", .layer = -1};
    eng_store *store = NULL;
    eng_store_create(device, &t, 1, &store);
    return store;
}

/* Rows of slot 1 to rows of slot 0, `by` further down; run with one store in both.  The status. */
static int shift(eng_context *c, eng_device *device, eng_store *first, eng_store *second, int64_t by)
{
    eng_graph *g = NULL;
    eng_store *const both[] = {first, first};
    int status = eng_graph_create(c, 0, &g);
    eng_store_value(g, eng_slice(g, eng_graph_tensor(g, 0, first, 0), 1, by, ROWS - by),
                    eng_slice(g, eng_graph_tensor(g, 1, second, 0), 1, 0, ROWS - by));
    if (status >= 0)
        status = rig_run(device, g, both, 2);
    eng_graph_destroy(g);
    return status;
}

static float rows[ROWS][N];

static bool write_rows(eng_store *store)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < N; j++)
            rows[i][j] = (float)(i * N + j);
    return eng_store_write(store, 0, 0, sizeof rows, rows) >= 0;
}

static int count_wrong(eng_store *store, int by)
{
    int wrong = eng_store_read(store, 0, 0, sizeof rows, rows) < 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < N; j++)
            wrong += rows[i][j] != (float)((i < by ? i : i - by) * N + j);
    return wrong;
}

static void check_device(eng_context *c, const char *name)
{
    eng_device *device = NULL;
    if (eng_device_open(c, name, &device) < 0) {
        tap_check(true, "%s # SKIP %s", name, eng_last_error());
        return;
    }
    eng_store *one = declare(device), *other = declare(device);
    int status = one && other && write_rows(one) ? shift(c, device, one, one, 1) : ENG_ERR_INTERNAL;
    tap_check(status >= 0 && count_wrong(one, 1) == 0, "%s: rows to the next of the same tensor: %s", name,
              status < 0 ? eng_last_error() : "as they were");
    status = one && other && write_rows(one) ? shift(c, device, one, other, 1) : ENG_ERR_INTERNAL;
    tap_check(status == ENG_ERR_INVALID, "%s: built for two stores: %s", name,
              status < 0 ? eng_last_error() : "not refused");
    tap_check(one && shift(c, device, one, other, 0) >= 0 && count_wrong(one, 0) == 0,
              "%s: rows to where they are", name);
    eng_store_destroy(one);
    eng_store_destroy(other);
    eng_device_close(device);
}

int main(void)
{
    eng_context *c = tap_begin();
    if (!c)
        return 1;
    check_device(c, "cpu");
    check_device(c, "cpu/2");
    check_device(c, "opencl:0");
    return tap_end(c);
}
