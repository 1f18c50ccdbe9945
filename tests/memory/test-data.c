/* Stores over the host's memory: in place where that can be, never written, never read past its end, given back
 * once. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../tap.h"
#include "rig.h"

/* -- the host's memory: it ends where a page ends that nobody may touch, and can only be read ---------------- */

typedef struct fenced {
    char *map;
    size_t bytes; /* of the map, but for the last page */
} fenced;

/* A copy of the data that ends `before` bytes before the page. */
static const char *fence(fenced *f, const void *data, uint64_t bytes, size_t before)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    f->bytes = (bytes + before + page - 1) / page * page;
    f->map = mmap(NULL, f->bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f->map == MAP_FAILED)
        return NULL;
    char *at = f->map + f->bytes - before - bytes;
    memcpy(at, data, bytes);
    mprotect(f->map, f->bytes, PROT_READ);
    mprotect(f->map + f->bytes, page, PROT_NONE);
    return at;
}

static void unfence(fenced *f)
{
    munmap(f->map, f->bytes + (size_t)sysconf(_SC_PAGESIZE));
}

/* -- what the host is told --------------------------------------------------------------------------------- */

typedef struct host {
    int released, told;
    uint64_t copied, stop_at;
    const char *next; /* where the next copied part must begin                */
    bool strange;     /* parts out of order, or after the release             */
} host;

static void release(void *user)
{
    ((host *)user)->released++;
}

static void copied(void *user, const void *data, uint64_t bytes)
{
    host *h = user;
    h->strange |= h->released > 0 || (h->next && h->next != (const char *)data);
    h->next = (const char *)data + bytes;
    h->copied += bytes;
}

static int progress(void *user, uint64_t done, uint64_t total)
{
    host *h = user;
    h->told++;
    h->strange |= done > total;
    return h->stop_at && done >= h->stop_at;
}

static eng_store_data from_host(host *h, uint32_t flags)
{
    return (eng_store_data){.size = sizeof(eng_store_data), .flags = flags, .user = h, .release = release, .copied = copied,
                            .progress = progress};
}

/* -- results ------------------------------------------------------------------------------------------------- */

static float *results_of(eng_context *c, eng_device *device, eng_store *store, const matrix *w)
{
    float *r = malloc((size_t)(w->m * RIG_COLUMNS + w->k * RIG_LOOKUPS) * sizeof *r);
    if (r && rig_use(c, device, store, w, r) < 0) {
        printf("# %s\n", eng_last_error());
        free(r);
        return NULL;
    }
    return r;
}

static bool same_results(const float *a, const float *b, const matrix *w)
{
    return a && b && memcmp(a, b, (size_t)(w->m * RIG_COLUMNS + w->k * RIG_LOOKUPS) * sizeof *a) == 0;
}

/* Of a store that holds a copy. */
static float *expected(eng_context *c, eng_device *device, const matrix *w)
{
    const eng_store_tensor t = rig_declare(w, NULL, ENG_LAYOUT_FILE);
    eng_store *store = NULL;
    float *r = NULL;
    if (eng_store_create(device, &t, 1, &store) >= 0 && eng_store_write(store, 0, 0, w->bytes, w->data) >= 0)
        r = results_of(c, device, store, w);
    eng_store_destroy(store);
    return r;
}

static uint32_t in_place(const eng_store *store)
{
    eng_layout_info info = {.size = sizeof info};
    return eng_store_layout(store, 0, &info) >= 0 ? info.in_place : UINT32_MAX;
}

/* One way to have the data: the same results and the same bytes; the host is told what it must be.  before: bytes
 * between the end of the data and of the memory. */
static bool check_one(eng_context *c, eng_device *device, const matrix *w, const float *want, size_t before,
                      uint32_t layout, uint32_t flags, uint32_t *where)
{
    fenced f;
    host h = {0};
    const eng_store_data from = from_host(&h, flags);
    const char *data = fence(&f, w->data, w->bytes, before);
    const eng_store_tensor t = rig_declare(w, data, layout);
    eng_store *store = NULL;
    if (!data)
        return false;
    bool good = eng_store_load(device, &t, 1, &from, &store) >= 0;
    if (!good)
        printf("# %s\n", eng_last_error());
    *where = good ? in_place(store) : UINT32_MAX;
    const bool gone = *where == ENG_IN_PLACE_NONE;
    good = good && eng_store_get(store, 0)->data == (gone ? NULL : data);
    good = good && !h.strange && h.told >= 2 && h.released == (gone ? 1 : 0) && h.copied == (gone ? w->bytes : 0);
    if (gone)
        unfence(&f);
    uint8_t *back = malloc(w->bytes);
    float *r = good ? results_of(c, device, store, w) : NULL;
    good = good && same_results(r, want, w) && back && eng_store_read(store, 0, 0, w->bytes, back) >= 0 &&
           memcmp(back, w->data, w->bytes) == 0;
    good = good && eng_store_write(store, 0, 0, 1, w->data) == ENG_ERR_INVALID &&
           strstr(eng_last_error(), "declared with data");
    eng_store_destroy(store);
    good = good && h.released == 1;
    if (!gone)
        unfence(&f);
    free(back);
    free(r);
    return good;
}

static const uint32_t types[] = {ENG_TYPE_F32,    ENG_TYPE_F16,   ENG_TYPE_BF16,  ENG_TYPE_Q4_0,  ENG_TYPE_Q4_1,  ENG_TYPE_Q5_0,
                                 ENG_TYPE_Q5_1,   ENG_TYPE_Q8_0,  ENG_TYPE_IQ4_NL, ENG_TYPE_IQ4_XS, ENG_TYPE_MXFP4, ENG_TYPE_NVFP4,
                                 ENG_TYPE_Q2_K,   ENG_TYPE_Q3_K,  ENG_TYPE_Q4_K,  ENG_TYPE_Q5_K,  ENG_TYPE_Q6_K,
    ENG_TYPE_IQ2_XXS, ENG_TYPE_IQ2_XS, ENG_TYPE_IQ2_S, ENG_TYPE_IQ3_XXS, ENG_TYPE_IQ3_S, ENG_TYPE_IQ1_S,
    ENG_TYPE_IQ1_M, ENG_TYPE_TQ1_0, ENG_TYPE_TQ2_0, ENG_TYPE_Q1_0, ENG_TYPE_Q2_0,
};

static void check_types(eng_context *c, eng_device *device, const char *name, bool shares, unsigned step)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i += step) {
        matrix w;
        uint32_t where = 0, packed = 0;
        if (!rig_matrix(c, types[i], 512, 44, &w)) {
            tap_check(false, "%s: a matrix", name);
            continue;
        }
        float *want = expected(c, device, &w);
        bool good = check_one(c, device, &w, want, 0, ENG_LAYOUT_FILE, 0, &where);
        tap_check(good && (!shares || w.bytes % 16 != 0 || where == ENG_IN_PLACE_ALL),
                  "%s, %s: up to the last byte that may be read%s", name, eng_type_get(types[i])->name,
                  where == ENG_IN_PLACE_NONE ? ", copied" : ", in place");
        good = check_one(c, device, &w, want, 0, ENG_LAYOUT_PACKED, 0, &packed);
        tap_check(good, "%s, %s: packed where it can be", name, eng_type_get(types[i])->name);
        free(want);
        free(w.data);
    }
}

static void check_addresses(eng_context *c, eng_device *device, const char *name, bool shares)
{
    matrix w;
    bool good = rig_matrix(c, ENG_TYPE_Q4_0, 256, 20, &w), right = true;
    float *want = good ? expected(c, device, &w) : NULL;
    for (size_t before = 0; good && before < 32; before++) {
        uint32_t where = 0;
        good = check_one(c, device, &w, want, before, ENG_LAYOUT_AUTO, 0, &where);
        const size_t address = (size_t)0 - before - (size_t)w.bytes;
        right &= !shares || where == (address % 16 == 0 ? ENG_IN_PLACE_ALL : ENG_IN_PLACE_NONE);
    }
    tap_check(good && right, "%s: at any address, in place at multiples of 16", name);
    uint32_t where = 0;
    good = want && check_one(c, device, &w, want, 0, ENG_LAYOUT_AUTO, ENG_DATA_COPY, &where);
    tap_check(good && where == ENG_IN_PLACE_NONE, "%s: copied because that was asked for", name);
    free(want);
    free(w.data);
}

/* -- failures -------------------------------------------------------------------------------------------------- */

static void check_failures(eng_context *c, eng_device *device, const char *name)
{
    matrix w;
    host h = {0};
    eng_store_data from = from_host(&h, 0);
    eng_store *store = NULL;
    if (!rig_matrix(c, ENG_TYPE_Q8_0, 256, 16, &w))
        return;
    eng_store_tensor t = rig_declare(&w, w.data, ENG_LAYOUT_AUTO);
    t.ne[0] = 33;
    bool good = eng_store_load(device, &t, 1, &from, &store) == ENG_ERR_INVALID && h.released == 1;
    t.ne[0] = w.k;
    h.released = 0;
    good = good && eng_store_load(NULL, &t, 1, &from, &store) == ENG_ERR_INVALID && h.released == 1;
    h.released = 0;
    good = good && eng_store_load(device, &t, 1, &from, NULL) == ENG_ERR_INVALID && h.released == 1;
    tap_check(good, "%s: a store that cannot be gives the memory back, too", name);

    h = (host){.stop_at = w.bytes};
    from = from_host(&h, ENG_DATA_COPY);
    tap_check(eng_store_load(device, &t, 1, &from, &store) == ENG_ERR_CANCELLED && h.released == 1,
              "%s: the host stops the copying", name);

    t = rig_declare(&w, w.data, ENG_LAYOUT_AUTO);
    t.n_readers = 0;
    from = (eng_store_data){.size = sizeof from};
    eng_graph *graph = NULL;
    good = eng_store_load(device, &t, 1, &from, &store) >= 0 && eng_graph_create(c, 0, &graph) >= 0;
    if (good) {
        const eng_value v = eng_graph_tensor(graph, 0, store, 0);
        eng_store_value(graph, v, eng_dequantize(graph, v, ENG_TYPE_F32));
    }
    tap_check(good && eng_graph_seal(graph) == ENG_ERR_INVALID && strstr(eng_last_error(), "declared with data"),
              "%s: no plan writes to data: %s", name, eng_last_error());
    eng_graph_destroy(graph);
    eng_store_destroy(store);
    free(w.data);
}

/* Everything that there is on a device; shares: it uses the host's memory. */
static void check_device(eng_context *c, const char *name, bool shares, unsigned step)
{
    eng_device *device;
    int status = eng_device_open(c, name, &device);
    if (status < 0) {
        tap_check(true, "%s # SKIP %s", name, eng_last_error());
        return;
    }
    check_types(c, device, name, shares, step);
    check_addresses(c, device, name, shares);
    check_failures(c, device, name);
    eng_device_close(device);
}

int main(void)
{
    eng_context *c = tap_begin();
    if (!c)
        return 1;
    check_device(c, "cpu", true, 1);
    check_device(c, "cpu/2", true, 1);
    check_device(c, "opencl:0", true, 3);
    check_device(c, "cpu+opencl:0@3:1", true, 5);
    return tap_end(c);
}
