/*
 * logits MODEL DEVICE TOKEN...
 *
 * Runs the tokens and prints the logits of the last, one a line: what another program's are compared with.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "../lm/subject.h"

#define MOST 4096

int main(int argc, char **argv)
{
    static int32_t ids[MOST];
    eng_context *engine;
    subject s;
    eng_lm_context_params p;
    if (argc < 4 || argc - 3 > MOST) {
        fprintf(stderr, "usage: logits MODEL DEVICE TOKEN...\n");
        return 64;
    }
    for (int i = 3; i < argc; i++)
        ids[i - 3] = atoi(argv[i]);
    eng_lm_context_defaults(&p);
    p.type_k = p.type_v = ENG_TYPE_F32;
    int status = eng_context_create(NULL, &engine);
    if (!status)
        status = subject_open(&s, engine, argv[2], argv[1], NULL, &p);
    const float *row = status ? NULL : subject_run(&s, ids, (uint32_t)(argc - 3));
    for (uint32_t i = 0; row && i < s.n_vocab; i++)
        printf("%.9g\n", (double)row[i]);
    if (!row)
        fprintf(stderr, "%s: %s\n", argv[1], eng_last_error());
    if (!status)
        subject_close(&s);
    eng_context_destroy(engine);
    return row ? 0 : 1;
}
