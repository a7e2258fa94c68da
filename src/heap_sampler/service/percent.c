/* See service/percent.h. */
#include "heap_sampler/service/percent.h"

static int
digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool
rb_hs_percent_decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from != '%') {
            *to++ = *from;
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
