/* See service/percent.h. */
#include "heap_sampler/service/percent.h"

#include <stdio.h>
#include <string.h>

static int
digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool
rb_hs_percent_decode(char *text, bool plus)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from != '%') {
            *to++ = plus && *from == '+' ? ' ' : *from;
            continue;
        }
        int high = digit_of(from[1]), low = high < 0 ? -1 : digit_of(from[2]);
        if (low < 0 || high * 16 + low == 0) return false;
        *to++ = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return true;
}

static bool
plain_p(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || strchr("-._:/[]", c);
}

bool
rb_hs_percent_encode(const char *text, char *to, size_t size)
{
    size_t len = 0;
    for (; *text; text++) {
        if (len + 4 > size) return false;
        if (plain_p(*text)) to[len++] = *text;
        else len += (size_t)snprintf(to + len, size - len, "%%%02X", (unsigned char)*text);
    }
    if (len >= size) return false;
    to[len] = '\0';
    return true;
}
