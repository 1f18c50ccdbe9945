/* A GGUF file of a test's making, opened. */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "gguf_file.h"

crafted file;

int open_file(eng_gguf **gguf)
{
    crafted_save(&file, PATH);
    int status = eng_gguf_open(PATH, gguf);
    unlink(PATH); /* stays mapped */
    return status;
}

void refused(int status, const char *text)
{
    eng_gguf *gguf = NULL;
    int got = open_file(&gguf);

    ck_assert_int_eq(got, status);
    ck_assert_ptr_null(gguf);
    ck_assert_msg(strstr(eng_last_error(), text), "\"%s\" does not say \"%s\"", eng_last_error(), text);
    ck_assert_msg(strstr(eng_last_error(), PATH), "\"%s\" does not name the file", eng_last_error());
}

void accepted(void)
{
    eng_gguf *gguf = NULL;

    ck_assert_msg(open_file(&gguf) == ENG_OK, "%s", eng_last_error());
    eng_gguf_close(gguf);
}
