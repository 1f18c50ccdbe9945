/*
 * Which process this is, counted in forks: what a fork inherits lacks the threads and
 * connections that it works with, so the calls that would wait for them must know.
 */
#include "config.h"

#include "base.h"

atomic_uint eng_forks;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int watching = ENG_OK;

static void in_child(void)
{
    atomic_fetch_add_explicit(&eng_forks, 1, memory_order_relaxed);
}

static void watch(void)
{
    if (pthread_atfork(NULL, NULL, in_child) != 0)
        watching = ENG_ERR_NOMEM;
}

int eng_process_watch(void)
{
    pthread_once(&once, watch);
    return watching == ENG_OK ? ENG_OK : eng_fail_memory();
}

int eng_refuse_inherited(const char *what, const char *name)
{
    return eng_fail_code(ENG_ERR_STATE, ENG_CODE_FORKED, -1,
                         "%s%s" ENG_CAUSE "this process was forked after it was opened, "
                         "and its threads and connections stayed with the parent" ENG_ADVICE
                         "create a context and open the device in the child",
                         what, name);
}
