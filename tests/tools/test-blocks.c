/*
 * The blocks that encoders make are ggml's: of three tensors of a trained model, in every type, the first 24
 * bytes that tests/data/quantised.txt has of ggml must come out of the first 256 elements.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../meta/rig.h"

enum { ELEMENTS = 256, TENSORS = 3, FIRST = 24, LINE = 4096 };

static struct {
    char name[64];
    float x[ELEMENTS];
} tensors[TENSORS];
static eng_context *context;

static FILE *data_file(const char *name)
{
    const char *top = getenv("top_srcdir");
    char path[4096];

    snprintf(path, sizeof path, "%s/tests/data/%s", top ? top : ".", name);
    FILE *f = fopen(path, "r");
    if (!f)
        printf("Bail out! %s cannot be opened\n", path);
    return f;
}

/* n bytes out of 2 n digits; false: they are none. */
static bool bytes_of(const char *hex, unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (sscanf(hex + 2 * i, "%2hhx", &bytes[i]) != 1)
            return false;
    return true;
}

static bool read_elements(void)
{
    static char line[LINE], hex[LINE];
    FILE *f = data_file("first-elements.txt");
    int n = 0;

    while (f && n < TENSORS && fgets(line, sizeof line, f))
        if (line[0] != '#' && sscanf(line, "%63s %4095s", tensors[n].name, hex) == 2 &&
            bytes_of(hex, (unsigned char *)tensors[n].x, sizeof tensors[n].x))
            n++;
    if (f)
        fclose(f);
    return n == TENSORS;
}

/* The elements as blocks of a type; the bytes that begin them. */
static bool encode(const char *device, const float *x, uint32_t type, int search, unsigned char *first)
{
    unsigned char blocks[ELEMENTS * sizeof(float)];
    rig g;
    eng_value v[2];
    eng_store_tensor t[] = {
        {.type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_INPUT, .ne = {ELEMENTS}, .name = "x"},
        {.type = type, .rank = 1, .use = ENG_USE_OUTPUT, .ne = {ELEMENTS}, .name = "blocks"},
    };
    bool good = rig_open(&g, context, device, 0) && rig_store(&g, t, 2) && rig_write(&g, 0, x);

    if (good) {
        rig_values(&g, v, 2);
        eng_store_value(g.graph, v[1], eng_quantize(g.graph, v[0], type, search));
        good = rig_plan(&g) && rig_run(&g, NULL, 0) && rig_read(&g, 1, blocks);
    }
    if (good)
        memcpy(first, blocks, FIRST);
    else
        printf("# %s on %s: %s\n", eng_type_get(type)->name, device, eng_last_error());
    rig_close(&g);
    return good;
}

static void check_line(const char *device, const char *name, const char *type_name, const char *hex)
{
    unsigned char want[FIRST], got[FIRST];
    char type[16];
    const float *x = NULL;

    snprintf(type, sizeof type, "%s", type_name);
    char *cache = strstr(type, "(cache)"); /* caches do not search their scales, model files do */
    if (cache)
        *cache = 0;
    const eng_type_info *info = eng_type_find(type);
    for (int i = 0; i < TENSORS; i++)
        if (strcmp(tensors[i].name, name) == 0)
            x = tensors[i].x;
    tap_check(info && x && bytes_of(hex, want, FIRST) && encode(device, x, info->type, !cache, got) &&
                  memcmp(want, got, FIRST) == 0,
              "%s as %s on %s", name, type_name, device);
}

int main(void)
{
    char line[512], name[64], type[16], hash[80], first[64];
    unsigned long bytes;
    int cases = 0;

    if (!(context = tap_begin()))
        return 1;
    FILE *f = data_file("quantised.txt");
    if (!f || !read_elements())
        return 1;
    while (fgets(line, sizeof line, f))
        if (line[0] != '#' && sscanf(line, "%63s %15s %lu %79s %63s", name, type, &bytes, hash, first) == 5) {
            check_line("cpu", name, type, first);
            cases++;
        }
    fclose(f);
    tap_check(cases >= 48, "%d blocks of ggml's were compared", cases);
    return tap_end(context);
}
