/* Numbers read from text, whatever the host's locale is: strtod gets digits and an exponent, and no point. */
#include "config.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

#define MOST_DIGITS 400

static void trim(const char **at, size_t *n)
{
    for (size_t k; (k = tpl_space_at(*at, *n)) > 0;) {
        *at += k;
        *n -= k;
    }
    for (size_t k; (k = tpl_space_before(*at, *n)) > 0;)
        *n -= k;
}

static bool is_digit(const char *at, size_t n, size_t i)
{
    return i < n && at[i] >= '0' && at[i] <= '9';
}

/* Digits with single _ between them go to `text`; where they end. */
static size_t take_digits(const char *at, size_t n, size_t i, char *text, size_t *used)
{
    while (is_digit(at, n, i) || (i < n && i && at[i] == '_' && is_digit(at, n, i - 1) && is_digit(at, n, i + 1))) {
        if (at[i] != '_' && *used < MOST_DIGITS)
            text[(*used)++] = at[i];
        i++;
    }
    return i;
}

static bool read_word(const char *at, size_t n, bool negative, double *value)
{
    static const char *const words[] = {"inf", "infinity", "nan"};
    char small[16];
    for (size_t i = 0; i < n && n < sizeof small; i++)
        small[i] = (char)(at[i] >= 'A' && at[i] <= 'Z' ? at[i] + 32 : at[i]);
    for (int k = 0; k < 3 && n < sizeof small; k++)
        if (tpl_same(small, n, words[k])) {
            *value = k == 2 ? NAN : negative ? -INFINITY : INFINITY;
            return true;
        }
    return false;
}

static bool read_exponent(const char *at, size_t n, size_t *i, long *exponent)
{
    char digits[MOST_DIGITS + 1];
    size_t used = 0, from = *i + 1;
    bool minus = from < n && at[from] == '-';
    from += from < n && (at[from] == '-' || at[from] == '+');
    *i = take_digits(at, n, from, digits, &used);
    digits[used] = 0;
    long value = used > 6 ? 999999 : atol(digits);
    *exponent += minus ? -value : value;
    return used > 0;
}

bool tpl_read_float(const char *at, size_t n, double *value)
{
    char text[MOST_DIGITS + 40];
    size_t used = 0, i = 0, whole;
    long exponent = 0;
    trim(&at, &n);
    const bool negative = n && at[0] == '-';
    i += n && (at[0] == '-' || at[0] == '+');
    if (read_word(at + i, n - i, negative, value))
        return true;
    if (negative)
        text[used++] = '-';
    const size_t sign = used;
    i = take_digits(at, n, i, text, &used);
    whole = used;
    if (i < n && at[i] == '.') {
        if (i + 1 < n && at[i + 1] == '_')
            return false;
        i = take_digits(at, n, i + 1, text, &used);
        exponent = -(long)(used - whole);
    }
    if (used == sign)
        return false;
    if (i < n && (at[i] == 'e' || at[i] == 'E') && !read_exponent(at, n, &i, &exponent))
        return false;
    snprintf(text + used, sizeof text - used, "e%ld", exponent);
    *value = strtod(text, NULL);
    return i == n && used < MOST_DIGITS;
}

bool tpl_read_int(const char *at, size_t n, int64_t *value)
{
    char text[MOST_DIGITS + 1];
    size_t used = 0, i;
    trim(&at, &n);
    const bool negative = n && at[0] == '-';
    i = n && (at[0] == '-' || at[0] == '+');
    if (take_digits(at, n, i, text, &used) != n || used == 0)
        return false;
    *value = 0;
    for (size_t k = 0; k < used; k++)
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_sub_overflow(*value, text[k] - '0', value))
            return false;
    return negative || !__builtin_sub_overflow(0, *value, value);
}
