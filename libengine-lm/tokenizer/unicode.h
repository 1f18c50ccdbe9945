/* What the tokenizers need of Unicode. */
#ifndef ENGINE_LM_UNICODE_H
#define ENGINE_LM_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* General categories (Unicode 15.1), as few as pre-tokenizers tell apart. */
enum { ENG_CHAR_OTHER = 0, ENG_CHAR_LETTER = 1, ENG_CHAR_NUMBER = 2, ENG_CHAR_MARK = 3 };
uint32_t eng_unicode_class(uint32_t c);
/* What \s matches. */
bool eng_unicode_space(uint32_t c);

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
