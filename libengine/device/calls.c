/*
 * The device calls of a plugin, completed: a table of the size that this
 * engine knows, with a stub wherever the plugin has nothing, so that nobody
 * ever tests a call for NULL.
 */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "device.h"

static int missing(const char *call)
{
    return eng_fail(ENG_ERR_UNSUPPORTED, "this device's plugin has no %s" ENG_ADVICE
                    "use another device, or a newer plugin", call);
}

static void no_close(eng_device_state *d) {}
static int no_info(eng_device_state *d, eng_device_info *i) { return missing("info"); }
static int no_supports(eng_device_state *d, const eng_subgraph *g, uint32_t n, eng_support *a, char *r, size_t b)
{
    return missing("supports");
}
static int no_store_create(eng_device_state *d, const eng_store_tensor *t, uint32_t n, eng_store_state **s)
{
    return missing("store_create");
}
static void no_store_destroy(eng_store_state *s) {}
static int no_upload(eng_store_state *s, uint32_t t, const eng_region *r, uint32_t n)
{
    return missing("store_upload");
}
static int no_download(eng_store_state *s, uint32_t t, const eng_region *r, uint32_t n)
{
    return missing("store_download");
}
/* As in the file, in memory of the device's: what the answer holds already. */
static int no_layout(eng_device_state *d, const eng_store_tensor *t, eng_layout_info *i) { return ENG_OK; }
static int no_store_layout(eng_store_state *s, uint32_t t, eng_layout_info *i) { return ENG_OK; }
static int no_plan_create(eng_device_state *d, const eng_subgraph *g, eng_plan_state **p)
{
    return missing("plan_create");
}
static void no_plan_destroy(eng_plan_state *p) {}
static int no_instance_create(eng_plan_state *p, eng_store_state *const *s, const uint32_t *t, eng_instance_state **i)
{
    return missing("instance_create");
}
static void no_instance_destroy(eng_instance_state *i) {}
static int no_queue_create(eng_device_state *d, eng_queue_state **q) { return missing("queue_create"); }
static void no_queue_destroy(eng_queue_state *q) {}
static int no_run(eng_queue_state *q, eng_instance_state *i, uint32_t f, uint32_t c, const int64_t *p, uint32_t n,
                  eng_run *r, uint64_t *t)
{
    return missing("run");
}
static int no_write(eng_queue_state *q, eng_store_state *s, uint32_t i, const eng_region *r, uint32_t n, uint64_t *t)
{
    return missing("write");
}
static int no_read(eng_queue_state *q, eng_store_state *s, uint32_t i, const eng_region *r, uint32_t n, uint64_t *t)
{
    return missing("read");
}
static int no_wait(eng_queue_state *q, uint64_t a, uint64_t t, uint64_t timeout, uint64_t *f)
{
    return missing("wait");
}
static int no_queue_after(eng_queue_state *q, eng_queue_state *o, uint64_t t) { return missing("queue_after"); }
static int no_value_read(eng_queue_state *q, eng_instance_state *i, int32_t v, const eng_region *r, uint32_t n,
                         uint64_t *t)
{
    return missing("value_read");
}
static int no_value_write(eng_queue_state *q, eng_instance_state *i, int32_t v, const eng_region *r, uint32_t n,
                          uint64_t *t)
{
    return missing("value_write");
}
static int no_value_map(eng_instance_state *i, int32_t v, void **d) { return missing("value_map"); }
static int no_stats(eng_device_state *d, eng_device_stats *s) { return missing("stats"); }
static int no_leaf_stats(eng_device_state *d, uint32_t l, eng_device_info *i, eng_device_stats *s)
{
    return missing("leaf_stats");
}
static int no_plan_explain(eng_plan_state *p, uint32_t f, void (*e)(void *c, const char *t), void *c)
{
    return missing("plan_explain");
}

static int no_roof(eng_device_state *d, uint32_t w, double *p) { return missing("roof"); }
/* Not known: what the answer holds already. */
static int no_plan_launches(eng_plan_state *p, uint64_t *l) { return ENG_OK; }

static int no_host_call(eng_queue_state *q, void (*f)(void *c), void *c, uint64_t *t) { return missing("host_call"); }
/* Asked before each run: no text. */
static int no_run_through(eng_queue_state *q, eng_instance_state *i, const int64_t *p, uint32_t n,
                          void (*a)(void *c, uint32_t s), void *c, uint64_t *t)
{
    return ENG_ERR_UNSUPPORTED;
}

static const eng_device_calls stubs = {
    .size = sizeof stubs,
    .close = no_close,
    .info = no_info,
    .supports = no_supports,
    .store_create = no_store_create,
    .store_destroy = no_store_destroy,
    .store_upload = no_upload,
    .store_download = no_download,
    .layout = no_layout,
    .store_layout = no_store_layout,
    .plan_create = no_plan_create,
    .plan_destroy = no_plan_destroy,
    .instance_create = no_instance_create,
    .instance_destroy = no_instance_destroy,
    .queue_create = no_queue_create,
    .queue_destroy = no_queue_destroy,
    .run = no_run,
    .write = no_write,
    .read = no_read,
    .wait = no_wait,
    .queue_after = no_queue_after,
    .value_read = no_value_read,
    .value_write = no_value_write,
    .value_map = no_value_map,
    .stats = no_stats,
    .leaf_stats = no_leaf_stats,
    .plan_explain = no_plan_explain,
    .roof = no_roof,
    .plan_launches = no_plan_launches,
    .host_call = no_host_call,
    .run_through = no_run_through,
};

/* After the two numbers at its head the table is nothing but function pointers. */
_Static_assert((sizeof(eng_device_calls) - offsetof(eng_device_calls, close)) % sizeof(void (*)(void)) == 0,
               "a table of calls holds calls only");

void eng_device_calls_complete(eng_device_calls *complete, const eng_device_calls *given)
{
    typedef void (*call)(void);
    size_t known = given->size < sizeof stubs ? given->size : sizeof stubs;
    *complete = stubs;
    for (size_t at = offsetof(eng_device_calls, close); at + sizeof(call) <= known; at += sizeof(call)) {
        call c;
        memcpy(&c, (const char *)given + at, sizeof c);
        if (c)
            memcpy((char *)complete + at, &c, sizeof c);
    }
}
