#ifndef HEAP_SAMPLER_SERVICE_HTTP_PAGES_H
#define HEAP_SAMPLER_SERVICE_HTTP_PAGES_H
/* The pages of HTTP that are no profiles. The service's thread; no GVL. */
#include <stdbool.h>
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/service/family.h"

/* A page that loads nothing. */
#define HS_HTML_FIELDS "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n"

/* What there is to ask for, and whom; `others` may be NULL. */
void rb_hs_http_index(const struct hs_others *others, struct hs_buffer *out);
/* `own`: of this process, too. `open`: as OpenMetrics. */
void rb_hs_http_metrics(const struct hs_others *others, bool own, bool open, struct hs_buffer *out);
/* The command line of this process, a NUL between arguments. */
void rb_hs_http_command(struct hs_buffer *out);

#endif
