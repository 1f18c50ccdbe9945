/*
 * Mixes: which type each matrix gets is what llama.cpp's quantiser gives it, for models of several kinds, with an
 * importance matrix and without (tests/data/mixes.txt, tests/data/README.md).  Nothing is encoded.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/gguf.h"
#include "tools/mix.h"

#include "../lm/subject.h"
#include "../tap.h"

#define COMMON "--arch llama --seed 5 --embd 256 --ffn 256 --vocab 300 "
#define EXPERTS "--used 2 --expert-ffn 256 "

static const struct {
    const char *name, *options;
} models[] = {
    {"shared", COMMON "--layers 8 --heads 8 --kv-heads 2"},
    {"own", COMMON "--layers 17 --heads 8 --kv-heads 8"},
    {"tied", COMMON "--layers 8 --heads 8 --kv-heads 4 --tied"},
    {"eight", COMMON EXPERTS "--layers 8 --heads 8 --kv-heads 2 --experts 8"},
    {"four", COMMON EXPERTS "--layers 8 --heads 8 --kv-heads 8 --experts 4"},
};

static unsigned compared, wrong;

static void compare(const mix *m, const mix_model *model, const char *name, const char *type, const char *line)
{
    const eng_gguf_tensor *t = eng_gguf_tensor_find(model->gguf, name);
    const eng_type_info *is = t ? eng_type_get(mix_type(m, model, t)) : NULL;
    compared++;
    if (is && strcmp(is->name, type) == 0)
        return;
    if (wrong++ < 10)
        printf("# %.30s: %s is %s, expected %s\n", line, name, is ? is->name : "missing", type);
}

/* "attn_v=q6_K*2,q4_K": of block 0, 1, ...; a name with a dot is whole. */
static void compare_stem(const mix *m, const mix_model *model, char *item, const char *line)
{
    char *types = strchr(item, '='), *at = NULL, name[100];
    *types++ = 0;
    int layer = 0;
    for (char *one = strtok_r(types, ",", &at); one; one = strtok_r(NULL, ",", &at)) {
        char *times = strchr(one, '*');
        int n = times ? atoi(times + 1) : 1;
        if (times)
            *times = 0;
        for (; n > 0; n--) {
            if (strchr(item, '.'))
                snprintf(name, sizeof name, "%s", item);
            else
                snprintf(name, sizeof name, "blk.%d.%s.weight", layer++, item);
            compare(m, model, name, one, line);
        }
    }
}

/* MODEL MIX with|without|either STEM=TYPES ... */
static bool compare_line(const eng_gguf *g, const char *line)
{
    char copy[2000], *at = NULL;
    snprintf(copy, sizeof copy, "%s", line);
    strtok_r(copy, " \n", &at);
    const char *name = strtok_r(NULL, " \n", &at), *given = strtok_r(NULL, " \n", &at);
    const mix *m = name ? mix_find(name, true) : NULL;
    if (!m || !given)
        return false;
    for (int importance = 0; importance < 2; importance++) {
        mix_model model;
        char items[2000], *rest = NULL;
        if (strcmp(given, importance ? "without" : "with") == 0)
            continue;
        mix_look(g, importance, &model);
        snprintf(items, sizeof items, "%s", at);
        for (char *item = strtok_r(items, " \n", &rest); item; item = strtok_r(NULL, " \n", &rest))
            compare_stem(m, &model, item, line);
    }
    return true;
}

static void check(const char *name, const char *options)
{
    char path[256], line[2000];
    eng_gguf *g = NULL;
    unsigned lines = 0, unknown = 0;
    FILE *f = fopen(data_path("mixes.txt"), "r");
    scratch_path("mixes", path);
    int status = subject_make(options, path) ? ENG_ERR_IO : eng_gguf_open(path, &g);
    compared = wrong = 0;
    while (!status && f && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ' ') {
            lines++;
            unknown += !compare_line(g, line);
        }
    tap_check(!status && lines >= 20 && compared > 1000 && !wrong && !unknown,
              "%s: %u lines of mixes, %u types of tensors, %u of them other ones, %u unknown mixes", name, lines,
              compared, wrong, unknown);
    if (f)
        fclose(f);
    eng_gguf_close(g);
    unlink(path);
}

int main(void)
{
    eng_context *engine = tap_begin();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        check(models[i].name, models[i].options);
    return tap_end(engine);
}
