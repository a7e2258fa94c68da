#ifndef HEAP_SAMPLER_SERVICE_PERCENT_H
#define HEAP_SAMPLER_SERVICE_PERCENT_H
/* "%20" is a blank, as in a URL. No MRI header. [any] */
#include <stdbool.h>

/* In place; false: a percent sign that begins nothing, or a NUL. */
bool rb_hs_percent_decode(char *text);

#endif
