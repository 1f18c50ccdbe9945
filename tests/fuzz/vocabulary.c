/* Vocabularies from such files: made tokenizers, which cut texts and put them together again. */
#include "config.h"

#include <string.h>

#include "libengine-lm/tokenizer/tokenizer.h"

#include "fuzz.h"

const char *const fuzz_seeds[] = {NULL};

static const char *const texts[] = {
    "", " ", "A king,  12 kings.\n\n\t3.14", "<tool><b>x [MASK]<s></s>\xe2\x96\x81\xe2\x96\x81",
    "\xe4\xb8\xad\xe6\x96\x87 \xd0\x9c\xd0\xb8\xd1\x80 e\xcc\x81\xc3\x89 \xed\x95\x9c\xf0\x9f\x98\x80 \xef\xbc\xa1\xef\xac\x81", "\xff\xc3\x80\xe4\xb8",
};

static void use(const eng_tokenizer *t, const char *text, uint32_t flags)
{
    int32_t *ids = NULL;
    size_t n = 0, length;
    char *back = NULL;
    const int status = eng_tokenizer_encode(t, text, strlen(text), flags, &ids, &n);
    MUST(status == ENG_OK || eng_last_error()[0], "status %d without a word", status);
    if (status != ENG_OK)
        return;
    for (size_t i = 0; i < n; i++)
        MUST(ids[i] >= 0 && (uint32_t)ids[i] < eng_tokenizer_count(t), "token %d of %u", ids[i],
             eng_tokenizer_count(t));
    MUST(eng_tokenizer_decode(t, ids, n, ENG_DETOKENIZE_SPECIAL, &back, &length) == ENG_OK, "%s", eng_last_error());
    free(back);
    free(ids);
}

const void *fuzz_sample(size_t *n)
{
    *n = 0;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    eng_gguf *g = NULL;
    eng_tokenizer *t = NULL;
    if (eng_gguf_open(fuzz_file(data, n), &g) != ENG_OK)
        return 0;
    const int status = eng_tokenizer_create(g, &t);
    MUST(status == ENG_OK ? t != NULL : t == NULL && eng_last_error()[0], "status %d, a tokenizer %p, '%s'", status,
         (void *)t, eng_last_error());
    eng_gguf_close(g);
    for (size_t i = 0; t && i < 2 * sizeof texts / sizeof *texts; i++)
        use(t, texts[i / 2], i % 2 ? ENG_TOKENIZE_ADD_SPECIAL | ENG_TOKENIZE_PARSE_SPECIAL : 0);
    eng_tokenizer_destroy(t);
    return 0;
}
