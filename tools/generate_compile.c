/*
 * engine-generate: kernels that are compiled before they are needed.
 *
 * Compilers of OpenCL drivers work under a lock of their process, so a first token waits for one core.  The first time that a model
 * runs, other processes therefore compile beside this one, each from another place of the list (option opencl.compile); what one has
 * compiled the others find in the driver's cache on disk.  They are this program with --compile.  A file in the cache folder says
 * that a model has run, on devices with these drivers: then nothing is left to do.  Before a conversation they compile while its
 * first question is written.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "generate_run.h"
#include "loading.h"

extern char **environ;

#define USUAL 3 /* processes: one program takes a tenth of the whole */

uint32_t compilers_default(void)
{
    const char *given = getenv("ENGINE_COMPILERS");
    uint32_t n = eu_core_count() - 1;
    char *end;
    n = n < USUAL ? n : USUAL;
    if (given && *given >= '0' && *given <= '9') {
        const unsigned long number = strtoul(given, &end, 10);
        n = !*end && number <= COMPILERS_MOST ? (uint32_t)number : n;
    }
    return n;
}

/* -- are they wanted? --------------------------------------------------------------------- */

/* Is every device that is named an OpenCL device?  Others compile nothing, and would work for nothing. */
static bool is_opencl(const char *name)
{
    for (const char *at = name; at; at = strchr(at, '+'), at = at ? at + 1 : NULL)
        if (strncmp(at, "opencl", 6) != 0)
            return false;
    return true;
}

/* Will passes run that another process can guess by the same command line? */
static bool has_passes(const options *o)
{
    const bool text = o->prompt || (o->prompt_file && strcmp(o->prompt_file, "-") != 0);
    return (text || o->chat) && !o->compile && !o->load_state && !o->save_state && !o->perplexity && !o->explain && !o->profile &&
           o->n_overrides == 0 && !o->fit;
}

/* -- have they been there before? ----------------------------------------------------------- */

static void add_drivers(eng_context *engine, eu_text *text)
{
    eng_device_info info = {.size = sizeof info};
    for (uint32_t i = 0; eng_context_device_info(engine, i, &info) == ENG_OK; i++) {
        if (strncmp(info.name, "opencl", 6) == 0)
            eu_text_format(text, "%s|%s|%s|%u\n", info.name, info.description, info.driver, info.compute_units);
        info = (eng_device_info){.size = sizeof info};
    }
}

/* A text of few tokens runs by other kernels than a longer one. */
#define SHORT 64 /* bytes */
#define SOME 64  /* tokens that are not few */

/* What decides which kernels there are: the version, drivers, the file, options. */
static bool describe(const run *r, const char *device, eu_text *text)
{
    const options *o = &r->o;
    struct stat file;
    if (stat(o->model, &file) != 0)
        return false;
    add_drivers(r->engine, text);
    eu_text_format(text, "%s|%s|%s|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%u|%u|%u|%u|%d|%d", eng_version(), device, o->shares ? o->shares : "",
                   (uint64_t)file.st_dev, (uint64_t)file.st_ino, (uint64_t)file.st_mtime, o->type_k, o->type_v, o->precision,
                   o->layout, (int)o->split, !o->prompt || strlen(o->prompt) > SHORT);
    return !text->failed;
}

/* FNV-1a (Fowler, Noll, Vo). */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static const char *cache_option(eng_context *engine)
{
    eng_option_info info = {.size = sizeof info};
    for (uint32_t i = 0; eng_context_option(engine, i, &info) == ENG_OK; i++)
        if (strcmp(info.name, "engine.cache_dir") == 0)
            return info.value;
    return NULL;
}

/* The name of the file that says so, to be freed; NULL: it cannot be kept. */
static char *known_path(const run *r, const char *device)
{
    eu_text all = {0}, path = {0};
    if (describe(r, device, &all) && eu_cache_folder(cache_option(r->engine), "engine-generate", &path))
        eu_text_format(&path, "/compiled-%016" PRIx64, hash_of(all.at));
    else
        eu_text_free(&path);
    eu_text_free(&all);
    return eu_text_take(&path);
}

/* -- the processes ------------------------------------------------------------------------- */

/* This command line with --compile; what is said is lost. */
static bool start(run *r, uint32_t share, uint32_t of)
{
    char compile[48];
    size_t n = 0;
    while (r->argv[n])
        n++;
    char **argv = calloc(n + 2, sizeof *argv);
    posix_spawn_file_actions_t files;
    if (!argv || posix_spawn_file_actions_init(&files) != 0) {
        free(argv);
        return false;
    }
    memcpy(argv, r->argv, n * sizeof *argv);
    snprintf(compile, sizeof compile, "--compile=%u/%u", share, of);
    argv[n] = compile;
    bool good = true;
    for (int i = STDIN_FILENO; i <= STDERR_FILENO && good; i++)
        good = posix_spawn_file_actions_addopen(&files, i, "/dev/null", O_RDWR, 0) == 0;
    pid_t *process = &r->beside.process[r->beside.n];
    good = good && (posix_spawn(process, "/proc/self/exe", &files, NULL, argv, environ) == 0 ||
                    posix_spawnp(process, argv[0], &files, NULL, argv, environ) == 0);
    r->beside.n += good;
    posix_spawn_file_actions_destroy(&files);
    free(argv);
    return good;
}

void compilers_start(run *r)
{
    char name[DEVICE_NAME_BYTES];
    const char *device = r->o.device ? r->o.device : name;
    const uint32_t wanted = r->o.compilers;
    if (wanted == 0 || !has_passes(&r->o) || (!r->o.device && device_default(r->engine, &r->o, name) != ENG_OK) || !is_opencl(device))
        return;
    r->beside.known = known_path(r, device);
    if (!r->beside.known || access(r->beside.known, F_OK) == 0)
        return;
    for (uint32_t i = wanted; i > 0 && start(r, i, wanted); i--)
        ;
}

void compilers_end(run *r, bool good)
{
    compilers *c = &r->beside;
    for (uint32_t i = 0; i < c->n; i++) {
        kill(c->process[i], SIGTERM);
        while (waitpid(c->process[i], NULL, 0) < 0 && errno == EINTR)
            ;
    }
    const int file = good && c->n && c->known ? open(c->known, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file >= 0)
        close(file);
    free(c->known);
    *c = (compilers){.n = 0};
}

/* -- --compile ------------------------------------------------------------------------------- */

int compile_check(const run *r)
{
    eng_device_info info = {.size = sizeof info};
    eng_device_stats stats = {.size = sizeof stats};
    for (uint32_t i = 0; eng_device_leaf(r->device, i, &info, &stats) == ENG_OK; i++)
        if (strncmp(info.name, "opencl:", 7) != 0)
            return eng_fail(ENG_ERR_UNSUPPORTED, "%s" ENG_CAUSE "only devices of the opencl plugin compile kernels (--compile)"
                            ENG_ADVICE "choose one of them with -d, such as opencl:0", info.name);
    return ENG_OK;
}

/* Where there is no text, as before a conversation: one that is not short. */
static int some_text(run *r, size_t most)
{
    const size_t n = most < SOME ? most : SOME;
    if (!eu_reserve(r->ids, r->capacity, n))
        return eng_fail_code(EU_NO_MEMORY("the tokens"));
    memset(r->ids, 0, n * sizeof *r->ids);
    r->n_prompt = r->n_ids = n;
    return ENG_OK;
}

int compile_passes(run *r)
{
    static const uint8_t none[4096]; /* as run_prompt() asks for logits: passes without any are others */
    eng_lm_context_params p = {.size = sizeof p};
    const double begin = eu_seconds();
    int status = eng_lm_context_get_params(r->context, &p);
    if (!status && !r->o.prompt && !r->o.prompt_file)
        status = some_text(r, p.n_cells);
    show_work(true);
    for (size_t done = 0, part; done < r->n_prompt && !status; done += part) {
        part = r->n_prompt - done < p.n_batch ? r->n_prompt - done : p.n_batch;
        const eng_lm_batch b = {.size = sizeof b, .n_tokens = (uint32_t)part, .tokens = r->ids + done,
                                .logits = done + part < r->n_prompt ? none : NULL};
        status = eng_lm_decode(r->context, &b);
    }
    const eng_lm_batch one = {.size = sizeof one, .n_tokens = 1, .tokens = r->ids};
    if (!status && r->n_prompt < p.n_cells)
        status = eng_lm_decode(r->context, &one);
    show_work(false);
    if (!status)
        fprintf(stderr, "engine-generate: compiled, in %.1f s\n", eu_seconds() - begin);
    return status;
}
