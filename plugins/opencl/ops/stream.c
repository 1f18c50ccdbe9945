/*
 * See stream.h.  A store past the caches does not read what it replaces, which is a third of what a copy moves
 * otherwise; but whoever reads the result next reads it from memory.  So only what is too large to be found in a cache
 * goes that way: half of it, since what is read on the way takes its place there, too.
 */
#include "stream.h"

enum { LINE = 64 }; /* at multiples of which such stores begin (STREAM16) */

/* Bytes of operand i from the part's first to its last.  Where rows were joined into one (cl_walk_flatten), row_bytes is
 * still that of a row. */
static uint64_t bytes_of(const cl_recorder *r, const cl_walk *part, unsigned i)
{
    const uint32_t type = eng_subgraph_tensor(r->graph, part->tensor[i])->type;
    const uint64_t joined = (uint64_t)part->ne[0] / cl_type_block(type) * cl_type_bytes(type);
    uint64_t bytes = joined > part->row_bytes[i] ? joined : part->row_bytes[i];
    for (unsigned d = 1; d < ENG_MAX_RANK; d++)
        bytes += part->ne[d] > 1 && part->nb[i][d] > 0 ? (uint64_t)((part->ne[d] - 1) * part->nb[i][d]) : 0;
    return bytes;
}

/* Does every row of it begin at a line?  Buffers do, unless each has exactly its tensor's size. */
static bool in_lines(const cl_recorder *r, const cl_walk *part, unsigned i)
{
    const eng_tensor *t = eng_subgraph_tensor(r->graph, part->tensor[i]);
    cl_split split;
    if (r->device->apart || cl_split_of(r->device, r->graph, t, &split) != ENG_OK)
        return false;
    uint64_t all = (split.n > 1 ? split.piece_bytes : 0) | (t->offset + part->offset[i]);
    for (unsigned d = 1; d < ENG_MAX_RANK; d++)
        all |= part->ne[d] > 1 ? (uint64_t)part->nb[i][d] : 0;
    return all % LINE == 0;
}

const char *cl_stream_option(cl_recorder *r, const cl_walk *part, unsigned i)
{
    const uint64_t least = r->device->stream_least;
    return r->device->vec && bytes_of(r, part, i) >= least && in_lines(r, part, i) ? " -DSTREAM" : "";
}
