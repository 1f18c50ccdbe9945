/* Weights of products in tests: read by products and lookups alone, and packed where a device can. */
#ifndef TESTS_MATRIX_H
#define TESTS_MATRIX_H

#include <engine/engine.h>

#define TEST_MATRIX 0x100u /* beside ENG_USE_* in the `use` of a test's own description */

static inline void test_declare_matrix(eng_store_tensor *t)
{
    static const eng_reader readers[] = {{.op = ENG_OP_MUL_MAT, .precisions = ENG_ANY_PRECISION},
                                         {.op = ENG_OP_GET_ROWS, .precisions = ENG_ANY_PRECISION},
                                         {.op = ENG_OP_MUL_MAT_ID, .precisions = ENG_ANY_PRECISION}};
    if (!(t->use & TEST_MATRIX))
        return;
    t->use &= ~TEST_MATRIX;
    /* of some types only: programs that read packed rows take as long to compile as the others */
    t->layout = t->type == ENG_TYPE_Q8_0 || t->type == ENG_TYPE_Q4_K ? ENG_LAYOUT_PACKED : ENG_LAYOUT_AUTO;
    t->readers = readers;
    /* experts have three extents: a device may keep matrices that are none in other forms */
    t->n_readers = t->type == ENG_TYPE_I32 ? 0 : t->rank < 3 ? 2 : 3;
    if (t->n_readers == 0)
        t->layout = ENG_LAYOUT_AUTO;
}

#endif
