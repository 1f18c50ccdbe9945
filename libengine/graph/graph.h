/* Floor 3: graphs under construction and sealed. */
#ifndef LIBENGINE_GRAPH_H
#define LIBENGINE_GRAPH_H

#include "../base/base.h"
#include "../device/device.h"

#define ENG_SLOT_KEPT UINT32_MAX /* of values that are kept: each instance has a store of its own for them */

typedef struct eng_graph_binding {
    uint32_t slot;
    uint32_t tensor; /* in the store                                         */
    eng_value value;
    eng_value keeps; /* ENG_SLOT_KEPT: the value that it is a copy of        */
    const eng_store *store; /* what was shown at construction; not kept alive */
    const eng_reader *readers; /* the tensor's, copied                       */
    uint32_t n_readers;
} eng_graph_binding;

struct eng_graph {
    eng_context *context;
    eu_arena arena;
    eng_tensor *tensors;
    eng_node *nodes;
    eng_graph_binding *bindings;
    int32_t *binding_tensor; /* made at seal                                 */
    uint32_t n_tensors, n_nodes, n_bindings, n_params;
    uint32_t precision; /* of the products that are added next */
    size_t tensor_room, node_room, binding_room;
    bool sealed;
    int status;          /* first error                                      */
    char error[768];
    eng_subgraph view;   /* after seal                                       */
};

/* What inference works on: one node being added. */
typedef struct eng_inference {
    eng_graph *graph;
    const eng_op_info *info;
    const eng_node *node;
    const eng_tensor *in[ENG_MAX_INPUTS]; /* NULL: absent                    */
    int64_t extent[ENG_MAX_LETTERS];      /* -1: unbound                     */
    eng_tensor out[ENG_MAX_OUTPUTS];      /* type, ne and dims to be filled  */
    bool absent[ENG_MAX_OUTPUTS];         /* an optional result nobody asked for */
} eng_inference;

/* Sets the graph's first error, with op and operands named; returns status. */
int eng_graph_fail(eng_inference *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a mistake outside of any node; a NULL graph has nothing to keep it in. */
void eng_graph_refuse(eng_graph *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

int eng_infer_shapes(eng_inference *f);  /* rules: letters, extents (infer.c) */
int eng_infer_types(eng_inference *f);   /* types and strides (check.c)      */
int eng_infer_special(eng_inference *f); /* what rules cannot say (special.c) */
int eng_infer_axes(eng_inference *f);    /* axes of the results (axes.c)     */

/* -- axes (axes.c, dims.c) ----------------------------------------------- */

/* A dimension's axes in a form that is easy to change. */
typedef struct eng_dim_work {
    uint32_t n;
    struct {
        uint32_t n;
        eng_factor f[ENG_MAX_FACTORS];
    } s[ENG_MAX_SEGMENTS];
} eng_dim_work;

/* From a dim of given extent; one anonymous factor if dim is NULL or empty, or if (false) it has more than there is room
 * for or is not of that extent. */
bool eng_dim_load(eng_dim_work *w, const eng_dim *dim, int64_t extent);
/* Normal form: adjacent anonymous factors merged, anonymous 1s dropped, axes that
 * are not in every segment made anonymous. */
void eng_dim_normalise(eng_dim_work *w);
bool eng_dim_named(const eng_dim_work *w);
bool eng_dim_equal(const eng_dim_work *a, const eng_dim_work *b);
int64_t eng_dim_extent(const eng_dim_work *w);
/* Copies into the arena; an all-anonymous dim becomes empty.  false: no memory. */
bool eng_dim_save(eu_arena *arena, const eng_dim_work *w, eng_dim *dim);
void eng_dim_anonymous(eng_dim_work *w, int64_t extent);

/* Axes of a tensor seen with other extents (reshape). */
void eng_dims_regroup(const eng_dim_work *from, uint32_t n_from, const int64_t *ne, eng_dim_work *to, uint32_t n_to);

/* -- small things ------------------------------------------------------------ */

static inline const eng_type_info *eng_tensor_type(const eng_tensor *t)
{
    return eng_type_get(t->type);
}

/* Elements along a dimension; along dimension 0 blocks. */
static inline int64_t eng_tensor_blocks(const eng_tensor *t, int dim)
{
    return dim == 0 ? t->ne[0] / (int64_t)eng_tensor_type(t)->block : t->ne[dim];
}

bool eng_tensor_contiguous(const eng_tensor *t);
int64_t eng_tensor_elements(const eng_tensor *t);
/* Contiguous strides for ne and type; false if it does not fit in 63 bits. */
bool eng_tensor_layout(eng_tensor *t);
/* Bytes from the first element's begin to the last one's end; false: they do not fit. */
bool eng_tensor_reach(const eng_tensor *t, uint64_t *bytes);
/* Are there bytes between the first and the last of both, which are of one memory? */
bool eng_tensors_meet(const eng_tensor *a, const eng_tensor *b);

/* A number that is equal for equal graphs (signature.c), and the comparison. */
uint64_t eng_graph_hash(const eng_subgraph *g);
bool eng_graph_same(const eng_subgraph *a, const eng_subgraph *b);

#endif
