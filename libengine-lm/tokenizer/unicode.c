/* Classes of characters, UTF-8. */
#include "config.h"

#include "unicode.h"
#include "unicode_table.h"

uint32_t eng_unicode_class(uint32_t c)
{
    if (c < 0x80) /* most text, at once */
        return (c | 0x20) - 'a' < 26 ? ENG_CHAR_LETTER : c - '0' < 10 ? ENG_CHAR_NUMBER : ENG_CHAR_OTHER;
    /* The last entry whose first character is not behind c. */
    size_t low = 0, high = sizeof class_ranges / sizeof *class_ranges;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (class_ranges[middle] >> 2 <= c)
            low = middle;
        else
            high = middle;
    }
    return c <= 0x10ffff ? class_ranges[low] & 3 : ENG_CHAR_OTHER;
}

bool eng_unicode_space(uint32_t c)
{
    if (c < 0x80)
        return c == ' ' || (c >= 9 && c <= 13);
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

size_t eng_utf8_length(char lead)
{
    unsigned char b = (unsigned char)lead;

    return b < 0xc0 ? 1 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : b < 0xf8 ? 4 : 1;
}

size_t eng_utf8_decode(const char *text, size_t length, uint32_t *c)
{
    unsigned char lead = (unsigned char)text[0];
    size_t n = eng_utf8_length(text[0]);

    if (lead < 0x80) {
        *c = lead;
        return 1;
    }
    if (n == 1 || n > length) {
        *c = ENG_UNICODE_REPLACEMENT;
        return 1;
    }
    uint32_t value = lead & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) {
            *c = ENG_UNICODE_REPLACEMENT;
            return 1;
        }
        value = value << 6 | ((unsigned char)text[i] & 0x3f);
    }
    if (value > 0x10ffff) {
        *c = ENG_UNICODE_REPLACEMENT;
        return 1;
    }
    *c = value;
    return n;
}

size_t eng_utf8_encode(uint32_t c, char *text)
{
    if (c < 0x80) {
        text[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        text[0] = (char)(0xc0 | c >> 6);
        text[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        text[0] = (char)(0xe0 | c >> 12);
        text[1] = (char)(0x80 | (c >> 6 & 0x3f));
        text[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    text[0] = (char)(0xf0 | c >> 18);
    text[1] = (char)(0x80 | (c >> 12 & 0x3f));
    text[2] = (char)(0x80 | (c >> 6 & 0x3f));
    text[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

size_t eng_utf8_incomplete(const char *text, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        char b = text[length - back];
        if (((unsigned char)b & 0xc0) == 0x80)
            continue;
        return eng_utf8_length(b) > back ? back : 0;
    }
    return 0;
}
