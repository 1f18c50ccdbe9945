/* The tokenizer's tables: spellings, merges, the byte alphabet. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "inner.h"

static int no_memory(void)
{
    return eng_fail(ENG_ERR_NOMEM, "out of memory for the tokenizer");
}

/* -- strings ------------------------------------------------------------------ */

int eng_strings_add(string_table *table, const char *text, size_t length)
{
    if (table->n + 2 > table->n_capacity) {
        uint32_t capacity = table->n_capacity + table->n_capacity / 2 + 1024;
        size_t *start = table->n_capacity > UINT32_MAX / 2 ? NULL : realloc(table->start, capacity * sizeof *start);
        if (!start)
            return no_memory();
        table->start = start;
        table->n_capacity = capacity;
    }
    if (length > SIZE_MAX / 4 - table->used)
        return no_memory();
    if (table->used + length + 1 > table->capacity) {
        size_t capacity = (table->used + length + 1) * 3 / 2 + 4096;
        char *text_room = realloc(table->text, capacity);
        if (!text_room)
            return no_memory();
        table->text = text_room;
        table->capacity = capacity;
    }
    memcpy(table->text + table->used, text, length);
    table->text[table->used + length] = 0;
    table->start[table->n] = table->used;
    table->used += length + 1;
    table->start[++table->n] = table->used;
    return ENG_OK;
}

void eng_strings_free(string_table *table)
{
    free(table->text);
    free(table->start);
}

/* -- symbols -------------------------------------------------------------------- */

static uint64_t hash_bytes(const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static uint64_t power_of_two(uint64_t least)
{
    uint64_t size = 16;

    while (size < least)
        size *= 2;
    return size;
}

int eng_tokenizer_reserve(eng_tokenizer *t, uint64_t n, uint64_t n_merges)
{
    /* A merge can bring three spellings that are no tokens; 256 bytes. */
    uint64_t slots = power_of_two((n + 3 * n_merges + 256) * 2), merges = power_of_two(n_merges * 2);

    t->slots = calloc(slots, sizeof *t->slots);
    t->merges = calloc(merges, sizeof *t->merges);
    if (!t->slots || !t->merges)
        return no_memory();
    for (uint64_t i = 0; i < merges; i++)
        t->merges[i].left = NO_SYMBOL;
    t->slot_mask = slots - 1;
    t->merge_mask = merges - 1;
    return ENG_OK;
}

static uint32_t *symbol_slot(const eng_tokenizer *t, const char *text, size_t length)
{
    for (uint64_t i = hash_bytes(text, length);; i++) {
        uint32_t *slot = &t->slots[i & t->slot_mask];
        if (*slot == 0 || (string_length(&t->symbols, *slot - 1) == length &&
                           memcmp(string_text(&t->symbols, *slot - 1), text, length) == 0))
            return slot;
    }
}

uint32_t eng_tokenizer_symbol(const eng_tokenizer *t, const char *text, size_t length)
{
    uint32_t found = *symbol_slot(t, text, length);

    return found ? found - 1 : NO_SYMBOL;
}

int eng_tokenizer_intern(eng_tokenizer *t, const char *text, size_t length, uint32_t *symbol)
{
    uint32_t *slot = symbol_slot(t, text, length);

    if (*slot == 0) {
        int status = eng_strings_add(&t->symbols, text, length);
        if (status)
            return status;
        *slot = t->symbols.n;
    }
    *symbol = *slot - 1;
    return ENG_OK;
}

/* -- merges ----------------------------------------------------------------------- */

static merge *merge_slot(const eng_tokenizer *t, uint32_t left, uint32_t right)
{
    uint64_t hash = ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15u;

    for (uint64_t i = hash >> 20;; i++) {
        merge *slot = &t->merges[i & t->merge_mask];
        if (slot->left == NO_SYMBOL || (slot->left == left && slot->right == right))
            return slot;
    }
}

int eng_tokenizer_add_merge(eng_tokenizer *t, uint32_t left, uint32_t right, uint32_t rank)
{
    merge *slot = merge_slot(t, left, right);

    if (slot->left != NO_SYMBOL)
        return ENG_OK; /* the first of equal ones counts */
    size_t a = string_length(&t->symbols, left), b = string_length(&t->symbols, right);
    char small[256], *joined = a + b <= sizeof small ? small : malloc(a + b);
    if (!joined)
        return no_memory();
    memcpy(joined, string_text(&t->symbols, left), a);
    memcpy(joined + a, string_text(&t->symbols, right), b);
    uint32_t result;
    int status = eng_tokenizer_intern(t, joined, a + b, &result);
    if (joined != small)
        free(joined);
    if (!status)
        *slot = (merge){left, right, rank, result};
    return status;
}

const merge *eng_tokenizer_merge(const eng_tokenizer *t, uint32_t left, uint32_t right)
{
    const merge *slot = merge_slot(t, left, right);

    return slot->left == NO_SYMBOL ? NULL : slot;
}

/* -- the byte alphabet ------------------------------------------------------------ */

static bool stands_for_itself(uint32_t byte)
{
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

/* The 68 bytes that have no visible character of their own are 0x100, 0x101, ... in order. */
uint32_t eng_byte_character(uint8_t byte)
{
    if (stands_for_itself(byte))
        return byte;
    if (byte <= 0x20)
        return 0x100u + byte;
    return byte == 0xad ? 0x100u + 67 : 0x100u + 33 + (byte - 0x7fu);
}

int eng_character_byte(uint32_t c)
{
    if (c < 0x100)
        return stands_for_itself(c) ? (int)c : -1;
    if (c <= 0x120)
        return (int)(c - 0x100);
    if (c < 0x100 + 67)
        return (int)(c - 0x100 - 33 + 0x7f);
    return c == 0x100 + 67 ? 0xad : -1;
}
