/* See service/http_routes.h. */
#include "heap_sampler/service/http_routes.h"
#include "heap_sampler/service/protocol.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *path;
    enum hs_http_page page;
    const char *type, *file, *delta_file;       /* of a profile */
} paths[] = {
    {"/", HS_PAGE_INDEX, NULL, NULL, NULL},
    {"/debug/pprof", HS_PAGE_INDEX, NULL, NULL, NULL},
    {"/debug/pprof/", HS_PAGE_INDEX, NULL, NULL, NULL},
    {"/debug/pprof/heap", HS_PAGE_PROFILE, "inuse_space", "heap", "heap-delta"},
    {"/debug/pprof/allocs", HS_PAGE_PROFILE, "alloc_space", "allocs", "allocs-delta"},
    {"/debug/pprof/cmdline", HS_PAGE_COMMAND, NULL, NULL, NULL},
    {"/debug/pprof/symbol", HS_PAGE_SYMBOL, NULL, NULL, NULL},
    {"/memory", HS_PAGE_MEMORY, NULL, NULL, NULL},
    {"/metrics", HS_PAGE_METRICS, NULL, NULL, NULL},
};

/* Decimal digits, up to `most`; 0 where it is not given. false: it is something else. */
static bool
number(const struct hs_http_request *request, const char *name, long most, long *value)
{
    const char *text = rb_hs_http_parameter(request, name);
    *value = 0;
    if (!text) return true;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9') return false;
        *value = *value * 10 + (*c - '0');
        if (*value > most) return false;
    }
    return *text != '\0';
}

static int
route_profile(const struct hs_http_request *request, size_t i, struct hs_http_route *route, const char **wrong)
{
    long gc, why, seconds;
    char wait[32] = "";
    *wrong = "wrong parameter; seconds must be 0 to 600, gc and why must be 0 or 1, and seconds excludes why";
    if (!number(request, "gc", 1000, &gc) || !number(request, "why", 1000, &why)) return 400;
    if (!number(request, "seconds", HS_ASK_SECONDS_MAX, &seconds) || (seconds && why)) return 400;
    if (seconds) snprintf(wait, sizeof(wait), " seconds=%ld", seconds);
    route->file = seconds ? paths[i].delta_file : paths[i].file;
    snprintf(route->line, sizeof(route->line), "heap-sample/1 profile type=%s%s%s%s", paths[i].type, gc ? " gc=1" : "", why ? " why=1" : "", wait);
    return 0;
}

int
rb_hs_http_route(const struct hs_http_request *request, struct hs_http_route *route, const char **wrong)
{
    *route = (struct hs_http_route){0};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (strcmp(request->path, paths[i].path) != 0) continue;
        route->page = paths[i].page;
        *wrong = "this method is not supported; use GET or HEAD";
        if (request->post && route->page != HS_PAGE_SYMBOL) return 405;
        *wrong = "pid must be a process id";
        if (!number(request, "pid", 1L << 30, &route->pid)) return 400;
        if (route->page == HS_PAGE_MEMORY) snprintf(route->line, sizeof(route->line), "heap-sample/1 memory");
        return route->page == HS_PAGE_PROFILE ? route_profile(request, i, route, wrong) : 0;
    }
    *wrong = "no such page; there are /debug/pprof/heap, /debug/pprof/allocs, /debug/pprof/cmdline, /memory and /metrics";
    return 404;
}
