/* See server/protocol.h. */
#define _GNU_SOURCE 1           /* struct ucred, strsep */
#include "heap_sampler/server/protocol.h"
#include "heap_sampler/settings/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* -- a line --------------------------------------------------------------------------- */

static const char greeting[] = "heap-sample/1 ";

static const struct {
    const char *name;
    const char *keys[6];        /* that it takes; NULL: settings, any */
} verbs[HS_ASK_VERBS] = {
    [HS_ASK_HELLO] = {"hello", {""}},
    [HS_ASK_PROFILE] = {"profile", {"gc", "why", "diagnose", "type", "for", ""}},
    [HS_ASK_MEMORY] = {"memory", {""}},
    [HS_ASK_START] = {"start", {NULL}},
    [HS_ASK_SET] = {"set", {NULL}},
    [HS_ASK_STOP] = {"stop", {""}},
    [HS_ASK_WAIT] = {"wait", {""}},
    [HS_ASK_COMPACT] = {"compact", {"stop", ""}},
};

static bool
verb_of(const char *name, enum hs_verb *verb)
{
    for (int i = 0; i < HS_ASK_VERBS; i++) {
        if (strcmp(verbs[i].name, name) != 0) continue;
        *verb = (enum hs_verb)i;
        return true;
    }
    return false;
}

static bool
takes_key_p(enum hs_verb verb, const char *key)
{
    const char *const *keys = verbs[verb].keys;
    if (!keys[0]) return true;
    for (; **keys; keys++) {
        if (strcmp(*keys, key) == 0) return true;
    }
    return false;
}

/* "%20" is a blank, as in a URL. In place; false: a percent sign that begins nothing, or a NUL. */
static bool
percent_decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        if (!isxdigit((unsigned char)from[1]) || !isxdigit((unsigned char)from[2])) return false;
        const char digits[] = {from[1], from[2], '\0'};
        *to = (char)strtol(digits, NULL, 16);
        if (!*to++) return false;
        from += 2;
    }
    *to = '\0';
    return true;
}

static const char *
add_argument(struct hs_ask *ask, char *word)
{
    char *equals = strchr(word, '=');
    if (!equals) return "an argument is not KEY=VALUE";
    if (ask->argument_count == HS_ASK_ARGUMENTS_MAX) return "there are more than 16 arguments";
    *equals = '\0';
    if (!*word || !takes_key_p(ask->verb, word)) return "the request does not take this argument";
    if (rb_hs_ask_value(ask, word)) return "an argument is given twice";
    if (!percent_decode(equals + 1)) return "a percent sign in an argument must be followed by two hexadecimal digits, not 00";
    ask->arguments[ask->argument_count++] = (struct hs_argument){word, equals + 1};
    return NULL;
}

static bool
has_p(const struct hs_ask *ask, const char *key, const char *value)
{
    const char *given = rb_hs_ask_value(ask, key);
    return given && strcmp(given, value) == 0;
}

/* What is asked for, and how much of the program's time it may take. */
static const char *
read_profile(struct hs_ask *ask)
{
    const char *type = rb_hs_ask_value(ask, "type"), *share = rb_hs_ask_value(ask, "diagnose");
    ask->gc = has_p(ask, "gc", "1");
    ask->why = has_p(ask, "why", "1");
    ask->alloc_first = has_p(ask, "type", "alloc_space");
    ask->for_agent = has_p(ask, "for", "agent");
    if (rb_hs_ask_value(ask, "for") && !ask->for_agent) return "for must be agent, or be left out";
    if (type && !ask->alloc_first && strcmp(type, "inuse_space") != 0) return "type must be inuse_space or alloc_space";
    if (share && strcmp(share, "off") != 0 && !rb_hs_share_parse(share, strlen(share), &ask->diagnose_ppm)) {
        return "diagnose must be a share of the run time from 0.001% to 50%, such as 1%, or off";
    }
    if (ask->diagnose_ppm || !(ask->gc || ask->why)) return NULL;
    return "gc=1 and why=1 force work on this process; add the share of the run time that they may take, such as diagnose=1%25 (1%)";
}

/* A stop of a minute is the longest. */
static const char *
read_compact(struct hs_ask *ask)
{
    const char *stop = rb_hs_ask_value(ask, "stop");
    char *end = NULL;
    if (!stop) return NULL;
    ask->stop_ms = isdigit((unsigned char)*stop) ? strtoul(stop, &end, 10) : 0;
    return ask->stop_ms && ask->stop_ms <= 60000 && !*end ? NULL : "stop must be the milliseconds that compaction may stop Ruby code, from 1 to 60000";
}

const char *
rb_hs_ask_parse(char *line, size_t len, struct hs_ask *ask)
{
    *ask = (struct hs_ask){0};
    if (len >= HS_ASK_LINE_MAX) return "the request is longer than 4,095 bytes";
    if (memchr(line, '\0', len)) return "the request contains a NUL byte";
    if (len < sizeof(greeting) - 1 || memcmp(line, greeting, sizeof(greeting) - 1) != 0) {
        return "a request must begin with heap-sample/1 and a space";
    }
    line[len] = '\0';
    char *rest = line + sizeof(greeting) - 1, *word = strsep(&rest, " ");
    if (!verb_of(word, &ask->verb)) return "no such request; there are hello, profile, memory, start, set, stop, wait and compact";
    while ((word = strsep(&rest, " ")) && (*word || rest)) {        /* a blank at the end is no argument */
        const char *wrong = add_argument(ask, word);
        if (wrong) return wrong;
    }
    if (ask->verb == HS_ASK_COMPACT) return read_compact(ask);
    return ask->verb == HS_ASK_PROFILE ? read_profile(ask) : NULL;
}

const char *
rb_hs_ask_value(const struct hs_ask *ask, const char *key)
{
    for (size_t i = 0; i < ask->argument_count; i++) {
        if (strcmp(ask->arguments[i].key, key) == 0) return ask->arguments[i].value;
    }
    return NULL;
}

/* -- a connection ------------------------------------------------------------------------ */

#define SECONDS UINT64_C(1000000000)
/* A line is typed by a program. A reader that takes something now and then gets all of its answer, in so long at most. */
#define READING_NS (5 * SECONDS)
#define WRITING_NS (30 * SECONDS)
#define WRITING_MOST_NS (600 * SECONDS)

bool
rb_hs_peer_allowed_p(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
    return peer.uid == 0 || peer.uid == geteuid();
}

void
rb_hs_connection_open(struct hs_connection *connection, int fd, uint64_t now_ns)
{
    *connection = (struct hs_connection){.fd = fd, .deadline_ns = now_ns + READING_NS};
}

void
rb_hs_connection_close(struct hs_connection *connection)
{
    close(connection->fd);
    rb_hs_buffer_free(&connection->out);
}

bool
rb_hs_connection_read(struct hs_connection *connection)
{
    ssize_t got = read(connection->fd, connection->in + connection->in_len, sizeof(connection->in) - connection->in_len);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
        connection->state = HS_IS_OVER;
        return false;
    }
    connection->in_len += (size_t)got;
    const char *end = memchr(connection->in, '\n', connection->in_len);
    if (end) connection->in_len = (size_t)(end - connection->in);
    return end || connection->in_len == sizeof(connection->in);         /* too long: the parser says so */
}

void
rb_hs_frame(struct hs_buffer *out, bool ok, const char *type, const char *body, size_t len)
{
    rb_hs_buffer_printf(out, "heap-sample/1 %s %s %zu\n", ok ? "ok" : "error", type, len);
    rb_hs_buffer_append(out, body, len);
}

void
rb_hs_connection_answer(struct hs_connection *connection, bool ok, const char *type, const char *body, size_t len, uint64_t now_ns)
{
    rb_hs_frame(&connection->out, ok, type, body, len);
    connection->state = connection->out.failed ? HS_IS_OVER : HS_IS_WRITING;
    connection->deadline_ns = now_ns + WRITING_NS;
    connection->writing_until_ns = now_ns + WRITING_MOST_NS;
}

void
rb_hs_connection_write(struct hs_connection *connection, uint64_t now_ns)
{
    const struct hs_buffer *out = &connection->out;
    while (connection->written < out->len) {
        ssize_t put = send(connection->fd, out->ptr + connection->written, out->len - connection->written, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EAGAIN) return;
        if (put <= 0) {
            connection->state = HS_IS_OVER;
            return;
        }
        connection->written += (size_t)put;
        connection->deadline_ns = now_ns + WRITING_NS < connection->writing_until_ns ? now_ns + WRITING_NS : connection->writing_until_ns;
    }
    connection->state = HS_IS_OVER;
}
