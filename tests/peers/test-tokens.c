/* Small vocabularies of each kind give the tokens that `tokenizers`, `sentencepiece` and `tiktoken` give (tokens.py
 * --write). */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../libengine-lm/tokenizer/tokenizer.h"
#include "../tap.h"

static char line[1 << 16], text[sizeof line / 2];

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* A line: a text in hexadecimal, and its ids. */
static bool as_recorded(const eng_tokenizer *t)
{
    int32_t *ids;
    size_t n = 0, count, i = 0;
    char *at = line;
    for (; *at != ' ' && at[1]; at += 2)
        text[n++] = (char)(digit(at[0]) << 4 | digit(at[1]));
    if (eng_tokenizer_encode(t, text, n, ENG_TOKENIZE_PARSE_SPECIAL, &ids, &count))
        return false;
    bool same = true;
    for (char *end; same; at = end, i++) {
        const long id = strtol(at, &end, 10);
        if (end == at)
            break;
        same = i < count && ids[i] == id;
    }
    free(ids);
    return same && i == count;
}

static void check(const char *name)
{
    char path[1024];
    const char *top = getenv("top_srcdir");
    eng_gguf *g = NULL;
    eng_tokenizer *t = NULL;
    int texts = 0, wrong = 0;
    snprintf(path, sizeof path, "%s/tests/data/tokenizers/%s.gguf", top ? top : ".", name);
    const bool opened = eng_gguf_open(path, &g) == ENG_OK && eng_tokenizer_create(g, &t) == ENG_OK;
    snprintf(path, sizeof path, "%s/tests/data/tokenizers/%s.txt", top ? top : ".", name);
    FILE *f = fopen(path, "r");
    while (opened && f && fgets(line, sizeof line, f)) {
        texts++;
        wrong += !as_recorded(t);
    }
    if (f)
        fclose(f);
    tap_check(texts >= 64 && wrong == 0, "%s: %d texts, %d of them give other tokens than recorded", name, texts,
              wrong);
    eng_tokenizer_destroy(t);
    eng_gguf_close(g);
}

int main(void)
{
    static const char *const names[] = {"llama-bpe", "gemma4",   "llama", "gemma", "kimi-k2",
                                        "t5-rules",  "t5-bytes", "bert",  "rwkv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check(names[i]);
    return tap_end(NULL);
}
