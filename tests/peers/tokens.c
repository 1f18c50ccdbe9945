/*
 * Tokens of texts, for tokens.py: FILE.gguf; for each line of hexadecimal bytes of its input a line of ids, "=" if they
 * are that text again, or "!" and the text that they are, in hexadecimal.  --special: control tokens are recognised.
 * --time TEXT: seconds that the text of a file takes.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libengine-lm/tokenizer/tokenizer.h"
#include "libengine/util/util.h"

static char line[1 << 22];
static char text[sizeof line / 2];

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static int fail(void)
{
    fprintf(stderr, "tokens: %s\n", eng_last_error());
    return EXIT_FAILURE;
}

static int answer(const eng_tokenizer *t, size_t n, uint32_t flags)
{
    int32_t *ids;
    size_t count, length;
    char *back;
    if (eng_tokenizer_encode(t, text, n, flags, &ids, &count))
        return fail();
    for (size_t i = 0; i < count; i++)
        printf("%d ", ids[i]);
    if (eng_tokenizer_decode(t, ids, count, ENG_DETOKENIZE_SPECIAL, &back, &length))
        return fail();
    const bool same = length == n && memcmp(back, text, n) == 0;
    fputs(same ? "=" : "!", stdout);
    for (size_t i = 0; i < length && !same; i++)
        printf("%02x", (uint8_t)back[i]);
    putchar('\n');
    free(back);
    free(ids);
    return EXIT_SUCCESS;
}

static int measure(const eng_tokenizer *t, const char *path)
{
    int32_t *ids;
    size_t n, count;
    FILE *f = fopen(path, "rb");
    if (!f)
        return EXIT_FAILURE;
    n = fread(text, 1, sizeof text, f);
    fclose(f);
    const uint64_t begin = eu_now();
    if (eng_tokenizer_encode(t, text, n, 0, &ids, &count))
        return fail();
    printf("%.3f s, %zu bytes, %zu tokens\n", (double)(eu_now() - begin) / 1e9, n, count);
    free(ids);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    eng_gguf *g;
    eng_tokenizer *t;
    uint32_t flags = 0;
    int status = EXIT_SUCCESS;
    if (argc < 2 || eng_gguf_open(argv[1], &g) || eng_tokenizer_create(g, &t))
        return fail();
    if (argc > 3 && strcmp(argv[2], "--time") == 0)
        return measure(t, argv[3]);
    if (argc > 2 && strcmp(argv[2], "--special") == 0)
        flags = ENG_TOKENIZE_PARSE_SPECIAL;
    while (status == EXIT_SUCCESS && fgets(line, sizeof line, stdin)) {
        size_t n = 0;
        for (; line[2 * n] && line[2 * n] != '\n'; n++)
            text[n] = (char)(digit(line[2 * n]) << 4 | digit(line[2 * n + 1]));
        status = answer(t, n, flags);
    }
    eng_tokenizer_destroy(t);
    eng_gguf_close(g);
    return status;
}
