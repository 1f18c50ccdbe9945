/*
 * A random model that answers from far back.  A few tokens are needles, each with a
 * question: after question j the most likely token is needle j, wherever in the
 * context it stands, and only if it stands there.
 */
#ifndef TESTS_LM_NEEDLES_H
#define TESTS_LM_NEEDLES_H

#include <stdint.h>

#define N_NEEDLES 8
#define FIRST_NEEDLE 320
#define FIRST_QUESTION (FIRST_NEEDLE + N_NEEDLES)
#define FIRST_FILLER 64
#define N_FILLERS 256

/* Writes the model: one recurrent layer, one of attention with `heads` heads over `kv_heads`. */
int needles_model(const char *path, int heads, int kv_heads);
/* n tokens of filler with needles spread from the first to the last; `without`: one that is left out, or -1. */
void needles_prompt(int32_t *ids, uint32_t n, int without);

#endif
