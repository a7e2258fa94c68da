#ifndef HEAP_SAMPLER_SERVICE_PLACE_H
#define HEAP_SAMPLER_SERVICE_PLACE_H
/*
 * A place for one who is answered, from the request to the end of the answer: read a
 * line, do it, answer.
 *
 *     reading --> resting --> working --> writing --> over
 *             (gc=1, why=1)   (diagnose=, start, set, stop: a safe point; then a walk, too)
 *     reading --> waiting for the end of the process
 *
 * What a request does not need is left out.  Contract: the service's thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/base/memory.h"
#include "heap_sampler/process/safe_point.h"
#include "heap_sampler/service/answers.h"
#include "heap_sampler/service/connection.h"
#include "heap_sampler/service/protocol.h"

struct hs_place {
    struct hs_connection *connection;   /* NULL: the place is free */
    struct hs_ask ask;
    struct hs_answer answer;
    struct hs_safe_call call;   /* the part that a safe point does */
    bool asked;                 /* the call is not settled */
    bool waits;                 /* for the end of the process */
};

/* Before any is served. `part` counts the memory of the thread. */
void rb_hs_places_begin(struct hs_memory_part *part);
void rb_hs_place_take(struct hs_place *place, struct hs_connection *connection);
/* What has happened, of poll(2). */
void rb_hs_place_serve(struct hs_place *place, short happened, uint64_t now_ns);
void rb_hs_place_leave(struct hs_place *place);
/* The process ends, and the thread does not work any more: a walk for this place is ended. Closes nothing. */
void rb_hs_place_end(struct hs_place *place);
/* The process ends, as it should: who waits for that is told. */
void rb_hs_place_say_bye(struct hs_place *place, uint64_t now_ns);
/* Does anybody wait for that? [any] */
bool rb_hs_places_waiting_p(void);

/* For poll(2): what to look for, and how long to wait at most. */
short rb_hs_place_events(const struct hs_place *place);
int rb_hs_place_timeout(const struct hs_place *place, uint64_t now_ns, int most_ms);

#endif
