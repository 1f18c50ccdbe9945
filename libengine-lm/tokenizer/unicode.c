/* Classes of characters, UTF-8. */
#include "config.h"

#include "unicode.h"
#include "unicode_table.h"

uint32_t eng_unicode_category(uint32_t c)
{
    if (c < 0x80 && (c | 0x20) - 'a' < 26) /* most text, at once */
        return c & 0x20 ? ENG_CATEGORY_LL : ENG_CATEGORY_LU;
    /* The last entry whose first character is not behind c. */
    size_t low = 0, high = sizeof category_ranges / sizeof *category_ranges;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (category_ranges[middle] >> 4 <= c)
            low = middle;
        else
            high = middle;
    }
    return c <= 0x10ffff ? category_ranges[low] & 15 : ENG_CATEGORY_OTHER;
}

uint32_t eng_unicode_class(uint32_t c)
{
    const uint32_t bit = 1u << eng_unicode_category(c);
    return bit & ENG_CATEGORY_LETTERS    ? ENG_CHAR_LETTER
           : bit & ENG_CATEGORY_NUMBERS  ? ENG_CHAR_NUMBER
           : bit == 1u << ENG_CATEGORY_M ? ENG_CHAR_MARK
                                         : ENG_CHAR_OTHER;
}

const uint32_t eng_unicode_han[][2] = {
    {0x2e80, 0x2e99},   {0x2e9b, 0x2ef3},   {0x2f00, 0x2fd5},   {0x3005, 0x3005},   {0x3007, 0x3007},
    {0x3021, 0x3029},   {0x3038, 0x303b},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfa6d},
    {0xfa70, 0xfad9},   {0x16fe2, 0x16fe3}, {0x16ff0, 0x16ff1}, {0x20000, 0x2a6df}, {0x2a700, 0x2b739},
    {0x2b740, 0x2b81d}, {0x2b820, 0x2cea1}, {0x2ceb0, 0x2ebe0}, {0x2ebf0, 0x2ee5d}, {0x2f800, 0x2fa1d},
    {0x30000, 0x3134a}, {0x31350, 0x323af},
};
const size_t eng_unicode_n_han = sizeof eng_unicode_han / sizeof *eng_unicode_han;

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
