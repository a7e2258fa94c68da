/* See service/place.h. */
#define _GNU_SOURCE 1           /* POLLRDHUP */
#include "heap_sampler/service/place.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/process/control.h"
#include "heap_sampler/profile/encode_metrics.h"
#include "heap_sampler/profile/snapshot.h"
#include "heap_sampler/service/http_door.h"
#include "heap_sampler/service/http_family.h"
#include "heap_sampler/service/http_guard.h"
#include "heap_sampler/service/http_pages.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECONDS UINT64_C(1000000000)
/* How long the part of an answer waits that needs Ruby. */
#define SAFE_POINT_NS (5 * SECONDS)
/* How long others may take: for what they answer at once, and for a profile, before which there may be a GC. */
#define OTHERS_NS (1 * SECONDS)
#define PROFILE_NS (30 * SECONDS)

/* What a client forces on the program (a full GC, the fork for a heap walk) takes a tenth of the time at most. */
#define RESTS 9
#define RESTING_MOST_NS (30 * SECONDS)

enum { NUDGE_MS = 10,
       PAUSING_MAX = 4,         /* each holds a profile */
       PART_MAX = 1 << 20,
       PROFILE_MAX = 64 << 20 };        /* bytes of an answer of others */

static struct {
    const char *(*folder)(void);
    struct hs_memory_part *part;
    unsigned pausing;
    uint64_t rested_ns;         /* nothing is forced before */
} places;

void
rb_hs_places_begin(const char *(*folder)(void), struct hs_memory_part *part)
{
    places.part = part;
    places.folder = folder;
    places.pausing = 0;
}

void
rb_hs_place_take(struct hs_place *place, struct hs_connection *connection)
{
    place->connection = connection;
    place->answer = (struct hs_answer){0};
    place->asked = false;
    place->first = NULL;
    place->others = NULL;
}

/* -- the end of an answer --------------------------------------------------------------------- */

static void
answer_http(struct hs_place *place, int status, const char *type, const char *fields, const char *body, size_t len, uint64_t now)
{
    struct hs_http_answer answer = {status, type, fields, place->request.head};
    rb_hs_connection_answer_http(place->connection, &answer, body, len, now);
}

static void
refuse(struct hs_place *place, int status, const char *sentence, uint64_t now)
{
    char line[640];
    if (!place->connection->http) {
        rb_hs_connection_answer(place->connection, false, "text", sentence, strlen(sentence), now);
        return;
    }
    int len = snprintf(line, sizeof(line), "%s\n", sentence);
    if (len >= (int)sizeof(line)) len = (int)sizeof(line) - 1;
    answer_http(place, status, "text/plain; charset=utf-8", NULL, line, (size_t)len, now);
}

/* A profile is a file to save, as Go's. */
static void
answer_with(struct hs_place *place, const char *body, size_t len, uint64_t now)
{
    char fields[96];
    if (place->route.page == HS_PAGE_MEMORY) {
        answer_http(place, 200, "application/json", NULL, body, len, now);
        return;
    }
    snprintf(fields, sizeof(fields), "Content-Disposition: attachment; filename=\"%s\"\r\n", place->route.file);
    answer_http(place, 200, "application/octet-stream", fields, body, len, now);
}

static void
finish(struct hs_place *place, uint64_t now)
{
    const struct hs_answer *answer = &place->answer;
    if (answer->out.failed) refuse(place, 503, "the sampler has no memory for this answer; try again later", now);
    else if (!place->connection->http) rb_hs_connection_answer(place->connection, answer->ok, answer->type, answer->out.ptr, answer->out.len, now);
    else if (answer->ok) answer_with(place, answer->out.ptr, answer->out.len, now);
    else {
        rb_hs_buffer_append(&place->answer.out, "", 1);
        refuse(place, 503, answer->out.failed ? "the sampler has no memory for this answer; try again later" : answer->out.ptr, now);
    }
    rb_hs_buffer_free(&place->answer.out);
}

/* -- what this process answers itself ------------------------------------------------------------ */

static void
in_ruby(void *data)
{
    struct hs_place *place = data;
    uint64_t begun = rb_hs_steady_ns();
    rb_hs_answer_in_ruby(&place->ask, &place->answer, places.part);
    place->took_ns = rb_hs_steady_ns() - begun;
}

static void
rest(struct hs_place *place, uint64_t now)
{
    char text[160];
    place->connection->state = HS_IS_RESTING;
    place->connection->deadline_ns = places.rested_ns;
    if (places.rested_ns - now <= RESTING_MOST_NS) return;
    snprintf(text, sizeof(text), "requested full GCs and heap walks are limited to 10%% of the time; try again in %u s",
             (unsigned)((places.rested_ns - now) / SECONDS + 1));
    refuse(place, 503, text, now);
}

static void
wait_for_ruby(struct hs_place *place, uint64_t now)
{
    if (rb_hs_ask_forces_p(&place->ask) && now < places.rested_ns) {
        rest(place, now);
        return;
    }
    if (!rb_hs_answer_prepare(&place->ask, &place->answer)) {
        finish(place, now);
        return;
    }
    place->connection->state = HS_IS_WAITING;
    place->connection->deadline_ns = now + SAFE_POINT_NS;
    place->call = (struct hs_safe_call){.function = in_ruby, .data = place};
    place->asked = true;
    rb_hs_safe_point_ask(&place->call);
}

/* Takes the first profile, and waits. */
static void
begin_pause(struct hs_place *place, unsigned seconds, uint64_t now)
{
    if (places.pausing >= PAUSING_MAX) {
        refuse(place, 503, "too many requests with seconds= (4); try again when one has ended", now);
        return;
    }
    place->first = rb_hs_answer_first(&place->answer);
    if (!place->first) {
        finish(place, now);
        return;
    }
    places.pausing++;
    place->connection->state = HS_IS_PAUSING;
    place->connection->deadline_ns = now + seconds * SECONDS;
}

static void
forget_first(struct hs_place *place)
{
    if (!place->first) return;
    rb_hs_snapshot_free(place->first);
    place->first = NULL;
    places.pausing--;
}

/* Ruby's part is done, or was not needed. Where a child walks the heap this is called again. */
static void
answer_now(struct hs_place *place, uint64_t now)
{
    unsigned seconds = rb_hs_ask_seconds(&place->ask);
    if (seconds && !place->first) {
        begin_pause(place, seconds, now);
        return;
    }
    if (!rb_hs_answer(&place->ask, place->first, &place->answer)) return;
    forget_first(place);
    finish(place, now);
}

static void
begin_answer(struct hs_place *place, uint64_t now)
{
    if (rb_hs_ask_needs_ruby_p(&place->ask)) wait_for_ruby(place, now);
    else answer_now(place, now);
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
    if (!rb_hs_safe_point_settle(&place->call)) no_safe_point(place);
    else if (rb_hs_ask_forces_p(&place->ask)) places.rested_ns = now + RESTS * place->took_ns;
    if (place->answer.ok) answer_now(place, now);
    else finish(place, now);
}

/* -- what others answer, too ------------------------------------------------------------------------ */

/* false: nobody is to be asked. */
static bool
ask_others(struct hs_place *place, const char *line, long pid, size_t most, uint64_t deadline)
{
    place->others = rb_hs_http_ask_family(places.folder(), line, pid, most);
    if (!place->others) return false;
    place->connection->state = HS_IS_ASKING;
    place->connection->deadline_ns = deadline;
    return true;
}

static void
finish_index(struct hs_place *place, uint64_t now)
{
    rb_hs_http_index(place->others, &place->answer.out);
    answer_http(place, place->answer.out.failed ? 503 : 200, "text/html; charset=utf-8", HS_HTML_FIELDS, place->answer.out.ptr, place->answer.out.len, now);
    rb_hs_buffer_free(&place->answer.out);
}

static void
finish_metrics(struct hs_place *place, uint64_t now)
{
    bool open = strstr(place->request.accept, "application/openmetrics-text") != NULL;
    bool own = !place->route.pid || place->route.pid == (long)getpid();
    rb_hs_http_metrics(place->others, own, open, &place->answer.out);
    answer_http(place, place->answer.out.failed ? 503 : 200, rb_hs_metrics_type(open), NULL, place->answer.out.ptr, place->answer.out.len, now);
    rb_hs_buffer_free(&place->answer.out);
}

static void
no_member(struct hs_place *place, uint64_t now)
{
    char text[160];
    snprintf(text, sizeof(text), "no process %ld with http=%s answers; / lists the processes that do", place->route.pid, rb_hs_http_text());
    refuse(place, 404, text, now);
}

static void
finish_others(struct hs_place *place, uint64_t now)
{
    struct hs_other other = {0};
    if (place->others && rb_hs_others_count(place->others)) other = rb_hs_other(place->others, 0);
    if (other.ok) {
        answer_with(place, other.text, other.len, now);
        return;
    }
    char text[512];
    snprintf(text, sizeof(text), "%.*s", (int)(other.len < sizeof(text) ? other.len : sizeof(text) - 1), other.answered ? other.text : "");
    if (other.answered) refuse(place, 503, text, now);
    else no_member(place, now);
}

static void
finish_asking(struct hs_place *place, uint64_t now)
{
    if (place->route.page == HS_PAGE_INDEX) finish_index(place, now);
    else if (place->route.page == HS_PAGE_METRICS) finish_metrics(place, now);
    else finish_others(place, now);
    rb_hs_others_free(place->others);
    place->others = NULL;
}

static void
hear_others(struct hs_place *place, uint64_t now)
{
    if (rb_hs_others_go_on(place->others) || now >= place->connection->deadline_ns) finish_asking(place, now);
}

/* -- requests -------------------------------------------------------------------------------------- */

static void
begin_line(struct hs_place *place, const char *line, size_t len, uint64_t now)
{
    const char *wrong = rb_hs_ask_parse(line, len, &place->ask);
    if (wrong) refuse(place, 400, wrong, now);
    else if (!rb_hs_ask_of_family_p(&place->ask)) refuse(place, 404, "this process has another http= address", now);
    else begin_answer(place, now);
}

static void
answer_command(struct hs_place *place, uint64_t now)
{
    rb_hs_http_command(&place->answer.out);
    answer_http(place, 200, "text/plain; charset=utf-8", NULL, place->answer.out.ptr, place->answer.out.len, now);
    rb_hs_buffer_free(&place->answer.out);
}

static void
answer_symbol(struct hs_place *place, uint64_t now)
{
    static const char none[] = "num_symbols: 0\n";
    answer_http(place, 200, "text/plain; charset=utf-8", NULL, none, sizeof(none) - 1, now);
}

static void
begin_route(struct hs_place *place, uint64_t now)
{
    struct hs_http_route *route = &place->route;
    bool own = !route->pid || route->pid == (long)getpid();
    struct hs_ask ask;
    switch (route->page) {
    case HS_PAGE_COMMAND: answer_command(place, now); return;
    case HS_PAGE_SYMBOL: answer_symbol(place, now); return;
    case HS_PAGE_MEMORY:
    case HS_PAGE_PROFILE:
        if (own) {
            begin_line(place, route->line, strlen(route->line), now);
            return;
        }
        rb_hs_ask_parse(route->line, strlen(route->line), &ask);
        if (!ask_others(place, route->line, route->pid, PROFILE_MAX, now + PROFILE_NS + rb_hs_ask_seconds(&ask) * SECONDS)) no_member(place, now);
        return;
    case HS_PAGE_METRICS:
        if (own && route->pid) finish_asking(place, now);
        else if (!ask_others(place, "heap-sample/1 metrics", route->pid, PART_MAX, now + OTHERS_NS)) finish_asking(place, now);
        return;
    case HS_PAGE_INDEX:
        if (!ask_others(place, "heap-sample/1 member", 0, PART_MAX, now + OTHERS_NS)) finish_asking(place, now);
    }
}

static void
begin_http(struct hs_place *place, uint64_t now)
{
    const char *wrong;
    struct hs_http_request *request = &place->request;
    int status = rb_hs_http_parse(place->connection->in, place->connection->in_len, request, &wrong);
    if (!status) status = rb_hs_http_guard(request, rb_hs_http_address(), rb_hs_http_token_file(), &wrong);
    if (!status) status = rb_hs_http_route(request, &place->route, &wrong);
    if (status) refuse(place, status, wrong, now);
    else begin_route(place, now);
}

static void
begin(struct hs_place *place, uint64_t now)
{
    struct hs_connection *connection = place->connection;
    place->answer = (struct hs_answer){0};
    if (connection->http) begin_http(place, now);
    else begin_line(place, connection->in, connection->in_len, now);
}

/* -- turns --------------------------------------------------------------------------------------------- */

void
rb_hs_place_leave(struct hs_place *place)
{
    if (place->asked) rb_hs_safe_point_settle(&place->call);
    place->asked = false;
    forget_first(place);
    rb_hs_others_free(place->others);
    place->others = NULL;
    rb_hs_answer_drop(&place->answer);
    rb_hs_connection_close(place->connection);
    place->connection = NULL;
}

void
rb_hs_place_end(struct hs_place *place)
{
    if (place->connection && (!place->asked || rb_hs_safe_point_done_p(&place->call))) rb_hs_answer_drop(&place->answer);
}

/* It waits for something, and whoever has asked may go. */
static bool
holding_p(const struct hs_connection *connection)
{
    return connection->state == HS_IS_RESTING || connection->state == HS_IS_WAITING || connection->state == HS_IS_PAUSING || connection->state == HS_IS_ASKING;
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
    case HS_IS_WAITING: go_on(place, now); return;
    case HS_IS_RESTING:
    case HS_IS_PAUSING:
        if (late) begin_answer(place, now);
        return;
    case HS_IS_ASKING: hear_others(place, now); return;
    case HS_IS_LINGERING:
        if (happened) rb_hs_connection_drain(connection);
        if (late) connection->state = HS_IS_OVER;
        return;
    case HS_IS_WRITING:
        if (late) connection->state = HS_IS_OVER;
        return;
    case HS_IS_OVER: return;
    }
}

void
rb_hs_place_serve(struct hs_place *place, short happened, uint64_t now)
{
    struct hs_connection *connection = place->connection;
    if (holding_p(connection) && happened & (POLLHUP | POLLERR | POLLRDHUP)) connection->state = HS_IS_OVER;
    take_turn(place, happened, now);
    if (connection->state == HS_IS_ASKING) hear_others(place, now);        /* those that are asked first */
    if (connection->state == HS_IS_WRITING) rb_hs_connection_write(connection, now);
    if (connection->state == HS_IS_OVER) rb_hs_place_leave(place);
}

short
rb_hs_place_events(const struct hs_place *place)
{
    const struct hs_connection *connection = place->connection;
    if (connection->state == HS_IS_READING || connection->state == HS_IS_LINGERING) return POLLIN;
    if (connection->state == HS_IS_WRITING) return POLLOUT;
    return connection->http ? POLLRDHUP : 0;
}

int
rb_hs_place_others_fd(const struct hs_place *place)
{
    return place->others ? rb_hs_others_fd(place->others) : -1;
}

int
rb_hs_place_timeout(const struct hs_place *place, uint64_t now, int most)
{
    const struct hs_connection *connection = place->connection;
    if (connection->state == HS_IS_WAITING) return NUDGE_MS;
    if (connection->deadline_ns <= now) return 0;
    uint64_t ms = (connection->deadline_ns - now) / 1000000 + 1;
    return ms < (uint64_t)most ? (int)ms : most;
}
