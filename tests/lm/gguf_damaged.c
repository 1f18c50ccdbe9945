/* GGUF files that are damaged. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gguf_file.h"

static uint64_t state;

static uint32_t next_random(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

/* Touches all that can be reached; a fault ends the test. */
static uint64_t touch(const eng_gguf *g)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < eng_gguf_key_count(g); i++) {
        const eng_gguf_key *key = eng_gguf_key_get(g, i);
        char name[256];
        eng_gguf_string text;
        int64_t whole;
        double number;
        snprintf(name, sizeof name, "%.*s", key->name.length < 255 ? (int)key->name.length : 255, key->name.data);
        for (uint64_t k = 0; k < key->count && k < 100; k++) {
            if (eng_gguf_text(g, name, k, &text) == ENG_OK)
                for (uint64_t b = 0; b < text.length; b++)
                    sum += (uint8_t)text.data[b];
            sum += (uint64_t)eng_gguf_integer(g, name, k, &whole) + (uint64_t)eng_gguf_number(g, name, k, &number);
        }
    }
    for (uint32_t i = 0; i < eng_gguf_tensor_count(g); i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(g, i);
        for (uint64_t b = 0; b < t->bytes; b++)
            sum += ((const uint8_t *)t->data)[b];
        ck_assert_ptr_eq(eng_gguf_tensor_find(g, t->name), t);
    }
    return sum;
}

/* Bytes changed, cut off or put in: mostly in the header, where structure is. */
static void damage(crafted *c)
{
    size_t header = 900 < c->n ? 900 : c->n;

    for (uint32_t n = 1 + next_random() % 4; n > 0; n--) {
        size_t at = next_random() % (next_random() % 8 ? header : c->n);
        switch (next_random() % 5) {
        case 0: c->data[at] = (uint8_t)next_random(); break;
        case 1: c->data[at] ^= (uint8_t)(1u << next_random() % 8); break;
        case 2: c->data[at] = next_random() % 2 ? 0xff : 0; break;
        case 3:
            if (at + 8 <= c->n)
                memset(c->data + at, next_random() % 2 ? 0xff : 0x7f, 8);
            break;
        default:
            if (next_random() % 8 == 0)
                c->n = at > 0 ? at : 1;
        }
        header = header < c->n ? header : c->n;
    }
}

START_TEST(fuzz)
{
    static crafted whole_file;
    const char *seed = getenv("ENGINE_TEST_SEED");
    uint32_t opened = 0, rounds = 8000;

    state = seed ? strtoull(seed, NULL, 10) : 1;
    crafted_sample(&whole_file);
    for (uint32_t i = 0; i < rounds; i++) {
        eng_gguf *g = NULL;
        file = whole_file;
        damage(&file);
        crafted_save(&file, PATH);
        int status = eng_gguf_open(PATH, &g);
        if (status == ENG_OK) {
            opened++;
            touch(g);
            eng_gguf_close(g);
        } else {
            ck_assert_ptr_null(g);
            ck_assert_msg(eng_last_error()[0], "round %u: no text", i);
        }
    }
    unlink(PATH);
    /* Both kinds must have been there, or the test shows nothing. */
    ck_assert_uint_gt(opened, rounds / 100);
    ck_assert_uint_lt(opened, rounds);
}
END_TEST

START_TEST(truncations)
{
    static crafted whole_file;

    crafted_sample(&whole_file);
    for (size_t n = 0; n < whole_file.n; n++) {
        eng_gguf *g = NULL;
        file = whole_file;
        file.n = n;
        ck_assert_int_ne(open_file(&g), ENG_OK);
    }
}
END_TEST

void gguf_damaged(TCase *all)
{
    tcase_add_test(all, truncations);
    tcase_add_test(all, fuzz);
}
