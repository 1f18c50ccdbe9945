/* Layouts of weights: rows interleaved.  None yet is: every weight keeps its GGUF layout. */
#include "../opencl.h"

uint32_t cl_pack_group(const cl_device *device, uint32_t type, const int64_t *ne, uint32_t rank)
{
    (void)device, (void)type, (void)ne, (void)rank;
    return 1;
}

void cl_pack_rows(uint32_t type, uint32_t group, uint64_t row_bytes, const uint8_t *rows, uint8_t *packed)
{
    (void)type;
    memcpy(packed, rows, row_bytes * group);
}

void cl_unpack_rows(uint32_t type, uint32_t group, uint64_t row_bytes, const uint8_t *packed, uint8_t *rows)
{
    (void)type;
    memcpy(rows, packed, row_bytes * group);
}
