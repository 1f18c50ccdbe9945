/*
 * Compiled programs on disk, and beside them what became of those that were tried (trial.c).  A file is named by a hash
 * of source, options, compiler and device, and carries a checksum; whatever is wrong with it, the program is built from
 * source, or tried, again and the file written anew.
 */
#include "../host.h"

#include <stdatomic.h>
#include <unistd.h>

#define MAGIC 0x314e4942u /* "BIN1" */

typedef struct header {
    uint32_t magic, reserved;
    cl_hash key;  /* what the file is for                                     */
    cl_hash sum;  /* of the binary                                            */
    uint64_t bytes;
} header;

/* Two FNV-1a hashes that begin and proceed differently. */
void cl_hash_add(cl_hash *hash, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint64_t a = hash->a, b = hash->b;
    for (size_t i = 0; i < bytes; i++) {
        a = (a ^ p[i]) * 0x100000001b3u;
        b = (b ^ (p[i] + 0x9eu) ^ (b >> 47)) * 0x9e3779b97f4a7c15u;
    }
    hash->a = a;
    hash->b = b;
}

static bool path_of(cl_device *device, const cl_hash *hash, const char *kind, char *path, size_t bytes)
{
    const char *dir = device->sv->cache_dir(device->sv->host);
    return dir && *dir && snprintf(path, bytes, "%s/opencl-%016llx%016llx.%s", dir, (unsigned long long)hash->a,
                                   (unsigned long long)hash->b, kind) < (int)bytes;
}

static unsigned char *read_entry(const char *path, const cl_hash *hash, size_t *bytes)
{
    header h;
    unsigned char *binary = NULL;
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    if (fread(&h, sizeof h, 1, f) == 1 && h.magic == MAGIC && !memcmp(&h.key, hash, sizeof *hash) && h.bytes > 0 &&
        h.bytes < (uint64_t)1 << 30) {
        binary = malloc((size_t)h.bytes);
        cl_hash sum = {1, 2};
        if (binary && fread(binary, 1, (size_t)h.bytes, f) == h.bytes)
            cl_hash_add(&sum, binary, (size_t)h.bytes);
        if (memcmp(&sum, &h.sum, sizeof sum) != 0) {
            free(binary);
            binary = NULL;
        }
        *bytes = (size_t)h.bytes;
    }
    fclose(f);
    return binary;
}

bool cl_cache_there(cl_device *device, const cl_hash *hash)
{
    char path[1024];
    return path_of(device, hash, "bin", path, sizeof path) && access(path, R_OK) == 0;
}

cl_program cl_cache_load(cl_device *device, const cl_hash *hash, const char *options)
{
    char path[1024];
    size_t bytes;
    cl_int status, error;
    unsigned char *binary = path_of(device, hash, "bin", path, sizeof path) ? read_entry(path, hash, &bytes) : NULL;
    if (!binary)
        return NULL;
    const unsigned char *data = binary;
    cl_program p = clCreateProgramWithBinary(device->context, 1, &device->id, &bytes, &data, &status, &error);
    if (p && clBuildProgram(p, 1, &device->id, options, NULL, NULL) != CL_SUCCESS) {
        clReleaseProgram(p);
        p = NULL;
    }
    free(binary);
    return p;
}

/* Written aside and renamed: who reads finds the one before or this one. */
static bool write_entry(const char *path, const cl_hash *hash, const unsigned char *data, size_t bytes)
{
    header h = {.magic = MAGIC, .key = *hash, .sum = {1, 2}, .bytes = bytes};
    cl_hash_add(&h.sum, data, bytes);
    static atomic_uint counter; /* several devices of a process may keep the same program at once */
    char temporary[1100];
    snprintf(temporary, sizeof temporary, "%s.%ld-%u", path, (long)getpid(), atomic_fetch_add(&counter, 1));
    FILE *f = fopen(temporary, "wb");
    if (!f)
        return false;
    bool good = fwrite(&h, sizeof h, 1, f) == 1 && fwrite(data, 1, bytes, f) == bytes;
    good = fclose(f) == 0 && good;
    good = good && rename(temporary, path) == 0;
    if (!good)
        remove(temporary);
    return good;
}

void cl_cache_save(cl_device *device, const cl_hash *hash, cl_program program)
{
    char path[1024];
    size_t bytes = 0;
    if (!path_of(device, hash, "bin", path, sizeof path) ||
        clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS || bytes == 0)
        return;
    unsigned char *binary = malloc(bytes);
    if (binary && clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS &&
        !write_entry(path, hash, binary, bytes))
        device->sv->log(device->sv->host, ENG_LOG_DEBUG, "compiled kernels cannot be kept in %s", path);
    free(binary);
}

/* A verdict, the process that has begun to try, and how many have. */
typedef struct tried {
    unsigned char verdict, times, unused[2];
    int32_t by;
} tried;

static tried load_tried(cl_device *device, const cl_hash *hash)
{
    char path[1024];
    size_t bytes = 0;
    tried known = {.verdict = CL_UNTRIED};
    unsigned char *data = path_of(device, hash, "tried", path, sizeof path) ? read_entry(path, hash, &bytes) : NULL;
    if (data && bytes == sizeof known)
        memcpy(&known, data, sizeof known);
    free(data);
    return known;
}

cl_verdict cl_verdict_load(cl_device *device, const cl_hash *hash, int32_t *by)
{
    const tried known = load_tried(device, hash);
    *by = known.by;
    return known.verdict <= CL_RIGHT ? (cl_verdict)known.verdict : CL_UNTRIED;
}

uint32_t cl_verdict_times(cl_device *device, const cl_hash *hash)
{
    return load_tried(device, hash).times;
}

void cl_verdict_save(cl_device *device, const cl_hash *hash, cl_verdict verdict)
{
    char path[1024];
    const uint32_t times = cl_verdict_times(device, hash) + (verdict == CL_BEGUN);
    const tried now = {.verdict = (unsigned char)verdict, .times = (unsigned char)(times < 255 ? times : 255),
                       .by = (int32_t)getpid()};
    if (!path_of(device, hash, "tried", path, sizeof path))
        return;
    if (verdict == CL_UNTRIED)
        remove(path);
    else if (!write_entry(path, hash, (const unsigned char *)&now, sizeof now))
        device->sv->log(device->sv->host, ENG_LOG_DEBUG, "what was tried cannot be kept in %s", path);
}
