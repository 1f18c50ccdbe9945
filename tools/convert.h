/*
 * Rows of one type to another, by the engine's own ops on a device: what
 * engine-quantize and the maker of test models have in common.
 */
#ifndef TOOLS_CONVERT_H
#define TOOLS_CONVERT_H

#include "engine/engine.h"

typedef struct converter converter;

/* device: "cpu".  stopped: asked now and then; if it says not 0, converter_run fails with ENG_ERR_STATE; NULL: goes
 * on. */
int converter_create(eng_context *context, const char *device, int (*stopped)(void), converter **result);
void converter_destroy(converter *c);

/*
 * `rows` rows of `columns` elements; the columns must be whole blocks of both
 * types.  Encoders search as they do for model files.
 */
int converter_run(converter *c, uint32_t from, const void *source, uint32_t to, void *target, int64_t columns,
                  int64_t rows);

#endif
