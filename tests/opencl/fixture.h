/* What the files of test-opencl share. */
#ifndef TESTS_OPENCL_FIXTURE_H
#define TESTS_OPENCL_FIXTURE_H

#include <check.h>
#include <stdint.h>

#include "engine/engine.h"

#include "folder.h"

/* The device tested, or with "/2.1" a part of it. */
const char *named(const char *part);

typedef struct fixture {
    eng_context *context;
    eng_device *device;
} fixture;
/* options: "opencl.family", "vec", ..., NULL */
fixture open_with(const char *name, const char *const *options);
void close_all(fixture f);
eng_store_tensor declare(const char *name, uint32_t type, uint32_t use, int64_t n0, int64_t n1, int64_t n2);

/* Tests, added. */
void opencl_memory(TCase *tests); /* tensors in pieces, and what of the memory is left */
void opencl_chains(TCase *tests); /* fused chains, and the cache of binaries that they are in */
void opencl_told(TCase *tests);   /* reports and errors */

#endif
