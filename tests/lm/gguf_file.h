/* What the files of test-gguf share. */
#ifndef TESTS_LM_GGUF_FILE_H
#define TESTS_LM_GGUF_FILE_H

#include <check.h>

#include "crafted.h"
#include "engine/engine.h"

#define PATH "test-gguf.tmp"

extern crafted file; /* what a test puts together */
/* It, as a file that is gone again. */
int open_file(eng_gguf **gguf);
/* It is refused with that status, and the text says so and names the file. */
void refused(int status, const char *text);
void accepted(void);

/* Tests, added. */
void gguf_good(TCase *all);     /* what is read */
void gguf_writing(TCase *all);
void gguf_refused(TCase *all);  /* what is refused and how it is said */
void gguf_damaged(TCase *all);

#endif
