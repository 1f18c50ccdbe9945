/* Writes docs/ops.md from the op table and the type table. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"

static void type_rows(void)
{
    puts("## Types\n\nNumbers are those of the GGUF format.\n\n| type | number | block | bytes | bits per element "
         "|\n|---|---|---|---|---|");
    for (uint32_t t = 0; t < ENG_TYPE_LIMIT; t++) {
        const eng_type_info *info = eng_type_get(t);
        if (info != NULL)
            printf("| %s | %" PRIu32 " | %" PRIu32 " | %" PRIu32 " | %.4g |\n", info->name, t, info->block,
                   info->block_bytes, 8.0 * info->block_bytes / info->block);
    }
}

static void classes(const eng_op_info *info)
{
    static const char *const meaning[] = {"flows through", "gives partial sums", "merges by log-sum-exp",
                                          "merges by sums of squares", "owns ranges of indices", "must not be cut"};
    const char *separator = "Cut along: ";
    for (int i = 0; i < info->n_letters; i++) {
        if (info->letter_name[i][0] == '.')
            continue; /* "...": passes */
        printf("%s`%s` %s", separator, info->letter_name[i], meaning[info->letter_class[i]]);
        separator = "; ";
    }
    if (*separator == ';')
        puts(".");
}

static void linear(const eng_op_info *info)
{
    const char *separator = "Linear in ";
    if (info->linear_together) {
        printf("Linear in %s and %s together.\n", info->in[0].name, info->in[1].name);
        return;
    }
    for (int i = 0; i < info->n_in; i++)
        if (info->in[i].linear) {
            printf("%s%s", separator, info->in[i].name);
            separator = " and in ";
        }
    if (separator[1] == 'a')
        puts(".");
}

static void operand_types(const eng_op_info *info)
{
    if (info->types[0] != 0)
        printf("\nTypes: `%s`.\n", info->types);
}

static void functions_of_unary(void)
{
    puts("\n| number | function | of x | expression |\n|---|---|---|---|");
#define ENG_UNARY(id, number, name, flags, expression, doc)                                                            \
    puts("| " #number " | " #name " | " doc " | `" #expression "` |");
#include "engine/ops.def"
    puts("");
}

static void functions_of_glu(void)
{
    puts("\n| number | function | of x and y | expression (p = alpha, q = limit) |\n|---|---|---|---|");
#define ENG_GLU(id, number, name, expression, doc) puts("| " #number " | " #name " | " doc " | `" #expression "` |");
#include "engine/ops.def"
    puts("");
}

int main(void)
{
    puts("# Ops and types\n\nGenerated from `include/engine/ops.def` and `types.def` by `make update-docs`; do not edit.\n\n"
         "Shapes are written innermost dimension first.  `(outer inner)` is a product, `~x` is x or 1, `?` marks an operand that\n"
         "may be absent, `!` one that is written in place, `...` all further dimensions, `_` an extent of its own.  How to read the\n"
         "sharding classes: `docs/tensor-parallel.md`.  Types: of the operands, `->`, of the results; `floats` are f32, f16 and bf16,\n"
         "`cache` what attention reads, `encoded` floats and block types, `any` these, i32 and i64; `=x` is x's type or the parameter's,\n"
         "`~x` x's if it is an integer type, else f32.  `*`: any strides, `.`: contiguous, else rows are contiguous; `^`: the result may\n"
         "lie where the operand was.\n");
    type_rows();
    puts("\n## Ops");
    for (uint32_t op = 1; op < ENG_OP_LIMIT; op++) {
        const eng_op_info *info = eng_op_get(op);
        if (info == NULL)
            continue;
        printf("\n### %s (%" PRIu32 ")\n\n    %s\n\n%s\n", info->name, op, info->rule, info->doc);
        operand_types(info);
        if (info->params[0] != 0)
            printf("\nParameters: `%s`.\n", info->params);
        if (info->expression != NULL)
            printf("\nElement by element, `%s`.\n", info->expression);
        if (op == ENG_OP_UNARY)
            functions_of_unary();
        if (op == ENG_OP_GLU)
            functions_of_glu();
        puts("");
        classes(info);
        linear(info);
        if (info->flags & ENG_OPF_VIEW)
            puts("A view: shares the operand's memory.");
        if (info->flags & ENG_OPF_DISCRETE)
            puts("Discontinuous: ranks of unlike devices take one rank's answer.");
    }
    return 0;
}
