/*
 * The programs that the opencl plugin builds for a graphics card: every case of the conformance suite is planned on a
 * device that is made to look like one, and what the plugin gives to the compiler is written down instead of compiled.
 *
 *     list-builds FOLDER [--full] [--ops LIST] [--roofs] [--model FILE]...
 *
 * --roofs: what measures the card, too.  --model: the plans of a language model, which have what fusion makes of several ops; --ops ''
 * leaves out the cases.
 * FOLDER gets a file NAME-NUMBER.cl for each program: its first line is "// options: ...", the rest is the source.
 * So there is no second list of programs that could be another one than the plugin's.  Needs any OpenCL device.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../conformance/conformance.h"
#include "engine/engine.h"
#include "engine/lm.h"

#define SEEN __attribute__((visibility("default"))) /* by the plugin, before the loader's */
#define NEXT(name) next(#name)

typedef void (*any_call)(void);

static any_call next(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    any_call call;
    if (!symbol) {
        fprintf(stderr, "list-builds: the OpenCL loader has no %s\n", name);
        abort();
    }
    memcpy(&call, &symbol, sizeof call);
    return call;
}

/* -- what is written down ----------------------------------------------------------- */

typedef struct listed {
    struct listed *next;
    char *text;
} listed;

static const char *folder;
static listed *all;
static unsigned n_all;

static _Noreturn void stop(const char *what)
{
    fprintf(stderr, "list-builds: %s\n", what);
    exit(1);
}

/* The name of the file that is no header, as its first comment gives it. */
static void name_of(const char *source, char name[32])
{
    static const char mark[] = "* kernels/";
    snprintf(name, 32, "unnamed");
    for (const char *p = source; (p = strstr(p, mark)); p++) {
        const char *file = p + sizeof mark - 1;
        const size_t n = strcspn(file, ". ");
        if (n > 0 && n < 32 && !strncmp(file + n, ".cl ", 4)) {
            snprintf(name, 32, "%.*s", (int)n, file);
            return;
        }
    }
}

static void write_down(const char *options, const char *source)
{
    const size_t bytes = strlen(options) + strlen(source) + 32;
    char name[32], path[1024];
    listed *l = malloc(sizeof *l);
    if (!l || !(l->text = malloc(bytes)))
        stop("out of memory");
    snprintf(l->text, bytes, "// options: %s\n%s", options, source);
    for (const listed *o = all; o; o = o->next)
        if (!strcmp(o->text, l->text)) {
            free(l->text);
            free(l);
            return;
        }
    l->next = all;
    all = l;
    name_of(source, name);
    snprintf(path, sizeof path, "%s/%s-%u.cl", folder, name, n_all++);
    FILE *f = fopen(path, "w");
    if (!f || fputs(l->text, f) == EOF || fclose(f) != 0)
        stop("cannot write a program");
}

/* -- the device that it pretends to be ------------------------------------------------ */

static struct { cl_program program; char *source; } made[16];

/* A card has groups of 1024, 48 KiB of local memory, and divides as it should. */
SEEN cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t bytes, void *value,
                                        size_t *all_bytes)
{
    const size_t group = 1024;
    const cl_ulong local = 49152;
    cl_int(CL_API_CALL * real)(cl_device_id, cl_device_info, size_t, void *, size_t *);
    any_call call = NEXT(clGetDeviceInfo);
    memcpy(&real, &call, sizeof real);
    const cl_int status = real(device, what, bytes, value, all_bytes);
    if (status == CL_SUCCESS && value && what == CL_DEVICE_MAX_WORK_GROUP_SIZE)
        memcpy(value, &group, sizeof group);
    if (status == CL_SUCCESS && value && what == CL_DEVICE_LOCAL_MEM_SIZE)
        memcpy(value, &local, sizeof local);
    if (status == CL_SUCCESS && value && what == CL_DEVICE_SINGLE_FP_CONFIG)
        *(cl_device_fp_config *)value |= CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    return status;
}

SEEN cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint n, const char **strings,
                                                      const size_t *lengths, cl_int *error)
{
    cl_program(CL_API_CALL * real)(cl_context, cl_uint, const char **, const size_t *, cl_int *);
    any_call call = NEXT(clCreateProgramWithSource);
    memcpy(&real, &call, sizeof real);
    cl_program program = real(context, n, strings, lengths, error);
    if (n != 1) /* with declarations for processors, see below */
        return program;
    for (unsigned i = 0; i < sizeof made / sizeof *made; i++)
        if (program && !made[i].source) {
            made[i].program = program;
            made[i].source = strndup(strings[0], lengths[0]);
            return program;
        }
    stop("more programs at once than are expected");
}

/* Nothing is compiled but the loop that the plugin tries when it opens a device. */
SEEN cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                                       void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    cl_int(CL_API_CALL * real)(cl_program, cl_uint, const cl_device_id *, const char *,
                               void(CL_CALLBACK *)(cl_program, void *), void *);
    any_call call = NEXT(clBuildProgram);
    memcpy(&real, &call, sizeof real);
    if (strstr(options, "-D_OPENCL_H_")) /* a card's compiler has its functions from elsewhere (kernels/builtins.clh) */
        return CL_BUILD_PROGRAM_FAILURE;
    for (unsigned i = 0; i < sizeof made / sizeof *made; i++)
        if (made[i].source && made[i].program == program) {
            const bool tried = strstr(made[i].source, "* kernels/loops.cl") != NULL;
            if (!tried)
                write_down(options, made[i].source);
            free(made[i].source);
            made[i].source = NULL;
            return tried ? real(program, n, devices, options, notify, data) : CL_SUCCESS;
        }
    return CL_INVALID_PROGRAM;
}

/* No instance is made: a plan has all programs. */
SEEN cl_kernel CL_API_CALL clCreateKernel(cl_program program, const char *name, cl_int *error)
{
    cl_kernel(CL_API_CALL * real)(cl_program, const char *, cl_int *);
    any_call call = NEXT(clCreateKernel);
    memcpy(&real, &call, sizeof real);
    if (!strcmp(name, "loops"))
        return real(program, name, error);
    *error = CL_INVALID_KERNEL;
    return NULL;
}

/* -- models ------------------------------------------------------------------------ */

enum { MOST_MODELS = 8 };

static void ignore(void *user, const char *text)
{
    (void)user;
    (void)text;
}

/* Passes of one token, of a few and of many, with caches of one type.  An instance of a plan cannot be made: there are no kernels. */
static void plan_passes(eng_lm_model *model, uint32_t type_k, uint32_t type_v, uint32_t precision)
{
    static const uint32_t tokens[] = {1, 4, 128};
    eng_lm_context_params p = {.size = sizeof p};
    eng_lm_context *c = NULL;
    eng_lm_context_defaults(&p);
    p.n_cells = 256;
    p.n_batch = 128;
    p.type_k = type_k;
    p.type_v = type_v;
    p.precision = precision;
    if (eng_lm_context_create(model, &p, &c) != ENG_OK)
        stop(eng_last_error());
    for (unsigned i = 0; i < sizeof tokens / sizeof *tokens; i++)
        eng_lm_context_explain_pass(c, tokens[i], ENG_EXPLAIN_TEXT, ignore, NULL);
    eng_lm_context_destroy(c);
}

static void plan_model(eng_context *context, const char *path)
{
    eng_device *device = NULL;
    eng_lm_model *model = NULL;
    if (eng_device_open(context, "opencl:0", &device) != ENG_OK ||
        eng_lm_model_open(context, device, path, NULL, &model) != ENG_OK)
        stop(eng_last_error());
    plan_passes(model, ENG_TYPE_F16, ENG_TYPE_F16, ENG_PRECISION_EXACT);
    plan_passes(model, ENG_TYPE_Q8_0, ENG_TYPE_Q4_0, ENG_PRECISION_FAST);
    eng_lm_model_close(model);
    eng_device_close(device);
}

/* -- roofs ------------------------------------------------------------------------- */

/* None is measured: there are no kernels. */
static void list_roofs(eng_context *context)
{
    static const char *const units[] = {"no", "mma", "wmma", "dpas"};
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++) {
        eng_device *device = NULL;
        double per_second;
        if (eng_context_set_option(context, "opencl.matrix", units[i]) != ENG_OK ||
            eng_context_set_option(context, "opencl.dot4", "yes") != ENG_OK || eng_device_open(context, "opencl:0", &device) != ENG_OK)
            stop(eng_last_error());
        for (int roof = ENG_ROOF_READ; roof <= ENG_ROOF_MATRIX; roof++)
            eng_device_roof(device, (eng_roof)roof, &per_second);
        eng_device_close(device);
    }
}

/* -- cases ------------------------------------------------------------------------- */

static void plan_cases(eng_context *context, const char *matrix, const char *dot4, const eng_conformance_options *o,
                       eng_conformance_summary *sum)
{
    if (eng_context_set_option(context, "opencl.matrix", matrix) != ENG_OK ||
        eng_context_set_option(context, "opencl.dot4", dot4) != ENG_OK ||
        eng_conformance_run(context, "opencl:0", o, sum) != ENG_OK)
        stop(eng_last_error());
}

/* Products by dot products of bytes and by matrix units of AMD's and Intel's cards, then all by NVIDIA's: a device that has a matrix
 * unit takes that. */
static void plan_ops(eng_context *context, eng_conformance_options *o, eng_conformance_summary *sum)
{
    eng_conformance_options products = *o;
    products.ops = "mul_mat,mul_mat_id";
    if (!o->ops || strstr(o->ops, "mul_mat")) {
        plan_cases(context, "no", "yes", &products, sum);
        plan_cases(context, "wmma", "no", &products, sum);
        plan_cases(context, "dpas", "no", &products, sum);
    }
    plan_cases(context, "mma", "no", o, sum);
}

int main(int argc, char **argv)
{
    eng_conformance_options o = {.size = sizeof o, .quick = 1, .lenient = 1};
    eng_conformance_summary sum = {.size = sizeof sum};
    eng_context *context = NULL;
    const char *models[MOST_MODELS];
    unsigned n_models = 0;
    bool roofs = false;
    cl_uint platforms = 0; /* a call of the loader's own, too: so it is linked with this program */
    if (clGetPlatformIDs(0, NULL, &platforms) != CL_SUCCESS || !platforms)
        stop("no OpenCL device to pretend with: install a driver, such as pocl-opencl-icd");
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--full"))
            o.quick = 0;
        else if (!strcmp(argv[i], "--ops") && i + 1 < argc)
            o.ops = argv[++i];
        else if (!strcmp(argv[i], "--roofs"))
            roofs = true;
        else if (!strcmp(argv[i], "--model") && i + 1 < argc && n_models < MOST_MODELS)
            models[n_models++] = argv[++i];
        else if (!folder && argv[i][0] != '-')
            folder = argv[i];
        else
            stop("usage: list-builds FOLDER [--full] [--ops LIST] [--roofs] [--model FILE]...");
    }
    if (!folder)
        stop("usage: list-builds FOLDER [--full] [--ops LIST] [--roofs] [--model FILE]...");
    if (eng_context_create(NULL, &context) != ENG_OK ||
        eng_context_set_option(context, "opencl.family", "simt") != ENG_OK ||
        eng_context_set_option(context, "opencl.cache", "no") != ENG_OK) {
        fprintf(stderr, "list-builds: %s\n", eng_last_error());
        return 1;
    }
    if (!o.ops || *o.ops)
        plan_ops(context, &o, &sum);
    if (roofs)
        list_roofs(context);
    for (unsigned i = 0; i < n_models; i++)
        plan_model(context, models[i]);
    eng_context_destroy(context);
    printf("%u programs of %llu cases and %u models\n", n_all, (unsigned long long)sum.cells, n_models);
    for (listed *l = all, *after; l; l = after) {
        after = l->next;
        free(l->text);
        free(l);
    }
    return n_all ? 0 : 1;
}
