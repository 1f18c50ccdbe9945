/* Results that no cache would hold until somebody reads them. */
#ifndef CL_OPS_STREAM_H
#define CL_OPS_STREAM_H

#include "../opencl.h"

/* A build option: " -DSTREAM" where operand i of the part is to be stored past the caches (kernels/stream.clh), else "".
 * Its rows' elements lie side by side.  Conformance runs that way with option `stream`. */
const char *cl_stream_option(cl_recorder *r, const cl_walk *part, unsigned i);

#endif
