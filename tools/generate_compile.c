/*
 * engine-generate: kernels that are compiled before they are needed.
 *
 * Compilers of OpenCL drivers work under a lock of their process, so a first token waits for one core.  The first time that a model
 * runs, other processes therefore compile beside this one, each from another place of the list (option opencl.compile); what one has
 * compiled the others find in the driver's cache on disk.  They are this program with --compile.  A file in the cache folder says
 * that a model has run, on devices with these drivers: then nothing is left to do.  Before a conversation they compile while its
 * first question is written.  On processors alone: on a card each would take the memory of a model.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "generate_run.h"
#include "loading.h"

extern char **environ;

#define USUAL 3  /* processes: one program takes a tenth of the whole */
#define SHORT 64 /* bytes: a text of few tokens, which runs by other kernels than a longer one */
#define SOME 64  /* tokens that are not few */
#define FOR "ENGINE_COMPILING_FOR" /* the process that one of these was begun by */

uint32_t compilers_default(void)
{
    const char *given = getenv("ENGINE_COMPILERS");
    const uint32_t others = eu_core_count() - 1;
    if (given && *given) {
        char *end;
        const unsigned long n = strtoul(given, &end, 10);
        return *given >= '0' && *given <= '9' && !*end && n <= COMPILERS_MOST ? (uint32_t)n : UINT32_MAX;
    }
    return others < USUAL ? others : USUAL;
}

/* -- are they wanted? --------------------------------------------------------------------- */

/* Is it listed, and a processor? */
static bool is_processor(eng_context *engine, const char *name, size_t length)
{
    eng_device_info info = {.size = sizeof info};
    for (uint32_t i = 0; eng_context_device_info(engine, i, &info) == ENG_OK; i++) {
        if (strlen(info.name) == length && strncmp(info.name, name, length) == 0)
            return info.kind == ENG_DEVICE_CPU;
        info = (eng_device_info){.size = sizeof info};
    }
    return false;
}

/* Is every device that is named a processor by OpenCL, or a part of one?  Others of the plugins compile nothing, and would work
 * for nothing. */
static bool suits(eng_context *engine, const char *name)
{
    for (const char *at = name; at; at = strchr(at, '+'), at = at ? at + 1 : NULL)
        if (strncmp(at, "opencl:", 7) != 0 || !is_processor(engine, at, strcspn(at, "/+@")))
            return false;
    return true;
}

/* A file that others can read, too: standard input is this process' alone, by whatever name. */
static bool is_file(const char *path)
{
    struct stat file, input;
    if (strcmp(path, "-") == 0 || stat(path, &file) != 0 || !S_ISREG(file.st_mode))
        return false;
    return fstat(STDIN_FILENO, &input) != 0 || input.st_dev != file.st_dev || input.st_ino != file.st_ino;
}

/* Will passes run that another process can guess by the same command line? */
static bool has_passes(const options *o)
{
    const bool text = o->prompt || o->prompt_file || o->chat;
    const bool readable = !o->prompt_file || is_file(o->prompt_file);
    const bool other = o->compile || o->load_state || o->save_state || o->perplexity || o->explain || o->profile || o->fit;
    return text && readable && !other && o->n_overrides == 0;
}

/* -- have they been there before? ----------------------------------------------------------- */

static void add_options(eng_context *engine, eu_text *text)
{
    eng_option_info info = {.size = sizeof info};
    for (uint32_t i = 0; eng_context_option(engine, i, &info) == ENG_OK; i++)
        if (strncmp(info.name, "opencl.", 7) == 0)
            eu_text_format(text, "%s=%s\n", info.name, info.value);
}

static void add_drivers(eng_context *engine, eu_text *text)
{
    eng_device_info info = {.size = sizeof info};
    for (uint32_t i = 0; eng_context_device_info(engine, i, &info) == ENG_OK; i++) {
        if (strncmp(info.name, "opencl", 6) == 0)
            eu_text_format(text, "%s|%s|%s|%u\n", info.name, info.description, info.driver, info.compute_units);
        info = (eng_device_info){.size = sizeof info};
    }
}

/* A conversation's texts are not. */
static bool is_short(const options *o)
{
    struct stat file;
    return o->prompt ? strlen(o->prompt) <= SHORT : o->prompt_file && stat(o->prompt_file, &file) == 0 && file.st_size <= SHORT;
}

/* What decides which kernels there are: the version, drivers, the file, options. */
static bool describe(const run *r, const char *device, eu_text *text)
{
    const options *o = &r->o;
    struct stat file;
    if (stat(o->model, &file) != 0)
        return false;
    add_options(r->engine, text);
    add_drivers(r->engine, text);
    eu_text_format(text, "%s|%s|%s|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%u|%u|%u|%u|%d|%d", eng_version(), device, o->shares ? o->shares : "",
                   (uint64_t)file.st_dev, (uint64_t)file.st_ino, (uint64_t)file.st_mtime, o->type_k, o->type_v, o->precision,
                   o->layout, (int)o->split, is_short(o));
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
    char *known = NULL;
    if (describe(r, device, &all) && eu_cache_path(cache_option(r->engine), "engine-generate", &path) && eu_make_folder(path.at)) {
        eu_text_format(&path, "/compiled-%016" PRIx64, hash_of(all.at));
        known = eu_text_take(&path);
    }
    eu_text_free(&path);
    eu_text_free(&all);
    return known;
}

/* -- the processes ------------------------------------------------------------------------- */

enum { STEP_MS = 10, MOMENT_MS = 200, PATIENCE_MS = 1000 };

/* This command line with --compile, in memory for free(). */
static char **arguments(char *const *argv, char *compile)
{
    size_t n = 0;
    while (argv[n])
        n++;
    char **all = calloc(n + 2, sizeof *all);
    if (all) {
        memcpy(all, argv, n * sizeof *all);
        all[n] = compile;
    }
    return all;
}

/* The environment, in which is said whose the process is. */
static char **environment(char *whose)
{
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **all = calloc(n + 2, sizeof *all);
    for (size_t i = 0; all && i < n; i++)
        if (strncmp(environ[i], FOR "=", sizeof FOR) != 0)
            all[kept++] = environ[i];
    if (all)
        all[kept] = whose;
    return all;
}

/* Signals as they are at first: it can be ended, but not by who interrupts an answer at the terminal. */
static bool set_signals(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigemptyset(&all);
    sigaddset(&all, SIGTERM);
    sigaddset(&all, SIGINT);
    sigaddset(&all, SIGPIPE);
    return posix_spawnattr_setsigmask(attributes, &none) == 0 && posix_spawnattr_setsigdefault(attributes, &all) == 0 &&
           posix_spawnattr_setpgroup(attributes, 0) == 0 &&
           posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP) == 0;
}

/* What it says is lost. */
static bool set_files(posix_spawn_file_actions_t *files)
{
    bool good = true;
    for (int i = STDIN_FILENO; i <= STDERR_FILENO && good; i++)
        good = posix_spawn_file_actions_addopen(files, i, "/dev/null", O_RDWR, 0) == 0;
    return good;
}

static bool spawn(pid_t *process, char **argv, char **variables)
{
    char self[4096];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&files) != 0)
        return false;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return false;
    }
    self[n > 0 ? n : 0] = 0;
    const bool good = set_signals(&attributes) && set_files(&files) &&
                      ((n > 0 && posix_spawn(process, self, &files, &attributes, argv, variables) == 0) ||
                       posix_spawnp(process, argv[0], &files, &attributes, argv, variables) == 0);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return good;
}

static bool start(run *r, uint32_t share, uint32_t of)
{
    char compile[48], whose[48];
    snprintf(compile, sizeof compile, "--compile=%u/%u", share, of);
    snprintf(whose, sizeof whose, FOR "=%ld", (long)getpid());
    char **argv = arguments(r->argv, compile), **variables = environment(whose);
    const bool good = argv && variables && spawn(&r->beside.process[r->beside.n], argv, variables);
    r->beside.n += good;
    free(argv);
    free(variables);
    return good;
}

bool compilers_wanted(void)
{
    const char *whose = getenv(FOR);
    if (!whose)
        return true;
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the driver's compiler may take long to hear of anything else */
#endif
    return atol(whose) == (long)getppid(); /* it may have ended before */
}

void compilers_start(run *r)
{
    char name[DEVICE_NAME_BYTES];
    const char *device = r->o.device ? r->o.device : name;
    const uint32_t wanted = r->o.compilers;
    if (wanted == 0 || !has_passes(&r->o))
        return;
    if ((!r->o.device && device_default(r->engine, &r->o, name) != ENG_OK) || !suits(r->engine, device))
        return;
    r->beside.known = known_path(r, device);
    if (!r->beside.known || access(r->beside.known, F_OK) == 0)
        return;
    for (uint32_t i = wanted; i > 0 && start(r, i, wanted); i--)
        ;
}

/* Has it ended, or does it within so many milliseconds? */
static bool ended(pid_t process, int milliseconds, int *status)
{
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    for (;; milliseconds -= STEP_MS, nanosleep(&step, NULL)) {
        const pid_t who = waitpid(process, status, WNOHANG);
        if (who == process || (who < 0 && errno != EINTR))
            return true;
        if (milliseconds <= 0)
            return false;
    }
}

/* Those that have ended, or do so soon, are forgotten: what they could compile is there, or they failed. */
static void forget_ended(compilers *c, int milliseconds)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        int status = 0;
        if (!ended(c->process[i], milliseconds, &status))
            c->process[left++] = c->process[i];
        else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            c->done = true;
        else
            c->failed = true;
    }
    c->n = left;
}

void compilers_ran(run *r)
{
    r->beside.ran = true;
    forget_ended(&r->beside, 0);
}

/* What one leaves in the middle stays in the driver's cache as rubbish, and they have little to do any more: so not at once. */
void compilers_end(run *r)
{
    compilers *c = &r->beside;
    const bool some = c->n > 0 || c->done;
    forget_ended(c, c->n ? MOMENT_MS / (int)c->n : 0);
    for (uint32_t i = 0; i < c->n; i++)
        kill(c->process[i], SIGTERM);
    for (uint32_t i = 0; i < c->n; i++) {
        int status;
        if (!ended(c->process[i], PATIENCE_MS, &status)) {
            kill(c->process[i], SIGKILL);
            while (waitpid(c->process[i], NULL, 0) < 0 && errno == EINTR)
                ;
        }
    }
    const bool good = some && !c->failed && (c->ran || c->done);
    const int file = good && c->known ? open(c->known, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
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
