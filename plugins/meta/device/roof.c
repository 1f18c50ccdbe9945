/* The ranks' roofs, measured side by side, since they may share what is behind them; together they are the device's. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "../meta.h"

typedef struct measured {
    const meta_rank *rank;
    uint32_t what;
    int status;
    double per_second;
} measured;

static void *measure(void *arg)
{
    measured *m = arg;
    m->status = m->rank->child.calls->roof(m->rank->child.state, m->what, &m->per_second);
    return NULL;
}

/* Failures are told in the thread that asked: there the host looks for them. */
static int collect(const eng_device_state *device, const measured *all, uint32_t n, double *per_second)
{
    const eng_services *services = device->plugin->services;
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (all[i].status < 0)
            return services->fail(services->host, all[i].status,
                                  "%s" ENG_CAUSE "the roof of its rank %s cannot be measured" ENG_ADVICE
                                  "ask %s alone, which says why",
                                  device->name, all[i].rank->name, all[i].rank->name);
        sum += all[i].per_second;
    }
    *per_second = sum;
    return ENG_OK;
}

int meta_device_roof(eng_device_state *device, uint32_t what, double *per_second)
{
    const eng_services *services = device->plugin->services;
    pthread_t threads[META_MAX_RANKS];
    uint32_t n = 0, started = 0;
    bool refused = false;
    measured *all = calloc(META_MAX_RANKS, sizeof *all);
    if (!all)
        return services->fail_code(services->host, EU_NO_MEMORY_IN(device->name, "measuring roofs"));
    for (uint32_t r = 0; r < device->n_leaves; r++)
        if (device->main_mask >> r & 1)
            all[n++] = (measured){.rank = &device->ranks[r], .what = what};
    for (; started < n && !refused; started += !refused)
        refused = !eu_thread_start(&threads[started], measure, &all[started]);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    int status = refused ? services->fail(services->host, ENG_ERR_NOMEM,
                                          "%s" ENG_CAUSE "the system gives no thread for each of "
                                          "its %u ranks",
                                          device->name, (unsigned)n) :
                           collect(device, all, n, per_second);
    free(all);
    return status;
}
