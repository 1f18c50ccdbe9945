/* The longest piece first, over bytes: tokens of RWKV's world. */
#include "config.h"

#include <stdlib.h>

#include "inner.h"

int eng_greedy_prepare(eng_tokenizer *t)
{
    trie_text *texts = malloc(t->n * sizeof *texts);
    size_t n = 0;

    for (uint32_t i = 0; texts && i < t->n; i++)
        if (is_word(t, i) && string_length(&t->pieces, i) > 0)
            texts[n++] = (trie_text){string_text(&t->pieces, i), string_length(&t->pieces, i), i};
    const bool fine = texts && eng_trie_create(&t->words, texts, n);
    free(texts);
    return fine ? ENG_OK : eng_fail_code(EU_NO_MEMORY("the tokenizer"));
}

int eng_greedy_encode(encoder *e, const char *text, size_t length)
{
    int status = ENG_OK;

    for (size_t at = 0, used; at < length && !status; at += used) {
        uint32_t id = eng_trie_longest(&e->t->words, text + at, length - at, &used);
        if (id == TRIE_NONE) {
            id = (uint32_t)e->t->unknown;
            used = 1;
        }
        status = id < e->t->n ?
                     eng_ids_add(e->out, (int32_t)id) :
                     eng_fail(ENG_ERR_INVALID, "no token is for byte 0x%02x of the text, and none for what is unknown",
                              (unsigned)(uint8_t)text[at]);
    }
    return status;
}

/* A spelling is what Python writes for bytes: \n \r \t \xHH, and a backslash before what stands for itself. */
size_t eng_greedy_bytes(const char *text, size_t length, char *out)
{
    static const char names[] = "nrt", bytes[] = "\n\r\t";
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        out[n] = text[i];
        if (text[i] == '\\' && i + 1 < length) {
            const char c = text[++i];
            out[n] = c;
            for (size_t k = 0; k < 3; k++)
                out[n] = c == names[k] ? bytes[k] : out[n];
            if (c == 'x' && i + 2 < length) {
                char *end, digits[3] = {text[i + 1], text[i + 2], 0};
                const long byte = strtol(digits, &end, 16);
                if (end == digits + 2) {
                    out[n] = (char)byte;
                    i += 2;
                }
            }
        }
        n++;
    }
    return n;
}
