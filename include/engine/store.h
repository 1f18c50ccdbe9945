/*
 * engine/store.h - persistent tensors: how hosts declare them and plugins are told of them, how they are
 * laid out, and regions of them.
 */
#ifndef ENGINE_STORE_H
#define ENGINE_STORE_H

#include "ops.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In which form a device keeps a tensor: what the host asks for. */
typedef enum eng_layout {
    ENG_LAYOUT_AUTO = 0,  /* whichever the device is faster with: file, if nothing is */
    ENG_LAYOUT_FILE = 1,  /* as in a GGUF file, row after row: can be used in place,
                             and pages of a file be shared between processes  */
    ENG_LAYOUT_PACKED = 2 /* as the device's kernels like it best, if they have a form
                             for such a tensor: in memory of the device's own */
} eng_layout;

/* An operand of an op that reads a stored tensor, and how exactly it may be asked to. */
typedef struct eng_reader {
    uint32_t op;         /* eng_op                                           */
    uint32_t operand;
    uint32_t precisions; /* 1 << eng_precision, or'ed                        */
    uint32_t reserved;
} eng_reader;
#define ENG_ANY_PRECISION ((1u << ENG_PRECISION_EXACT) | (1u << ENG_PRECISION_FAST))

/* A persistent tensor as declared: contiguous, rows padded to whole blocks. */
typedef struct eng_store_tensor {
    uint32_t size;
    uint32_t type;
    uint32_t rank;
    uint32_t use; /* ENG_USE_*                                               */
    int64_t ne[ENG_MAX_RANK];
    const eng_dim *dims; /* rank entries: axes; NULL: all anonymous          */
    const char *name;
    const char *device;  /* a device's name: keep it there ("-ot"); else NULL.
                            Plain devices ignore it; see the meta plugin     */
    uint32_t axis;       /* split along this axis; ENG_AXIS_NONE: the device's
                            policy chooses; ENG_AXIS_WHOLE: never split      */
    uint32_t role;       /* the host's own note of what it is for, or 0      */
    int32_t layer;       /* the host's own note of its layer; -1: none       */
    uint32_t layout;     /* eng_layout: what the host asks for               */
    const eng_reader *readers; /* n_readers: nothing else will read it, and nothing view it, so
                            that the device may choose a layout; none: anything may read it,
                            and its layout is that of the file               */
    uint32_t n_readers;
    uint32_t reserved;
    const void *data;    /* its contents, in memory of the host's (eng_store_load); NULL: zeros.
                            eng_store_get gives it as long as it is used there */
} eng_store_tensor;
#define ENG_AXIS_WHOLE 0xffffffffu

/* How a device keeps a tensor, or would. */
typedef struct eng_layout_info {
    uint32_t size;
    uint32_t layout;   /* 0: as in the file; else the device's own number of the form  */
    uint32_t rows;     /* that many rows (dimension 1) are kept together: who cuts a tensor
                          in that dimension cuts it at multiples of them      */
    uint32_t in_place; /* eng_in_place                                        */
    char name[32];     /* for people: "file", "rows4"                         */
} eng_layout_info;
/* Are a tensor's `data` used where they are? */
typedef enum eng_in_place {
    ENG_IN_PLACE_NONE = 0,
    ENG_IN_PLACE_ALL = 1,
    ENG_IN_PLACE_PART = 2  /* by some of the devices that a device is composed of */
} eng_in_place;

/*
 * `count` runs of `bytes` bytes each: run i is at data + i * data_stride on the
 * host and at tensor_offset + i * tensor_stride in the tensor, both measured in
 * the tensor's declared (contiguous, GGUF) layout.
 */
typedef struct eng_region {
    void *data; /* read by upload, written by download                       */
    uint64_t data_stride;
    uint64_t tensor_offset;
    uint64_t tensor_stride;
    uint64_t bytes;
    uint64_t count;
} eng_region;

/* `bytes` bytes of a tensor from `offset` on; what is uploaded from there is only read. */
static inline eng_region eng_range(const void *data, uint64_t offset, uint64_t bytes)
{
    eng_region r;
    r.data = (void *)(uintptr_t)data;
    r.data_stride = 0;
    r.tensor_offset = offset;
    r.tensor_stride = 0;
    r.bytes = bytes;
    r.count = 1;
    return r;
}

#ifdef __cplusplus
}
#endif
#endif
