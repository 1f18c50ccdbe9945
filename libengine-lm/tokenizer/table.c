/* The tokenizer's tables: spellings, merges, the byte alphabet. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "inner.h"

static int no_memory(void)
{
    return eng_fail_code(EU_NO_MEMORY("the tokenizer"));
}

/* -- strings ------------------------------------------------------------------ */

int eng_strings_add(string_table *table, const char *text, size_t length)
{
    if (length > SIZE_MAX / 4 - table->used || table->n > UINT32_MAX - 2 ||
        !eu_reserve(table->start, table->start_room, (size_t)table->n + 2) ||
        !eu_reserve(table->text, table->room, table->used + length + 1))
        return no_memory();
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

static eu_key symbol_key(const void *tokenizer, uint32_t symbol)
{
    const string_table *symbols = &((const eng_tokenizer *)tokenizer)->symbols;

    return (eu_key){string_text(symbols, symbol), string_length(symbols, symbol)};
}

uint32_t eng_tokenizer_symbol(const eng_tokenizer *t, const char *text, size_t length)
{
    uint32_t found = eu_map_find(&t->symbol_index, t, text, length);

    return found == EU_NONE ? NO_SYMBOL : found;
}

int eng_tokenizer_intern(eng_tokenizer *t, const char *text, size_t length, uint32_t *symbol)
{
    uint32_t found = eng_tokenizer_symbol(t, text, length);

    if (found == NO_SYMBOL) {
        int status = eng_strings_add(&t->symbols, text, length);
        if (status)
            return status;
        if (!eu_map_add(&t->symbol_index, t, t->symbols.n - 1, &found))
            return no_memory();
    }
    *symbol = found;
    return ENG_OK;
}

/* -- merges ----------------------------------------------------------------------- */

static eu_key merge_key(const void *tokenizer, uint32_t entry)
{
    const merge *m = &((const eng_tokenizer *)tokenizer)->merges.at[entry];

    return (eu_key){&m->left, sizeof m->left + sizeof m->right};
}

const merge *eng_tokenizer_merge(const eng_tokenizer *t, uint32_t left, uint32_t right)
{
    const uint32_t pair[2] = {left, right};
    uint32_t found = eu_map_find(&t->merge_index, t, pair, sizeof pair);

    return found == EU_NONE ? NULL : &t->merges.at[found];
}

int eng_tokenizer_add_merge(eng_tokenizer *t, uint32_t left, uint32_t right, uint32_t rank)
{
    if (eng_tokenizer_merge(t, left, right))
        return ENG_OK; /* the first of equal ones counts */
    size_t a = string_length(&t->symbols, left), b = string_length(&t->symbols, right);
    char small[256], *joined = a + b <= sizeof small ? small : malloc(a + b);
    if (!joined)
        return no_memory();
    memcpy(joined, string_text(&t->symbols, left), a);
    memcpy(joined + a, string_text(&t->symbols, right), b);
    uint32_t result, first;
    int status = eng_tokenizer_intern(t, joined, a + b, &result);
    if (joined != small)
        free(joined);
    if (status)
        return status;
    bool added = eu_array_add(&t->merges, (merge){left, right, rank, result}) &&
                 eu_map_add(&t->merge_index, t, (uint32_t)t->merges.n - 1, &first);
    return added ? ENG_OK : no_memory();
}

int eng_tokenizer_reserve(eng_tokenizer *t, uint64_t n, uint64_t n_merges)
{
    t->symbol_index.key_of = symbol_key;
    t->merge_index.key_of = merge_key;
    /* a merge can bring spellings that are no tokens: the tables grow by themselves */
    return n < UINT32_MAX && n_merges < UINT32_MAX && eu_map_reserve(&t->symbol_index, t, n + 256) &&
                   eu_map_reserve(&t->merge_index, t, n_merges) && eu_array_reserve(&t->merges, n_merges)
               ? ENG_OK
               : no_memory();
}

void eng_tokenizer_tables_free(eng_tokenizer *t)
{
    eng_strings_free(&t->symbols);
    eu_map_free(&t->symbol_index);
    eu_map_free(&t->merge_index);
    eu_array_free(&t->merges);
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
