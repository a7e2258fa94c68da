/* See server/client.h. */
#include "heap_sampler/server/client.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/heap_walk/launch.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/server/control.h"
#include "heap_sampler/server/output.h"
#include "heap_sampler/server/service.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SAFE_POINT_MS = 5000,    /* how long the part of an answer waits that needs Ruby */
       OPTIONAL_MS = 1000,      /* and if the answer is possible without it */
       SHARE_MOST_MS = 30000,   /* how long a demanded GC or walk waits for its share of the run time */
       HALT_MS = 10000,         /* how long a change of settings waits for the periodic profile that is being made */
       AGAIN_MS = 10,           /* to look again after what does not wake the thread */
       WAITING_MAX = 16 };      /* of the clients; the other places are for requests that are answered now */

struct hs_client *
rb_hs_client_open(int fd, struct hs_clients *all, uint64_t now)
{
    struct hs_client *client = rb_hs_calloc(HS_MEM_SNAPSHOTS, 1, sizeof(*client));
    if (!client) return NULL;
    rb_hs_connection_open(&client->connection, fd, now);
    client->all = all;
    return client;
}

static void
stay(struct hs_client *client, enum hs_connection_state state, uint64_t until_ns)
{
    client->connection.state = state;
    client->connection.deadline_ns = until_ns;
}

__attribute__((format(printf, 2, 3))) static void
fail(struct hs_client *client, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    rb_hs_buffer_free(&client->answer);
    client->ok = false;
    client->type = "text";
    rb_hs_buffer_puts(&client->answer, text);
}

/* -- profile ------------------------------------------------------------------------------ */

/* How long a profile waits for names. Short, since other clients wait meanwhile. */
enum { NAMES_MS = 30 };

static unsigned
reason_of(const struct hs_ask *ask)
{
    return ask->for_agent ? HS_FOR_AGENT : 0;
}

static void
answer_profile(struct hs_client *client)
{
    struct hs_snapshot *snapshot = client->begun;
    enum hs_shown_first first = client->ask.alloc_first ? HS_ALLOC_FIRST : HS_INUSE_FIRST;
    if (!snapshot) {
        rb_hs_name_at_safe_point(NAMES_MS);
        snapshot = rb_hs_snapshot_begin(HS_MAIN, reason_of(&client->ask), 0);
        if (snapshot) rb_hs_snapshot_work(snapshot, NULL);
    }
    client->begun = NULL;
    client->type = "pb.gz";
    int error = rb_hs_encode_snapshot(snapshot, HS_PB_GZ, first, &client->answer, NULL);
    if (error == ESRCH) fail(client, "this process is not sampled; run heapsample start %ld", (long)getpid());
    else if (error) fail(client, "no profile: %s", strerror(error));
}

static bool
demanded_p(const struct hs_ask *ask)
{
    return ask->gc || ask->why;
}

/* What was demanded; else what the share pays for. */
static void
force(struct hs_client *client)
{
    const struct hs_ask *ask = &client->ask;
    bool demanded = demanded_p(ask);
    if (!rb_hs_session(HS_MAIN)->on) return;     /* what follows says so */
    bool gc = demanded ? ask->gc : rb_hs_forced_gc_due_p(ask->diagnose_ppm);
    if (gc && !rb_hs_forced_gc(0) && demanded) {
        fail(client, "this process has disabled full GCs (GC.disable or GC.config); try again without gc=1");
        return;
    }
    if (demanded ? !ask->why : !rb_hs_walk_due_p(false, ask->diagnose_ppm, false)) return;
    client->begun = rb_hs_walk_begin(reason_of(ask) | (demanded ? 0 : HS_BY_ITSELF), &client->all->held);
    if (!client->begun) fail(client, "no profile: %s", strerror(ENOMEM));
}

/* -- settings -------------------------------------------------------------------------------- */

static bool
starts_p(const struct hs_ask *ask)
{
    return ask->verb == HS_ASK_START || ask->verb == HS_ASK_SET;
}

/* Does it change settings that periodic profiles read? */
static bool
of_files_p(const struct hs_ask *ask)
{
    if (ask->verb == HS_ASK_STOP) return true;
    for (size_t i = 0; starts_p(ask) && i < ask->argument_count; i++) {
        if (rb_hs_setting_of(ask->arguments[i].key) == HS_OF_FILES) return true;
    }
    return false;
}

/* Under the GVL there is one at a time. */
static void
start_or_set(struct hs_client *client)
{
    static struct hs_start start;
    const struct hs_ask *ask = &client->ask;
    rb_hs_start_begin(&start);
    start.account = &client->account;
    /* A process that was started without files writes none unless the request names a place for them. */
    if (!rb_hs_files.on && !rb_hs_files.output_given && !rb_hs_ask_value(ask, "output")) rb_hs_start_read(&start, "output", "none");
    client->ok = ask->verb == HS_ASK_START || rb_hs_session(HS_MAIN)->on;
    if (!client->ok) snprintf(start.error, sizeof(start.error), "this process is not sampled; use start, which takes the same settings");
    for (size_t i = 0; i < ask->argument_count && client->ok; i++) {
        client->ok = rb_hs_start_read(&start, ask->arguments[i].key, ask->arguments[i].value);
    }
    client->ok = client->ok && rb_hs_start_apply(&start) <= HS_CHANGED;
    if (!client->ok) fail(client, "%s", start.error);
}

static void
compact(struct hs_client *client)
{
    client->compaction.estimate_ns = rb_hs_compact_estimate();
    unsigned long estimate_ms = (unsigned long)(client->compaction.estimate_ns / HS_MS_NS) + 1;
    client->ok = client->ask.stop_ms == 0 || client->ask.stop_ms >= estimate_ms;
    if (!client->ok) fail(client, "compaction would stop Ruby code for about %lu ms; allow it with stop=%lu (heapsample compact: --most)", estimate_ms, estimate_ms);
    else if (client->ask.stop_ms && !rb_hs_forced_compact(&client->compaction)) {
        fail(client, "this process cannot compact its heap: GC or major GCs are disabled, or the platform has no compaction");
    }
}

static void
in_ruby(void *data)
{
    struct hs_client *client = data;
    HS_CONTRACT(gvl);
    client->ok = true;
    if (client->ask.verb == HS_ASK_STOP) rb_hs_stop_apply();
    else if (client->ask.verb == HS_ASK_COMPACT) compact(client);
    else if (client->ask.verb == HS_ASK_PROFILE) force(client);
    else start_or_set(client);
}

/* -- the end of an answer --------------------------------------------------------------------- */

static void
refuse(struct hs_client *client, const char *sentence, uint64_t now)
{
    rb_hs_connection_answer(&client->connection, false, "text", sentence, strlen(sentence), now);
}

static void
finish(struct hs_client *client, uint64_t now)
{
    const struct hs_buffer *answer = &client->answer;
    if (answer->failed) refuse(client, "the sampler has no memory for this answer; try again later", now);
    else rb_hs_connection_answer(&client->connection, client->ok, client->type, answer->ptr, answer->len, now);
    rb_hs_buffer_free(&client->answer);
}

/* -- from the request to the answer ---------------------------------------------------------------------------------- */

static void
wait_for_share(struct hs_client *client, uint64_t ns, uint64_t now)
{
    stay(client, HS_IS_RESTING, now + ns);
    if (ns <= SHARE_MOST_MS * HS_MS_NS) return;
    fail(client, "GCs and heap walks have used up their share of the run time; try again in %lu s, or give more with diagnose=",
         (unsigned long)(ns / (1000 * HS_MS_NS) + 1));
    finish(client, now);
}

/* No periodic profile is made while the settings of files change. false: one still is. */
static bool
halt_periodic(struct hs_client *client, uint64_t now)
{
    client->halted = true;
    if (rb_hs_periodic_halt()) return true;
    stay(client, HS_IS_RESTING, now + AGAIN_MS * HS_MS_NS);
    if (now >= client->asked_ns + HALT_MS * HS_MS_NS) refuse(client, "a periodic profile is being written to a slow disk; try again", now);
    return false;
}

static bool
optional_p(const struct hs_client *client)
{
    return client->ask.verb == HS_ASK_PROFILE && !demanded_p(&client->ask);
}

static void
call_ruby(struct hs_client *client, uint64_t now)
{
    uint64_t share_ns = demanded_p(&client->ask) ? rb_hs_forced_wait(client->ask.diagnose_ppm) : 0;
    if (share_ns) {
        wait_for_share(client, share_ns, now);
        return;
    }
    if (of_files_p(&client->ask) && !halt_periodic(client, now)) return;
    if (starts_p(&client->ask)) rb_hs_account_take(&client->account, NULL, NULL, false);       /* takes time */
    stay(client, HS_IS_WORKING, now + (optional_p(client) ? OPTIONAL_MS : SAFE_POINT_MS) * HS_MS_NS);
    client->call = (struct hs_safe_call){.function = in_ruby, .data = client};
    client->calling = true;
    rb_hs_safe_point_ask(&client->call);
}

/* Ruby's part is done, or has been waited for long enough. */
static bool
called_p(struct hs_client *client, uint64_t now)
{
    if (!rb_hs_safe_point_done_p(&client->call) && now < client->connection.deadline_ns) {
        rb_hs_safe_point_nudge();
        return false;
    }
    client->calling = false;
    if (rb_hs_safe_point_settle(&client->call)) return true;
    if (optional_p(client)) client->ok = true;
    else fail(client, "Ruby code did not reach a safe point within 5 s, because it runs or waits in C code. "
                      "Try again, or request what needs no safe point (profile, memory)");
    return true;
}

/* Without Ruby, or after its part. Where a child walks the heap this is called again: the walk takes seconds, in which others are
 * answered. */
static void
answer_now(struct hs_client *client, uint64_t now)
{
    static const volatile bool at_once = true;
    if (client->begun && !rb_hs_snapshot_work(client->begun, &at_once)) return;
    client->ok = true;
    client->type = "json";
    switch (client->ask.verb) {
    case HS_ASK_PROFILE: answer_profile(client); break;
    case HS_ASK_MEMORY: rb_hs_answer_memory(&client->answer, NULL); break;
    case HS_ASK_COMPACT: rb_hs_answer_memory(&client->answer, &client->compaction); break;
    default: rb_hs_answer_hello(&client->answer);       /* what start, set and stop have made of it, too */
    }
    finish(client, now);
}

static void
wait_for_end(struct hs_client *client, uint64_t now)
{
    if (client->all->waiting == WAITING_MAX) {
        refuse(client, "too many clients wait for the end of this process (16); try again", now);
        return;
    }
    client->all->waiting++;
    client->waits = true;
    stay(client, HS_IS_WAITING, UINT64_MAX);
}

static bool
needs_ruby_p(const struct hs_ask *ask)
{
    return starts_p(ask) || ask->verb == HS_ASK_STOP || ask->verb == HS_ASK_COMPACT || ask->diagnose_ppm;
}

static void
do_it(struct hs_client *client, uint64_t now)
{
    if (client->ask.verb == HS_ASK_WAIT) wait_for_end(client, now);
    else if (needs_ruby_p(&client->ask)) call_ruby(client, now);
    else answer_now(client, now);
}

static void
begin(struct hs_client *client, uint64_t now)
{
    const char *wrong = rb_hs_ask_parse(client->connection.in, client->connection.in_len, &client->ask);
    client->asked_ns = now;
    if (wrong) refuse(client, wrong, now);
    else do_it(client, now);
}

/* -- turns --------------------------------------------------------------------------------------------- */

static void
take_turn(struct hs_client *client, short happened, uint64_t now)
{
    struct hs_connection *connection = &client->connection;
    bool late = now >= connection->deadline_ns;
    switch (connection->state) {
    case HS_IS_READING:
        if (happened && rb_hs_connection_read(connection)) begin(client, now);
        else if (late) connection->state = HS_IS_OVER;
        return;
    case HS_IS_RESTING:
        if (late) do_it(client, now);
        return;
    case HS_IS_WORKING:
        if (client->calling && !called_p(client, now)) return;
        if (client->ok) answer_now(client, now);
        else finish(client, now);
        return;
    case HS_IS_WRITING:
        if (late) connection->state = HS_IS_OVER;
        return;
    case HS_IS_WAITING:
    case HS_IS_OVER: return;
    }
}

/* Whatever has become of the request: periodic profiles go on, if the settings want any. */
static void
resume_periodic(struct hs_client *client)
{
    if (client->halted) rb_hs_start_resume();
    client->halted = false;
}

static void
leave(struct hs_client *client)
{
    if (client->calling) rb_hs_safe_point_settle(&client->call);
    if (client->waits) client->all->waiting--;
    resume_periodic(client);
    if (client->begun) rb_hs_snapshot_free(rb_hs_snapshot_end(client->begun));
    rb_hs_buffer_free(&client->answer);
    rb_hs_connection_close(&client->connection);
    rb_hs_free(HS_MEM_SNAPSHOTS, client);
}

/* A client that waits for something and has gone needs no answer. */
bool
rb_hs_client_serve(struct hs_client *client, short happened, uint64_t now)
{
    struct hs_connection *connection = &client->connection;
    bool holds = connection->state != HS_IS_READING && connection->state != HS_IS_WRITING;
    if (holds && happened & (POLLHUP | POLLERR)) connection->state = HS_IS_OVER;
    take_turn(client, happened, now);
    if (connection->state == HS_IS_WRITING) {
        resume_periodic(client);
        rb_hs_connection_write(connection, now);
    }
    if (connection->state != HS_IS_OVER) return true;
    leave(client);
    return false;
}

void
rb_hs_client_end(struct hs_client *client, uint64_t now)
{
    client->halted = false;     /* no periodic profile begins any more */
    if (client->connection.state == HS_IS_WAITING) {
        rb_hs_connection_answer(&client->connection, true, "text", "bye", 3, now);
        rb_hs_connection_write(&client->connection, now);
    }
    leave(client);
}

short
rb_hs_client_events(const struct hs_client *client)
{
    switch (client->connection.state) {
    case HS_IS_READING: return POLLIN;
    case HS_IS_WRITING: return POLLOUT;
    default: return 0;
    }
}

uint64_t
rb_hs_client_due(const struct hs_client *client, uint64_t now)
{
    return client->connection.state == HS_IS_WORKING ? now + AGAIN_MS * HS_MS_NS : client->connection.deadline_ns;
}
