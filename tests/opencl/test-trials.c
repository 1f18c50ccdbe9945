/*
 * What is tried on a device (device/trial.c) is tried once: processes that come later know what became of it, also of one
 * that ended its process; another version of the driver, or a file that is damaged, has it tried again.  Each process is this
 * program again, whose last line says what it did.  On opencl:0, or on the device that ENG_TEST_OPENCL names, with the matrix
 * unit in C; skipped where there is none.
 */
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/engine.h"

#include "../tap.h"
#include "interposer.h"

static char folder[900], plugins[1000]; /* the cache, and what of it is the plugin's */

static const char *device_name(void)
{
    const char *name = getenv("ENG_TEST_OPENCL");
    return name && *name ? name : "opencl:0";
}

/* -- a process that opens the device ----------------------------------------------------- */

static char became[200]; /* what the log says of the matrix unit */

static void on_log(void *user, int level, const char *source, const char *text)
{
    (void)user, (void)level, (void)source;
    const char *what = strstr(text, "matrix unit in C");
    if (what)
        snprintf(became, sizeof became, "%s", what);
}

/* how: "", or what is different: "driver", "killed" (while the compiler works), "slow" (it works for a second), "full" (the device
 * has no memory left), "unkept". */
static int open_once(const char *how)
{
    const eng_context_params params = {.size = sizeof params, .log = on_log, .log_level = ENG_LOG_DEBUG};
    eng_context *context = NULL;
    eng_device *device = NULL;
    if (eng_context_create(&params, &context) != ENG_OK)
        return 1;
    if (!strcmp(how, "driver")) {
        uint64_t number = 0;
        memcpy(&number, "9.9", 3);
        interposer_answer(CL_DRIVER_VERSION, number);
    } else if (!strcmp(how, "killed")) {
        interposer_delay("clBuildProgram", 10000);
        ualarm(300000, 0);
    } else if (!strcmp(how, "slow"))
        interposer_delay("clBuildProgram", 1000);
    else if (!strcmp(how, "full"))
        interposer_fail("clEnqueueNDRangeKernel", 1, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    int status = eng_context_set_option(context, "engine.cache_dir", folder);
    status = status ? status : eng_context_set_option(context, "opencl.cache", strcmp(how, "unkept") ? "yes" : "no");
    status = status ? status : eng_context_set_option(context, "opencl.family", "simt");
    status = status ? status : eng_context_set_option(context, "opencl.matrix", "in-c");
    status = status ? status : eng_device_open(context, device_name(), &device);
    const bool told = *became != '\0'; /* a unit that is asked for and not used is an error, too */
    printf("tried %lu: %s\n", interposer_count("clEnqueueNDRangeKernel"), told ? became : eng_last_error());
    eng_device_close(device);
    eng_context_destroy(context);
    return status != ENG_OK && !told;
}

/* -- the test ------------------------------------------------------------------------------ */

/* The last line that a command says; false: it ended otherwise than by returning 0. */
static bool last_line(const char *command, char said[300])
{
    FILE *out = popen(command, "r");
    *said = '\0';
    while (out && fgets(said, 300, out))
        said[strcspn(said, "\n")] = '\0';
    return out && pclose(out) == 0;
}

/* Runs such a process. */
static bool run(const char *self, const char *how, char said[300])
{
    char command[2200];
    snprintf(command, sizeof command, "'%s' '%s' '%s' 2>&1", self, folder, how);
    return last_line(command, said);
}

/* Runs a slow one, of which nothing is heard, and one in the middle of it, which may be first with f16, the second of two trials. */
static bool says_beside(const char *self)
{
    char said[300], command[4200];
    unsigned long tried = 2;
    snprintf(command, sizeof command, "'%s' '%s' slow > /dev/null 2>&1 & sleep 0.4; '%s' '%s' '' 2>&1; wait", self, folder, self,
             folder);
    const bool good = last_line(command, said) && sscanf(said, "tried %lu", &tried) == 1 && tried < 2 && strstr(said, "is right");
    return tap_check(good, "a process that another one is before waits for it: %s", good ? "so it does not try the same" : said);
}

static bool says(const char *self, const char *how, unsigned tried, const char *words, const char *when)
{
    char said[300], begin[32];
    snprintf(begin, sizeof begin, "tried %u: ", tried);
    const bool good = run(self, how, said) && !strncmp(said, begin, strlen(begin)) && strstr(said, words);
    return tap_check(good, "%s: %s%s", when, begin, good ? words : said);
}

/* Some file with this end; "" in path: there is none. */
static void find(const char *end, char path[1200])
{
    DIR *dir = opendir(plugins);
    *path = '\0';
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (*e->d_name != '.' && strlen(e->d_name) > strlen(end) && !strcmp(e->d_name + strlen(e->d_name) - strlen(end), end))
            snprintf(path, 1200, "%.900s/%.200s", plugins, e->d_name);
    if (dir)
        closedir(dir);
}

static void forget(const char *end)
{
    char path[1200];
    for (find(end, path); *path; find(end, path))
        if (remove(path) != 0)
            return;
}

/* The last byte of each verdict is another one. */
static void damage_all(void)
{
    char path[1200];
    DIR *dir = opendir(plugins);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        snprintf(path, sizeof path, "%.900s/%.200s", plugins, e->d_name);
        FILE *f = strstr(e->d_name, ".tried") ? fopen(path, "r+b") : NULL;
        if (!f || fseek(f, -1, SEEK_END) != 0)
            continue;
        const int c = fgetc(f);
        fseek(f, -1, SEEK_END);
        fputc(c ^ 1, f);
        fclose(f);
    }
    if (dir)
        closedir(dir);
}

/* A kernel that does nothing: its sums stay what they were. */
static bool write_wrong_kernel(void)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/matrix.cl", plugins);
    FILE *f = fopen(path, "w");
    return f && fputs("__kernel void matrix(__global float *o) {}\n", f) > 0 && fclose(f) == 0 &&
           setenv("ENGINE_OPENCL_KERNELS", plugins, 1) == 0;
}

static void check(const char *self)
{
    char said[300];
    says(self, "", 2, "is right", "the first process tries, bf16 and f16");
    says(self, "", 0, "is right (known from before)", "the second one does not");
    says(self, "driver", 2, "is right", "another version of the driver: tried");
    says(self, "unkept", 2, "is right", "without a cache: tried");
    says(self, "", 0, "is right (known", "the first version is still known");
    damage_all();
    says(self, "", 2, "is right", "files that are damaged are ignored: tried");
    says(self, "", 0, "is right (known", "and written anew");
    forget(".tried");
    says(self, "full", 1, "could not be tried", "where the device has no memory left nothing is known");
    says(self, "", 2, "is right", "and it is tried another time");
    forget(".tried");
    forget(".bin");
    tap_check(!run(self, "killed", said), "a process ends while it tries (%s)", said);
    says(self, "", 2, "is right", "the next one tries again: somebody may have ended it");
    forget(".tried");
    forget(".bin");
    for (int i = 0; i < 2; i++)
        tap_check(!run(self, "killed", said), "two end (%s)", said);
    says(self, "", 0, "was being tried when processes ended", "the next one does without");
    forget(".tried");
    forget(".bin");
    says_beside(self);
    forget(".tried");
    if (tap_check(write_wrong_kernel(), "a kernel that is wrong")) {
        says(self, "", 1, "is not there, or wrong", "is found out");
        says(self, "", 0, "is not there, or wrong (known", "once");
    }
}

static bool has_device(void)
{
    eng_context *context = tap_begin();
    eng_device *device = NULL;
    const bool has = context && eng_device_open(context, device_name(), &device) == ENG_OK;
    if (!has)
        printf("1..0 # SKIP no OpenCL device: %s\n", eng_last_error());
    eng_device_close(device);
    eng_context_destroy(context);
    return has;
}

int main(int argc, char **argv)
{
    char self[1024] = "", here[800] = "";
    if (argc == 3) {
        snprintf(folder, sizeof folder, "%s", argv[1]);
        return open_once(argv[2]);
    }
    if (!has_device())
        return 0;
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        snprintf(self, sizeof self, "%s", argv[0]);
    if (!getcwd(here, sizeof here))
        return 1;
    snprintf(folder, sizeof folder, "%s/trials-cache-%ld", here, (long)getpid());
    snprintf(plugins, sizeof plugins, "%s/opencl", folder);
    mkdir(folder, 0700);
    check(self);
    forget("");
    rmdir(plugins);
    rmdir(folder);
    return tap_end(NULL);
}
