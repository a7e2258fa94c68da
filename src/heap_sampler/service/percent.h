#ifndef HEAP_SAMPLER_SERVICE_PERCENT_H
#define HEAP_SAMPLER_SERVICE_PERCENT_H
/* "%20" is a blank, as in a URL. No MRI header. [any] */
#include <stdbool.h>
#include <stddef.h>

/* In place; false: a percent sign that begins nothing, or a NUL. `plus`: a plus sign is a blank, too. */
bool rb_hs_percent_decode(char *text, bool plus);
/* The other way: letters, digits and -._:/[] stay. false: `size` is too small. */
bool rb_hs_percent_encode(const char *text, char *to, size_t size);

#endif
