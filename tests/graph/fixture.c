#include "config.h"

#include <check.h>
#include <stdarg.h>
#include <string.h>

#include "fixture.h"

void fixture_begin(fixture *f, uint32_t n_params)
{
    memset(f, 0, sizeof *f);
    pthread_mutex_init(&f->base.axes.lock, NULL);
    f->store.tensors = f->tensors;
    f->store.layouts = f->layouts;
    ck_assert_int_eq(eng_graph_create((eng_context *)&f->base, n_params, &f->graph), ENG_OK);
}

void fixture_end(fixture *f)
{
    eng_graph_destroy(f->graph);
}

eng_value fixture_tensor(fixture *f, uint32_t type, const char *name, const eng_dim *dims, ...)
{
    va_list args;
    eng_store_tensor *t = &f->tensors[f->store.n];
    ck_assert_int_lt(f->store.n, FIXTURE_TENSORS);
    *t = (eng_store_tensor){.size = sizeof *t, .type = type, .use = ENG_USE_WEIGHT, .dims = dims, .name = name, .layer = -1};
    for (int d = 0; d < ENG_MAX_RANK; d++)
        t->ne[d] = 1;
    va_start(args, dims);
    for (int e = va_arg(args, int); e != 0; e = va_arg(args, int))
        t->ne[t->rank++] = e < 0 ? 0 : e;
    va_end(args);
    return eng_graph_tensor(f->graph, 0, &f->store, f->store.n++);
}

void fixture_shape(const fixture *f, eng_value v, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const eng_tensor *t = eng_graph_get(f->graph, v);
    ck_assert_msg(t != NULL, "no tensor: %s", eng_last_error());
    ck_assert_int_eq(t->ne[0], a);
    ck_assert_int_eq(t->ne[1], b);
    ck_assert_int_eq(t->ne[2], c);
    ck_assert_int_eq(t->ne[3], d);
}

void fixture_error(const fixture *f, eng_value v, const char *part)
{
    ck_assert_int_eq(v, ENG_BAD_VALUE);
    ck_assert_int_eq(eng_graph_seal(f->graph), ENG_ERR_INVALID);
    ck_assert_msg(strstr(eng_last_error(), part) != NULL, "\"%s\" not in \"%s\"", part, eng_last_error());
}
