/* What the tokenizers need of Unicode. */
#ifndef ENGINE_LM_UNICODE_H
#define ENGINE_LM_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* General categories (Unicode 15.1), as few as pre-tokenizers tell apart. */
enum { ENG_CHAR_OTHER = 0, ENG_CHAR_LETTER = 1, ENG_CHAR_NUMBER = 2, ENG_CHAR_MARK = 3 };
uint32_t eng_unicode_class(uint32_t c);
/* The categories themselves; marks are one. */
enum {
    ENG_CATEGORY_OTHER, ENG_CATEGORY_LU, ENG_CATEGORY_LL, ENG_CATEGORY_LT, ENG_CATEGORY_LM, ENG_CATEGORY_LO,
    ENG_CATEGORY_M, ENG_CATEGORY_ND, ENG_CATEGORY_NO, ENG_CATEGORY_P, ENG_CATEGORY_PC, ENG_CATEGORY_S, ENG_CATEGORY_NL
};
#define ENG_CATEGORY_LETTERS 0x3eu /* bits of these */
#define ENG_CATEGORY_NUMBERS 0x1180u
#define ENG_CATEGORY_PUNCTUATION 0x600u
uint32_t eng_unicode_category(uint32_t c);
/* The script of Chinese: first and last characters. */
extern const uint32_t eng_unicode_han[][2];
extern const size_t eng_unicode_n_han;
/* What \s matches. */
bool eng_unicode_space(uint32_t c);
/* Is it a control character, a format, or for private use? */
bool eng_unicode_control(uint32_t c);
/* A character without accents and case; how many characters are left of it, 0 of an accent. */
enum { ENG_UNICODE_PARTS = 3 };
size_t eng_unicode_plain(uint32_t c, uint32_t parts[ENG_UNICODE_PARTS]);

#define ENG_UNICODE_REPLACEMENT 0xfffdu
/*
 * The character at text[0 .. length), length > 0; returns the bytes it takes.
 * Overlong forms and surrogates are taken as they come; a byte that begins no
 * character is U+FFFD, alone.
 */
size_t eng_utf8_decode(const char *text, size_t length, uint32_t *c);
/* Writes at most 4 bytes, returns their number. */
size_t eng_utf8_encode(uint32_t c, char *text);
/* Bytes that a lead byte announces; 1 for one that is none. */
size_t eng_utf8_length(char lead);
/* Bytes at the end of the text that begin a character and do not end it: 0 to 3. */
size_t eng_utf8_incomplete(const char *text, size_t length);

#endif
