/* See service/place.h. */
#include "heap_sampler/service/place.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/process/control.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define SECONDS UINT64_C(1000000000)
/* How long the part of an answer waits that needs Ruby; and if the answer is possible without it. */
#define SAFE_POINT_NS (5 * SECONDS)
#define OPTIONAL_NS SECONDS

/* How long a demanded GC or walk waits for its share of the run time. */
#define RESTING_MOST_NS (30 * SECONDS)

enum { NUDGE_MS = 10,
       WAITING_MAX = 16 };      /* of the places; the others are for those who want an answer now */

static struct {
    struct hs_memory_part *part;
    unsigned waiting;           /* atomic */
} places;

void
rb_hs_places_begin(struct hs_memory_part *part)
{
    places.part = part;
    places.waiting = 0;
}

void
rb_hs_place_take(struct hs_place *place, struct hs_connection *connection)
{
    place->connection = connection;
    place->answer = (struct hs_answer){0};
    place->asked = false;
}

/* -- the end of an answer --------------------------------------------------------------------- */

static void
refuse(struct hs_place *place, const char *sentence, uint64_t now)
{
    rb_hs_connection_answer(place->connection, false, "text", sentence, strlen(sentence), now);
}

static void
finish(struct hs_place *place, uint64_t now)
{
    const struct hs_answer *answer = &place->answer;
    if (answer->out.failed) refuse(place, "the sampler has no memory for this answer; try again later", now);
    else rb_hs_connection_answer(place->connection, answer->ok, answer->type, answer->out.ptr, answer->out.len, now);
    rb_hs_buffer_free(&place->answer.out);
}

/* -- the answer ---------------------------------------------------------------------------------- */

static void
in_ruby(void *data)
{
    struct hs_place *place = data;
    rb_hs_answer_in_ruby(&place->ask, &place->answer, places.part);
}

static void
rest(struct hs_place *place, uint64_t now, uint64_t ns)
{
    char text[160];
    place->connection->state = HS_IS_RESTING;
    place->connection->deadline_ns = now + ns;
    if (ns <= RESTING_MOST_NS) return;
    snprintf(text, sizeof(text), "the share of the run time is used up by GCs and heap walks; try again in %lu s, or name a larger share (diagnose=)",
             (unsigned long)(ns / SECONDS + 1));
    refuse(place, text, now);
}

static bool
optional_p(const struct hs_place *place)
{
    return place->ask.verb == HS_ASK_PROFILE && !rb_hs_ask_demands_p(&place->ask);
}

static void
ask_ruby(struct hs_place *place, uint64_t now)
{
    uint64_t wait_ns = rb_hs_ask_waits_ns(&place->ask);
    if (wait_ns) {
        rest(place, now, wait_ns);
        return;
    }
    if (!rb_hs_answer_prepare(&place->ask, &place->answer)) {
        finish(place, now);
        return;
    }
    place->connection->state = HS_IS_WORKING;
    place->connection->deadline_ns = now + (optional_p(place) ? OPTIONAL_NS : SAFE_POINT_NS);
    place->call = (struct hs_safe_call){.function = in_ruby, .data = place};
    place->asked = true;
    rb_hs_safe_point_ask(&place->call);
}

/* Ruby's part is done, or was not needed. Where a child walks the heap this is called again. */
static void
answer_now(struct hs_place *place, uint64_t now)
{
    if (rb_hs_answer(&place->ask, &place->answer)) finish(place, now);
}

static void
no_safe_point(struct hs_place *place)
{
    rb_hs_start_resume();
    rb_hs_answer_error(&place->answer, "Ruby code did not reach a safe point within 5 s, because it runs or waits in C code. "
                                       "Try again, or request what needs no safe point (profile, memory)");
}

/* What has waited for Ruby goes on; or has waited too long. */
static void
go_on(struct hs_place *place, uint64_t now)
{
    if (!place->asked) {
        answer_now(place, now);
        return;
    }
    bool late = now >= place->connection->deadline_ns;
    if (!rb_hs_safe_point_done_p(&place->call) && !late) {
        rb_hs_safe_point_nudge(true);
        return;
    }
    place->asked = false;
    bool ran = rb_hs_safe_point_settle(&place->call);
    if (!ran && optional_p(place)) place->answer.ok = true;
    else if (!ran) no_safe_point(place);
    if (place->answer.ok) answer_now(place, now);
    else finish(place, now);
}

static void
wait_for_end(struct hs_place *place, uint64_t now)
{
    if (places.waiting >= WAITING_MAX) {
        refuse(place, "too many clients wait for the end of this process (16); try again", now);
        return;
    }
    __atomic_fetch_add(&places.waiting, 1, __ATOMIC_RELAXED);
    place->waits = true;
    place->connection->state = HS_IS_WAITING;
    place->connection->deadline_ns = UINT64_MAX;
}

static void
do_it(struct hs_place *place, uint64_t now)
{
    if (place->ask.verb == HS_ASK_WAIT) wait_for_end(place, now);
    else if (rb_hs_ask_needs_ruby_p(&place->ask)) ask_ruby(place, now);
    else answer_now(place, now);
}

static void
begin(struct hs_place *place, uint64_t now)
{
    const char *wrong = rb_hs_ask_parse(place->connection->in, place->connection->in_len, &place->ask);
    if (wrong) refuse(place, wrong, now);
    else do_it(place, now);
}

/* -- turns --------------------------------------------------------------------------------------------- */

void
rb_hs_place_leave(struct hs_place *place)
{
    if (place->asked) rb_hs_safe_point_settle(&place->call);
    place->asked = false;
    if (place->waits) __atomic_fetch_sub(&places.waiting, 1, __ATOMIC_RELAXED);
    place->waits = false;
    rb_hs_answer_drop(&place->answer);
    rb_hs_connection_close(place->connection);
    place->connection = NULL;
}

void
rb_hs_place_end(struct hs_place *place)
{
    if (place->connection && (!place->asked || rb_hs_safe_point_done_p(&place->call))) rb_hs_answer_drop(&place->answer);
}

void
rb_hs_place_say_bye(struct hs_place *place, uint64_t now)
{
    if (!place->connection || place->connection->state != HS_IS_WAITING) return;
    rb_hs_connection_answer(place->connection, true, "text", "bye", 3, now);
    rb_hs_place_serve(place, 0, now);
}

bool
rb_hs_places_waiting_p(void)
{
    return __atomic_load_n(&places.waiting, __ATOMIC_RELAXED);
}

static void
take_turn(struct hs_place *place, short happened, uint64_t now)
{
    struct hs_connection *connection = place->connection;
    bool late = now >= connection->deadline_ns;
    switch (connection->state) {
    case HS_IS_READING:
        if (happened && rb_hs_connection_read(connection)) begin(place, now);
        else if (late) connection->state = HS_IS_OVER;
        return;
    case HS_IS_RESTING:
        if (late) do_it(place, now);
        return;
    case HS_IS_WORKING: go_on(place, now); return;
    case HS_IS_WRITING:
        if (late) connection->state = HS_IS_OVER;
        return;
    case HS_IS_WAITING:
    case HS_IS_OVER: return;
    }
}

/* Whoever waits for something and has gone needs no answer. */
void
rb_hs_place_serve(struct hs_place *place, short happened, uint64_t now)
{
    struct hs_connection *connection = place->connection;
    bool holds = connection->state != HS_IS_READING && connection->state != HS_IS_WRITING;
    if (holds && happened & (POLLHUP | POLLERR)) connection->state = HS_IS_OVER;
    take_turn(place, happened, now);
    if (connection->state == HS_IS_WRITING) rb_hs_connection_write(connection, now);
    if (connection->state == HS_IS_OVER) rb_hs_place_leave(place);
}

short
rb_hs_place_events(const struct hs_place *place)
{
    switch (place->connection->state) {
    case HS_IS_READING: return POLLIN;
    case HS_IS_WRITING: return POLLOUT;
    default: return 0;
    }
}

int
rb_hs_place_timeout(const struct hs_place *place, uint64_t now, int most)
{
    const struct hs_connection *connection = place->connection;
    if (connection->state == HS_IS_WORKING) return NUDGE_MS;
    if (connection->deadline_ns <= now) return 0;
    uint64_t ms = (connection->deadline_ns - now) / 1000000 + 1;
    return ms < (uint64_t)most ? (int)ms : most;
}
