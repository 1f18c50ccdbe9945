/* Texts from anywhere, cut into tokens and put together again, at once and as they come.  ENG_FUZZ_MODEL: the
 * vocabulary. */
#include "config.h"

#include <string.h>

#include "engine/lm.h"
#include "libengine/util/util.h"

#include "fuzz.h"

const char *const fuzz_seeds[] =
    {"The king said: \"I'll go at 12:30, don't you?\"\n\n  x = f(a, b);\t// 3.14", "<|im_start|>user\n<s></s>",
     "\xe4\xbd\xa0\xe5\xa5\xbd \xd0\x9c\xd0\xb8\xd1\x80 e\xcc\x81 \xf0\x9f\x98\x80\xe2\x80\x8d\xf0\x9f\x98\x80",
     "   \r\n\v\xc2\xa0\xe3\x80\x80 '''''''ss 999999999", NULL};

static eng_lm_model *model;

static void begin(void)
{
    eng_context *engine;
    eng_device *device;
    const char *path = getenv("ENG_FUZZ_MODEL");
    setenv("ENGINE_PLUGINS", "null", 1);
    if (eng_context_create(NULL, &engine) || eng_context_set_option(engine, "null.accept", "measure") ||
        eng_device_open(engine, "null", &device) || eng_lm_model_open(engine, device, path ? path : "", NULL, &model)) {
        printf("Bail out! ENG_FUZZ_MODEL: %s\n", eng_last_error());
        exit(99);
    }
}

/* The same text, token by token. */
static void check_stream(const int32_t *ids, size_t n, const char *text, size_t length)
{
    eng_lm_stream *stream = NULL;
    size_t at = 0;
    MUST(eng_lm_stream_create(model, 1, &stream) == ENG_OK, "no stream: %s", eng_last_error());
    for (size_t i = 0; i <= n; i++) {
        const char *piece;
        size_t bytes;
        MUST(eng_lm_stream_next(stream, i < n ? ids[i] : -1, &piece, &bytes) == ENG_OK, "token %zu: %s", i,
             eng_last_error());
        MUST(bytes <= length - at && memcmp(text + at, piece, bytes) == 0,
             "the stream differs from the text at byte %zu", at);
        at += bytes;
    }
    MUST(at == length, "the stream has %zu of %zu bytes", at, length);
    eng_lm_stream_destroy(stream);
}

/* Other bytes become U+FFFD. */
static bool is_text(const uint8_t *data, size_t n)
{
    size_t length = 1;
    for (size_t i = 0; i < n && length; i += length)
        length = eu_utf8_length((const char *)data + i, n - i);
    return length != 0;
}

const void *fuzz_sample(size_t *n)
{
    *n = 0;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    int32_t *ids = NULL;
    size_t count = 0, length = 0;
    char *text = NULL;
    if (!model)
        begin();
    const uint32_t flags = n ? data[0] & 3 : 0;
    int status = eng_lm_tokenize(model, (const char *)data, n, flags, &ids, &count);
    MUST(status == ENG_OK || eng_last_error()[0], "status %d without a word", status);
    if (status == ENG_OK && eng_lm_text(model, ids, count, 1, &text, &length) == ENG_OK) {
        MUST(flags || !is_text(data, n) || (length == n && memcmp(text, data, n) == 0), "%zu bytes became %zu others",
             n, length);
        check_stream(ids, count, text, length);
        eng_lm_free(text);
    }
    eng_lm_free(ids);
    return 0;
}
