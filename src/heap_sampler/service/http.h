#ifndef HEAP_SAMPLER_SERVICE_HTTP_H
#define HEAP_SAMPLER_SERVICE_HTTP_H
/*
 * A request of HTTP/1.0 or 1.1: its head. Whatever body a POST has is not read.
 *
 *     GET /debug/pprof/heap?gc=1 HTTP/1.1     method, path, parameters
 *     Host: localhost:6060                    fields; a line ends with CRLF, or with LF
 *                                             the empty line ends the head
 *
 * What comes is trusted in nothing.  Where two readers of HTTP could take it for
 * different things, it is refused.  No MRI header; tested alone. [any]
 */
#include <stdbool.h>
#include <stddef.h>
#include "heap_sampler/profile/buffer.h"

enum { HS_HTTP_HEAD_MAX = 8192,
       HS_HTTP_FIELDS_MAX = 64,
       HS_HTTP_PARAMETERS_MAX = 16 };

struct hs_http_parameter {
    const char *name, *value;   /* in `text`, decoded */
};

struct hs_http_request {
    bool head;                  /* HEAD: all but the body is answered */
    bool post;
    bool newer;                 /* HTTP/1.1 */
    const char *path;           /* decoded */
    struct hs_http_parameter parameters[HS_HTTP_PARAMETERS_MAX];
    size_t parameter_count;
    const char *host, *authorization, *accept, *fetch_site;     /* "": not sent */
    char text[HS_HTTP_HEAD_MAX + 1];
};

/* The bytes of the head, its empty line too; 0: it is not whole yet. */
size_t rb_hs_http_head_length(const char *text, size_t len);
/* Reads a whole head, or one that was cut at HS_HTTP_HEAD_MAX. 0, or the status to refuse it with, and why. */
int rb_hs_http_parse(const char *text, size_t len, struct hs_http_request *request, const char **wrong);
/* The value of the first parameter of this name, or NULL. */
const char *rb_hs_http_parameter(const struct hs_http_request *request, const char *name);

/* The head of an answer, whose body has `len` bytes. `fields`: more lines, each with its CRLF. */
void rb_hs_http_put_head(struct hs_buffer *out, int status, const char *type, const char *fields, size_t len);

#endif
