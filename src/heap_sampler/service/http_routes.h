#ifndef HEAP_SAMPLER_SERVICE_HTTP_ROUTES_H
#define HEAP_SAMPLER_SERVICE_HTTP_ROUTES_H
/*
 * What a path of HTTP asks for.  Paths and parameters are those of Go's
 * net/http/pprof; a profile is asked for with a line of the socket's protocol, which
 * this process answers, or another one.
 *
 * No MRI header; tested alone. [any]
 */
#include <stdbool.h>
#include "heap_sampler/service/http.h"

enum hs_http_page { HS_PAGE_INDEX,
                    HS_PAGE_PROFILE,
                    HS_PAGE_MEMORY,
                    HS_PAGE_METRICS,
                    HS_PAGE_COMMAND,
                    HS_PAGE_SYMBOL };   /* go tool pprof asks for names of addresses: whatever has one has it in the profile */

struct hs_http_route {
    enum hs_http_page page;
    long pid;                   /* whom to ask; 0: this process */
    const char *file;           /* what a browser calls it */
    char line[128];             /* of a profile and of memory: the request, without its end */
};

/* 0, or the status of the refusal, and why. */
int rb_hs_http_route(const struct hs_http_request *request, struct hs_http_route *route, const char **wrong);

#endif
