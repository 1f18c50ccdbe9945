/*
 * Programs, built once per device and options, and the kernels of a program.
 *
 * An entry is in the device's list from the moment that a thread begins to build it.  That thread holds no lock
 * meanwhile; others that want the program wait for this entry alone.  A program that cannot be built leaves the
 * list: those who waited are told why, and who asks later tries again.
 */
#include "../host.h"

#define COMPILED 30000000 /* ns: a driver that takes longer did not find the program in a cache of its own */

typedef enum build_state { BUILDING, READY, FAILED } build_state;

struct cl_program_entry {
    cl_program_entry *next;
    char *file, *options, *prelude;
    cl_program_entry **parts; /* that it is linked with                         */
    uint32_t n_parts;
    cl_hash hash;           /* of all that it is made of                        */
    cl_program program;     /* once it is ready                                 */
    build_state state;      /* this and what follows: programs_lock             */
    pthread_cond_t built;   /* the state is no longer BUILDING                  */
    uint32_t waiting;       /* threads that wait for that                       */
    int status;             /* why it failed, and in words, with the marks of their parts */
    char *error;
};

enum { ALL_OPTIONS = 1024 };

/* All that a program is made of, which the caller frees, and its name on disk. */
static int make_whole(cl_device *device, const char *file, const char *extra, const char *prelude,
                      char options[ALL_OPTIONS], eu_text *source, cl_hash *hash)
{
    char name[64];
    snprintf(name, sizeof name, "%s.cl", file);
    if (snprintf(options, ALL_OPTIONS, "%s %s", device->options, extra) >= ALL_OPTIONS)
        return cl_fail(device, ENG_ERR_INTERNAL, "options of %s are too long", name);
    int status = cl_source_whole(device, prelude, name, source);
    if (status != ENG_OK)
        return status;
    *hash = (cl_hash){0xcbf29ce484222325u, 0x84222325cbf29ce4u};
    cl_hash_add(hash, device->key, strlen(device->key) + 1);
    cl_hash_add(hash, options, strlen(options) + 1);
    cl_hash_add(hash, source->at, source->n);
    return ENG_OK;
}

int cl_program_hash(cl_device *device, const char *file, const char *extra, cl_hash *hash)
{
    char options[ALL_OPTIONS];
    eu_text source = {0};
    int status = make_whole(device, file, extra, "", options, &source, hash);
    eu_text_free(&source);
    return status;
}

/* The part's whole text as it is linked. */
static int make_part(cl_device *device, const cl_program_entry *part, uint32_t number, char options[ALL_OPTIONS],
                     eu_text *source)
{
    char extra[ALL_OPTIONS];
    cl_hash unused;
    if (snprintf(extra, sizeof extra, "%s -DSERIES=%u", part->options, number) >= (int)sizeof extra)
        return cl_fail(device, ENG_ERR_INTERNAL, "options of %s are too long", part->file);
    return make_whole(device, part->file, extra, part->prelude, options, source, &unused);
}

/* The hash of a program that is linked: of all parts, too. */
static void add_parts(cl_program_entry *const *parts, uint32_t n, cl_hash *hash)
{
    for (uint32_t i = 0; i < n; i++)
        cl_hash_add(hash, &parts[i]->hash, sizeof parts[i]->hash);
}

/* Drivers link seldom, and may end the process: whoever begins writes that down. */
static int begin_link(cl_device *device, const cl_hash *hash)
{
    int32_t by;
    const cl_verdict verdict = device->cached ? cl_verdict_load(device, hash, &by) : CL_RIGHT;
    if (verdict == CL_WRONG || (verdict == CL_BEGUN && cl_verdict_times(device, hash) >= CL_MOST_ENDED))
        return cl_fail(device, ENG_ERR_UNSUPPORTED, "%s" ENG_CAUSE "a series of launches %s", device->info.name,
                       verdict == CL_WRONG ? "could not be compiled or run before"
                                           : "was being compiled when processes ended");
    if (verdict != CL_RIGHT)
        cl_verdict_save(device, hash, CL_BEGUN);
    return ENG_OK;
}

void cl_program_proved(cl_device *device, const cl_program_entry *entry, cl_verdict verdict)
{
    int32_t by;
    if (device->cached && cl_verdict_load(device, &entry->hash, &by) != CL_RIGHT)
        cl_verdict_save(device, &entry->hash, verdict);
}

/* Compiles the parts, and links them with what is in `source`. */
static int link_parts(cl_device *device, const cl_program_entry *e, const char *options, const eu_text *source,
                      cl_program *program)
{
    cl_program *parts = calloc(e->n_parts + 1, sizeof *parts);
    int status = parts ? begin_link(device, &e->hash) : cl_no_memory(device, "a kernel");
    for (uint32_t i = 0; i < e->n_parts && status == ENG_OK; i++) {
        char own[ALL_OPTIONS];
        eu_text text = {0};
        status = make_part(device, e->parts[i], i, own, &text);
        if (status == ENG_OK)
            status = cl_compile_part(device, e->parts[i]->file, own, &text, &parts[i]);
        eu_text_free(&text);
    }
    if (status == ENG_OK)
        status = cl_compile_part(device, e->file, options, source, &parts[e->n_parts]);
    if (status == ENG_OK)
        status = cl_link(device, parts, e->n_parts + 1, program);
    for (uint32_t i = 0; parts && i <= e->n_parts; i++)
        if (parts[i])
            clReleaseProgram(parts[i]);
    free(parts);
    if (status == ENG_ERR_DEVICE)
        cl_program_proved(device, e, CL_WRONG);
    return status;
}

/* count: where the program stands among those of a plan; NULL: it is of none, and what is tried with it is known afterwards.
 * *fresh: built from source, and to be kept as *hash. */
static int build(cl_device *device, cl_program_entry *e, const char *count, cl_hash *hash, bool *fresh)
{
    const char *file = e->file;
    char options[ALL_OPTIONS];
    eu_text source = {0};
    int status = make_whole(device, file, e->options, e->prelude, options, &source, hash);
    if (status != ENG_OK) {
        eu_text_free(&source);
        return status;
    }
    add_parts(e->parts, e->n_parts, hash);
    e->hash = *hash;
    cl_program p = device->cached ? cl_cache_load(device, hash, options) : NULL;
    if (!p) {
        const uint64_t begin = eu_now();
        if (e->n_parts)
            device->sv->log(device->sv->host, ENG_LOG_INFO, "%s: compiling a plan's launches as one, of %u programs",
                            device->info.name, e->n_parts);
        else
            device->sv->log(device->sv->host, count ? ENG_LOG_INFO : ENG_LOG_DEBUG, "%s: compiling%s%s: %s",
                            device->info.name, count ? " kernels" : "", count ? count : "", file);
        status = e->n_parts ? link_parts(device, e, options, &source, &p) : cl_compile(device, file, options, &source, &p);
        if (eu_now() - begin > COMPILED)
            atomic_fetch_add_explicit(&device->figures.compiled, 1, memory_order_relaxed);
        *fresh = status == ENG_OK && device->cached && count;
    }
    eu_text_free(&source);
    e->program = p;
    return status;
}

static cl_program_entry *find(cl_device *device, const char *file, const char *options, const char *prelude)
{
    cl_program_entry *e = device->programs;
    while (e && (strcmp(e->file, file) != 0 || strcmp(e->options, options) != 0 || strcmp(e->prelude, prelude) != 0))
        e = e->next;
    return e;
}

static void free_entry(cl_program_entry *e)
{
    pthread_cond_destroy(&e->built);
    free(e->file);
    free(e->options);
    free(e->prelude);
    free(e->parts);
    free(e->error);
    free(e);
}

/* An entry that is being built, in the list; NULL: out of memory. */
static cl_program_entry *begin(cl_device *device, const char *file, const char *options, const char *prelude,
                               cl_program_entry *const *parts, uint32_t n)
{
    cl_program_entry *e = calloc(1, sizeof *e);
    if (!e || pthread_cond_init(&e->built, NULL) != 0) {
        free(e);
        return NULL;
    }
    e->file = strdup(file);
    e->options = strdup(options);
    e->prelude = strdup(prelude);
    e->parts = calloc(n + 1, sizeof(cl_program_entry *));
    if (!e->file || !e->options || !e->prelude || !e->parts) {
        free_entry(e);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        e->parts[i] = parts[i];
    e->n_parts = n;
    e->next = device->programs;
    device->programs = e;
    return e;
}

/* Waits until the entry is built, with the lock held.  Of an entry that failed the last who waited disposes. */
static int await(cl_device *device, cl_program_entry *e)
{
    e->waiting++;
    while (e->state == BUILDING)
        pthread_cond_wait(&e->built, &device->programs_lock);
    e->waiting--;
    if (e->state == READY)
        return ENG_OK;
    int status = cl_fail(device, e->status, "%s", e->error ? e->error : "out of host memory");
    if (e->waiting == 0)
        free_entry(e);
    return status;
}

/* The calling thread's last failure as one text; NULL: out of memory. */
static char *last_failure(const cl_device *device)
{
    eng_error e = {.size = sizeof e};
    if (device->sv->error_info(device->sv->host, &e) != ENG_OK)
        return NULL;
    const size_t bytes = strlen(e.subject) + strlen(e.cause) + strlen(e.advice) + sizeof ENG_CAUSE ENG_ADVICE;
    char *parts = malloc(bytes);
    if (parts)
        snprintf(parts, bytes, "%s" ENG_CAUSE "%s" ENG_ADVICE "%s", e.subject, e.cause, e.advice);
    return parts;
}

/* What became of an entry that this thread has built; keep: its name on disk, where it is not yet, or NULL. */
static void finish(cl_device *device, cl_program_entry *e, int status, const cl_hash *keep)
{
    pthread_mutex_lock(&device->programs_lock);
    e->state = status == ENG_OK ? READY : FAILED;
    if (keep)
        cl_keeper_add(device, e->program, keep, e->n_parts > 0);
    if (status != ENG_OK) {
        cl_program_entry **at = &device->programs;
        while (*at != e)
            at = &(*at)->next;
        *at = e->next;
        e->status = status;
        e->error = last_failure(device);
    }
    pthread_cond_broadcast(&e->built);
    if (status != ENG_OK && e->waiting == 0)
        free_entry(e);
    pthread_mutex_unlock(&device->programs_lock);
}

bool cl_program_there(cl_device *device, const char *file, const char *options, const char *prelude)
{
    pthread_mutex_lock(&device->programs_lock);
    const cl_program_entry *e = find(device, file, options, prelude);
    const bool there = e && e->state == READY;
    pthread_mutex_unlock(&device->programs_lock);
    return there;
}

static int get(cl_device *device, const char *file, const char *options, const char *prelude,
               cl_program_entry *const *parts, uint32_t n, const char *count, cl_program_entry **entry)
{
    int status = ENG_OK;
    pthread_mutex_lock(&device->programs_lock);
    cl_program_entry *e = find(device, file, options, prelude), *mine = NULL;
    if (e)
        status = await(device, e);
    else if (!(e = mine = begin(device, file, options, prelude, parts, n)))
        status = cl_no_memory(device, "a kernel");
    pthread_mutex_unlock(&device->programs_lock);
    if (mine) {
        cl_hash hash;
        bool fresh = false;
        status = build(device, mine, count, &hash, &fresh);
        finish(device, mine, status, fresh ? &hash : NULL);
    }
    if (status == ENG_OK)
        *entry = e;
    return status;
}

int cl_program_get(cl_device *device, const char *file, const char *options, const char *prelude, const char *count,
                   cl_program_entry **entry)
{
    return get(device, file, options ? options : "", prelude ? prelude : "", NULL, 0, count, entry);
}

int cl_program_link(cl_device *device, const char *prelude, cl_program_entry *const *parts, uint32_t n, bool compile,
                    cl_program_entry **entry)
{
    static const char file[] = "series";
    *entry = NULL;
    if (!compile && !cl_program_there(device, file, "", prelude)) {
        char options[ALL_OPTIONS];
        eu_text source = {0};
        cl_hash hash;
        int status = make_whole(device, file, "", prelude, options, &source, &hash);
        eu_text_free(&source);
        add_parts(parts, n, &hash);
        if (status != ENG_OK || !device->cached || !cl_cache_there(device, &hash))
            return status;
    }
    return get(device, file, "", prelude, parts, n, "", entry);
}

void cl_program_name(const cl_program_entry *entry, char *text, size_t bytes)
{
    cl_hash hash = {1, 2};
    cl_hash_add(&hash, entry->prelude, strlen(entry->prelude));
    snprintf(text, bytes, "%016llx%016llx %s %s", (unsigned long long)hash.a, (unsigned long long)hash.b, entry->file,
             entry->options);
}

int cl_program_kernel(cl_device *device, cl_program_entry *entry, const char *name, cl_kernel *kernel)
{
    cl_int error;
    cl_kernel k = clCreateKernel(entry->program, name, &error);
    if (!k)
        return cl_fail(device, cl_error_status(error), "%s" ENG_CAUSE
                       "kernel %s of %s.cl: %s (%d)", device->info.name, name,
                       entry->file, cl_error_name(error), (int)error);
    *kernel = k;
    return ENG_OK;
}

void cl_programs_release(cl_device *device)
{
    for (cl_program_entry *e = device->programs, *next; e; e = next) {
        next = e->next;
        clReleaseProgram(e->program);
        free_entry(e);
    }
    device->programs = NULL;
}
