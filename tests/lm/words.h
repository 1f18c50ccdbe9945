/* What the tests of tokenizers have in common. */
#ifndef TESTS_LM_WORDS_H
#define TESTS_LM_WORDS_H

#include "libengine-lm/tokenizer/tokenizer.h"

/* A file of tests/data; valid until the next call. */
const char *data_path(const char *name);
/* Its content, terminated, for the caller to free. */
char *read_whole(const char *name, size_t *n);
/* \n and the like, in place; returns the length. */
size_t unescape(char *text);
/* The tokens of a text must be these: "1 2 3". */
void expect(const eng_tokenizer *t, const char *text, size_t length, uint32_t flags, const char *expected);
/* Text token by token: only whole characters come out, and all of them. */
void stream(const eng_tokenizer *t, const char *text, size_t n);

#endif
