#ifndef HEAP_SAMPLER_SERVICE_PLACE_H
#define HEAP_SAMPLER_SERVICE_PLACE_H
/*
 * A place for one who is answered, from the request to the end of the answer:
 *
 *     reading --> resting --> waiting for Ruby --> pausing --> (waiting) --> writing --> over
 *             (gc=1, why=1)   (gc=1, start, set,   (seconds=)
 *                              stop; a walk)
 *     reading --> asking others --> writing       (HTTP alone)
 *
 * What a request does not need is left out.  Contract: the service's thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/base/memory.h"
#include "heap_sampler/process/safe_point.h"
#include "heap_sampler/service/answers.h"
#include "heap_sampler/service/connection.h"
#include "heap_sampler/service/family.h"
#include "heap_sampler/service/http.h"
#include "heap_sampler/service/http_routes.h"
#include "heap_sampler/service/protocol.h"

struct hs_place {
    struct hs_connection *connection;   /* NULL: the place is free */
    struct hs_ask ask;
    struct hs_answer answer;
    struct hs_safe_call call;   /* the part that a safe point does */
    bool asked;                 /* the call is not settled */
    uint64_t took_ns;           /* the call */
    struct hs_profile *first;   /* of two whose difference is asked for */
    struct hs_http_request request;     /* over HTTP */
    struct hs_http_route route;
    struct hs_others *others;   /* who are asked, too */
};

/* Before any is served. `folder` returns the folder of the other processes' sockets, "": they are not asked; `part` counts the memory of the
 * thread. */
void rb_hs_places_begin(const char *(*folder)(void), struct hs_memory_part *part);
void rb_hs_place_take(struct hs_place *place, struct hs_connection *connection);
/* What has happened, of poll(2). */
void rb_hs_place_serve(struct hs_place *place, short happened, uint64_t now_ns);
void rb_hs_place_leave(struct hs_place *place);
/* The process ends, and the thread does not work any more: a walk for this place is ended. Closes nothing. */
void rb_hs_place_end(struct hs_place *place);

/* For poll(2): what to look for; the descriptor of the others, or -1; and how long to wait at most. */
short rb_hs_place_events(const struct hs_place *place);
int rb_hs_place_others_fd(const struct hs_place *place);
int rb_hs_place_timeout(const struct hs_place *place, uint64_t now_ns, int most_ms);

#endif
