/* --imatrix-out: what engine-quantize --imatrix reads. */
#ifndef ENGINE_TOOLS_GENERATE_IMATRIX_H
#define ENGINE_TOOLS_GENERATE_IMATRIX_H

#include "generate.h"
#include "libengine/util/util.h"

typedef struct imatrix imatrix;

/* From here on what the context runs is collected; until the context is gone, or imatrix_end. */
int imatrix_begin(eng_lm_context *context, imatrix **result);
/* text: the name of what was run, in so many chunks of so many tokens. */
int imatrix_write(imatrix *m, const char *path, const char *text, uint32_t chunks, uint32_t chunk);
void imatrix_end(imatrix *m); /* may be NULL */

#endif
