/*
 * engine/types.h - what hosts and plugins have in common: status codes, data
 * types, tensor axes, limits.  Includes only ISO C headers.
 */
#ifndef ENGINE_TYPES_H
#define ENGINE_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define ENG_API __declspec(dllexport)
#elif defined(__GNUC__)
#define ENG_API __attribute__((visibility("default")))
#else
#define ENG_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define ENG_VERSION_MAJOR 0
#define ENG_VERSION_MINOR 1
#define ENG_VERSION_PATCH 0

#define ENG_MAX_RANK 8     /* dimensions of a tensor                        */
#define ENG_MAX_INPUTS 12  /* operands of an op                             */
#define ENG_MAX_OUTPUTS 2  /* results of an op                              */
#define ENG_MAX_IPARAMS 24 /* integer parameters of a node                  */
#define ENG_MAX_FPARAMS 8  /* floating-point parameters of a node           */
#define ENG_MAX_PLAN_PARAMS 16
#define ENG_MAX_RANKS 16   /* devices that the meta plugin composes         */
#define ENG_MAX_SEGMENTS 16 /* of a dimension's axes                        */
#define ENG_MAX_FACTORS 12 /* of a segment                                  */

/*
 * Status codes.  Every call that can fail returns one of these; success is
 * ENG_OK (0), failures are negative.  The text that names cause and cure is
 * kept per thread: eng_last_error().
 */
typedef enum eng_status {
    ENG_OK = 0,
    ENG_ERR_INVALID = -1,     /* an argument breaks the documented contract  */
    ENG_ERR_NOMEM = -2,       /* host or device memory exhausted             */
    ENG_ERR_UNSUPPORTED = -3, /* this device or build cannot do it           */
    ENG_ERR_NOTFOUND = -4,    /* no such device, plugin, tensor, key, file   */
    ENG_ERR_IO = -5,          /* reading or writing a file failed            */
    ENG_ERR_FORMAT = -6,      /* a file's content is not what it should be   */
    ENG_ERR_ABI = -7,         /* a plugin of another ABI                     */
    ENG_ERR_DEVICE = -8,      /* the device reported a failure               */
    ENG_ERR_LOST = -9,        /* the device is gone for good                 */
    ENG_ERR_TIMEOUT = -10,    /* a wait ended before the work did            */
    ENG_ERR_BUSY = -11,       /* still in use by another object              */
    ENG_ERR_STATE = -12,      /* not possible in the object's present state  */
    ENG_ERR_INTERNAL = -13,   /* a defect of the engine; please report       */
    ENG_ERR_CANCELLED = -14   /* the host has cancelled the work             */
} eng_status;

/*
 * What has failed, for programs to tell apart where the status is not enough.
 * Numbers are stable and never reused; 0 where nobody needs to know more.
 */
typedef enum eng_error_code {
    ENG_CODE_NONE = 0,
    ENG_CODE_HOST_MEMORY = 1,     /* the process got no memory               */
    ENG_CODE_DEVICE_MEMORY = 2,   /* the device has no room for it           */
    ENG_CODE_DEVICE_NAME = 3,     /* no device can be called that            */
    ENG_CODE_DEVICE_ABSENT = 4,   /* no such device is here                  */
    ENG_CODE_PATTERN_UNUSED = 5,  /* an override's pattern is in no name     */
    ENG_CODE_PATTERN_HIDDEN = 6,  /* ... or earlier ones decide for all that have it */
    ENG_CODE_PATTERN_SYNTAX = 7,  /* ... or is no regular expression, or takes too long */
    ENG_CODE_FORKED = 8           /* the process was forked after the object was made */
} eng_error_code;

/*
 * A failure in parts.  The text for people is "subject: cause; advice" of those that
 * are not empty.  A format for eng_fail or services->fail marks the parts itself:
 *     fail(status, "tensor '%s'" ENG_CAUSE "its type is %s, expected f32" ENG_ADVICE "convert it", ...)
 * without ENG_CAUSE there is no subject, without ENG_ADVICE no advice.  Control
 * characters of the arguments are escaped.
 */
#define ENG_CAUSE "\x1e"
#define ENG_ADVICE "\x1f"
typedef struct eng_error {
    uint32_t size;
    int32_t status;      /* eng_status                                       */
    uint32_t code;       /* eng_error_code                                   */
    int32_t index;       /* which of the things given to the call; -1: none of a list */
    const char *subject; /* what it is about: "tensor 'x'", "opencl:0", a path; or "" */
    const char *cause;   /* what is wrong: expected and got                  */
    const char *advice;  /* what to do about it, or ""                       */
} eng_error;

/* Data types: ENG_TYPE_F32, ENG_TYPE_Q4_0, ...  (types.def) */
typedef enum eng_type {
#define ENG_TYPE(id, number, name, block, bytes) ENG_TYPE_##id = number,
#include "types.def"
#undef ENG_TYPE
    ENG_TYPE_LIMIT = 64 /* every number is below this                       */
} eng_type;

typedef struct eng_type_info {
    uint32_t type;        /* eng_type                                       */
    uint32_t block;       /* elements per block                             */
    uint32_t block_bytes; /* bytes per block                                */
    uint32_t reserved;
    const char *name;
} eng_type_info;

/*
 * Axes.  A dimension of a tensor is a list of segments (so that fused
 * q|k|v or gate|up is exact); a segment is a list of factors, outermost
 * first, whose extents multiply to the segment's length; segments follow one
 * another in memory.  A factor either belongs to a named axis (a number > 0
 * made by the host: "kv_head", "ffn", "vocab") or is anonymous (axis 0).
 * Tensor parallelism cuts along axes, never along dimensions.  A dimension is
 * cut along an axis only if that stands once in each of its segments, with the
 * same extent everywhere.  An axis' number is eng_context_axis()'s and means
 * nothing in another context.
 */
#define ENG_AXIS_NONE 0u

typedef struct eng_factor {
    uint32_t axis; /* ENG_AXIS_NONE or the number of an axis                */
    uint32_t reserved;
    int64_t extent;
} eng_factor;

typedef struct eng_segment {
    uint32_t n_factors;
    uint32_t reserved;
    const eng_factor *factors; /* outermost first                           */
} eng_segment;

typedef struct eng_dim {
    uint32_t n_segments; /* 0: one anonymous factor of the dim's extent      */
    uint32_t reserved;
    const eng_segment *segments;
} eng_dim;

/*
 * Where a device that is composed of others keeps a value; other devices have only
 * one place and do not look at it.
 */
typedef enum eng_placement_kind {
    ENG_PLACE_AUTO = 0,       /* wherever it is cheapest                     */
    ENG_PLACE_REPLICATED = 1, /* whole on every device that has a share      */
    ENG_PLACE_SHARDED = 2,    /* cut along an axis                           */
    ENG_PLACE_PARTIAL = 3,    /* as addends: the value is their sum (f32)     */
    ENG_PLACE_SINGLE = 4      /* whole on one device                         */
} eng_placement_kind;

typedef struct eng_placement {
    uint32_t size;
    uint32_t kind;      /* eng_placement_kind                                */
    uint32_t axis;      /* sharded: which                                    */
    uint32_t reserved;
    const char *device; /* single: its name, as in eng_store_tensor.device   */
} eng_placement;

/*
 * How exact a product is to be: a bound on its error, not a way of computing.  Every op is exact;
 * those whose row has ENG_OPF_PRECISION may also be asked to be fast.
 */
typedef enum eng_precision {
    ENG_PRECISION_EXACT = 0, /* of f32 sums of unrounded operands, by whatever arithmetic */
    ENG_PRECISION_FAST = 1,  /* activations may be rounded, to bf16 or to blocks of int8, and where
                                a matrix unit multiplies them weights, too, to bf16:
                                the device does so where it gains by it      */
    ENG_PRECISIONS = 2
} eng_precision;

/* What a plan's report is written as (eng_plan_explain). */
typedef enum eng_explain_format {
    ENG_EXPLAIN_TEXT = 0,    /* lines for people                             */
    ENG_EXPLAIN_JSON = 1,    /* one object                                   */
    ENG_EXPLAIN_GRAPHVIZ = 2 /* a graph in the dot language                  */
} eng_explain_format;

/* What a persistent tensor is for.  One of these, or'ed with hints. */
enum {
    ENG_USE_WEIGHT = 1, /* written once by the host, then only read          */
    ENG_USE_CACHE = 2,  /* written by set_rows, read by attention            */
    ENG_USE_STATE = 3,  /* pool of recurrent state rows                      */
    ENG_USE_INPUT = 4,  /* written by the host before each run, never by a plan */
    ENG_USE_OUTPUT = 5, /* written by the plan, read by the host             */
    ENG_USE_MASK = 15,
    ENG_USE_FIXED = 16  /* set by the engine: declared with data, never written */
};

#ifdef __cplusplus
}
#endif
#endif
