/* What comes over the socket: server/protocol.c. */
#include "heap_sampler/server/protocol.h"
#include "tap.h"
#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The request as text, or what is said to be wrong with it. */
static const char *
shown(const char *line, size_t len)
{
    static struct hs_ask ask;
    static char text[8192], copy[HS_ASK_LINE_MAX];
    memcpy(copy, line, len);
    static const char *const verbs[HS_ASK_VERBS] = {"hello", "profile", "memory", "start", "set", "stop", "wait", "compact"};
    const char *wrong = rb_hs_ask_parse(copy, len, &ask);
    if (wrong) return wrong;
    int at = snprintf(text, sizeof(text), "%s", verbs[ask.verb]);
    for (size_t i = 0; i < ask.argument_count; i++) {
        at += snprintf(text + at, sizeof(text) - (size_t)at, " %s[%s]", ask.arguments[i].key, ask.arguments[i].value);
    }
    if (ask.diagnose_ppm) snprintf(text + at, sizeof(text) - (size_t)at, " of %u", ask.diagnose_ppm);
    return text;
}

#define SHARE_IS_MISSING "gc=1 and why=1 force work on this process; add the share of the run time that they may take, such as diagnose=1%25 (1%)"
#define STOP_IS_WRONG "stop must be the milliseconds that compaction may stop Ruby code, from 1 to 60000"

static const struct {
    const char *line, *shown;
} lines[] = {
    {"heap-sample/1 hello", "hello"},
    {"heap-sample/1 profile gc=1 diagnose=1%25", "profile gc[1] diagnose[1%] of 10000"},
    {"heap-sample/1 profile diagnose=0.5%25", "profile diagnose[0.5%] of 5000"},
    {"heap-sample/1 profile diagnose=off", "profile diagnose[off]"},
    {"heap-sample/1 profile gc=0", "profile gc[0]"},
    {"heap-sample/1 profile gc=1", SHARE_IS_MISSING},
    {"heap-sample/1 profile why=1", SHARE_IS_MISSING},
    {"heap-sample/1 profile why=1 diagnose=off", SHARE_IS_MISSING},
    {"heap-sample/1 profile diagnose=51%25", "diagnose must be a share of the run time from 0.001% to 50%, such as 1%, or off"},
    {"heap-sample/1 profile diagnose=1", "diagnose must be a share of the run time from 0.001% to 50%, such as 1%, or off"},
    {"heap-sample/1 profile diagnose=1%", "a percent sign in an argument must be followed by two hexadecimal digits, not 00"},
    {"heap-sample/1 memory diagnose=1%25", "the request does not take this argument"},
    {"heap-sample/1 start diagnose=1%25 type=x", "start diagnose[1%] type[x]"},
    {"heap-sample/1 profile gc=", "profile gc[]"},
    {"heap-sample/1 profile why=1 gc=1 diagnose=2%25", "profile why[1] gc[1] diagnose[2%] of 20000"},
    {"heap-sample/1 set interval=64k output=a%20b%2c%25.pb", "set interval[64k] output[a b,%.pb]"},
    {"heap-sample/1 start", "start"},
    {"heap-sample/1 profile type=alloc_space", "profile type[alloc_space]"},
    {"heap-sample/1 profile seconds=1", "the request does not take this argument"},
    {"heap-sample/1 profile type=x", "type must be inuse_space or alloc_space"},
    {"heap-sample/1 wait", "wait"},
    {"heap-sample/1 compact", "compact"},
    {"heap-sample/1 compact stop=60000", "compact stop[60000]"},
    {"heap-sample/1 compact stop=0", STOP_IS_WRONG},
    {"heap-sample/1 compact stop=60001", STOP_IS_WRONG},
    {"heap-sample/1 compact stop=-1", STOP_IS_WRONG},
    {"heap-sample/1 compact stop=5s", STOP_IS_WRONG},
    {"heap-sample/1 compact stop=99999999999999999999999", STOP_IS_WRONG},
    {"heap-sample/1 compact gc=1", "the request does not take this argument"},
    {"heap-sample/1 stop", "stop"},
    {"", "a request must begin with heap-sample/1 and a space"},
    {"heap-sample/1", "a request must begin with heap-sample/1 and a space"},
    {"heap-sample/2 hello", "a request must begin with heap-sample/1 and a space"},
    {"GET / HTTP/1.1\r", "a request must begin with heap-sample/1 and a space"},
    {"heap-sample/1 ", "no such request; there are hello, profile, memory, start, set, stop, wait and compact"},
    {"heap-sample/1 Hello", "no such request; there are hello, profile, memory, start, set, stop, wait and compact"},
    {"heap-sample/1 hello\r", "no such request; there are hello, profile, memory, start, set, stop, wait and compact"},
    {"heap-sample/1 hello x=1", "the request does not take this argument"},
    {"heap-sample/1 profile gc", "an argument is not KEY=VALUE"},
    {"heap-sample/1 set =1", "the request does not take this argument"},
    {"heap-sample/1 profile gc=1 gc=1", "an argument is given twice"},
    {"heap-sample/1 set a=%", "a percent sign in an argument must be followed by two hexadecimal digits, not 00"},
    {"heap-sample/1 set a=%4", "a percent sign in an argument must be followed by two hexadecimal digits, not 00"},
    {"heap-sample/1 set a=%00", "a percent sign in an argument must be followed by two hexadecimal digits, not 00"},
    {"heap-sample/1 set a=1  b=2", "an argument is not KEY=VALUE"},
    {"heap-sample/1 set a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1 p=1 q=1", "there are more than 16 arguments"},
};

static void
test_lines(void)
{
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        const char *is = shown(lines[i].line, strlen(lines[i].line));
        ok(strcmp(is, lines[i].shown) == 0, "\"%.60s\": %s", lines[i].line, is);
    }
    ok(strstr(shown("heap-sample/1 hello\0x", 21), "NUL") != NULL, "a NUL in a request is refused");
    char *longest = malloc(HS_ASK_LINE_MAX);
    memset(longest, 'x', HS_ASK_LINE_MAX);
    memcpy(longest, "heap-sample/1 set a=", 20);
    ok(strncmp(shown(longest, HS_ASK_LINE_MAX - 1), "set a[xxx", 9) == 0, "a request of 4,095 bytes is taken");
    ok(strstr(shown(longest, HS_ASK_LINE_MAX), "longer") != NULL, "one of 4,096 is not");
    free(longest);
}

/* Requests with a few bytes changed; ASan looks on. */
static void
test_noise(void)
{
    const char from[] = "heap-sample/1 set interval=64k output=a%20b gc=1 ";
    unsigned state = 7, refused = 0;
    for (int round = 0; round < 200000; round++) {
        char line[sizeof(from)];
        memcpy(line, from, sizeof(from));
        for (int change = 0; change < 3; change++) {
            state = state * 1664525 + 1013904223;
            line[(state >> 8) % (sizeof(from) - 1)] = (char)(state >> 24);
        }
        struct hs_ask ask;
        size_t len = (state >> 4) % sizeof(from);
        const char *wrong = rb_hs_ask_parse(line, len, &ask);
        refused += wrong != NULL;
        if (!wrong && (ask.argument_count > HS_ASK_ARGUMENTS_MAX || ask.verb >= HS_ASK_VERBS)) ok(false, "a request that is none: %.*s", (int)len, line);
    }
    ok(refused > 100000 && refused < 200000, "of 200,000 requests with noise %u are refused, and none is misread", refused);
}

static struct hs_connection *
connected(int *other)
{
    static struct hs_connection connection;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0) abort();
    *other = pair[1];
    rb_hs_connection_open(&connection, pair[0], 0);
    return &connection;
}

static void
test_connection(void)
{
    int other;
    char got[256];
    struct hs_connection *connection = connected(&other);
    ok(rb_hs_peer_allowed_p(connection->fd), "our own user may ask");
    ok(!rb_hs_connection_read(connection) && connection->state == HS_IS_READING, "nothing is there yet");
    ok(write(other, "heap-sample/1 he", 16) == 16 && !rb_hs_connection_read(connection), "half a line is no request");
    ok(write(other, "llo\nmore", 8) == 8 && rb_hs_connection_read(connection) && connection->in_len == 19, "the other half is");
    rb_hs_connection_answer(connection, true, "json", "{}", 2, 0);
    rb_hs_connection_write(connection, 0);
    ssize_t len = read(other, got, sizeof(got));
    ok(len == 26 && memcmp(got, "heap-sample/1 ok json 2\n{}", 26) == 0, "a frame answers");
    ok(connection->state == HS_IS_OVER, "and then it is over");
    rb_hs_connection_close(connection);
    close(other);

    connection = connected(&other);
    close(other);
    ok(!rb_hs_connection_read(connection) && connection->state == HS_IS_OVER, "who hangs up is forgotten");
    rb_hs_connection_close(connection);

    connection = connected(&other);
    char flood[HS_ASK_LINE_MAX];
    memset(flood, 'x', sizeof(flood));
    bool sent = write(other, flood, sizeof(flood)) == sizeof(flood) && write(other, flood, sizeof(flood)) > 0;
    ok(sent && rb_hs_connection_read(connection) && connection->in_len == sizeof(flood), "a line without an end is one that is too long");
    rb_hs_connection_close(connection);
    close(other);
}

/* A reader that never reads: what it does not take stays, and nothing blocks. */
static void
test_slow_reader(void)
{
    int other;
    struct hs_connection *connection = connected(&other);
    size_t size = 8 << 20, all = 0;
    char *body = calloc(1, size), got[65536];
    rb_hs_connection_answer(connection, true, "pb.gz", body, size, 0);
    rb_hs_connection_write(connection, 0);
    ok(connection->state == HS_IS_WRITING && connection->written < size, "a reader that does not read leaves the rest");
    for (;;) {
        ssize_t len = read(other, got, sizeof(got));
        if (len > 0) all += (size_t)len;
        if (connection->state == HS_IS_OVER && len <= 0) break;
        if (connection->state != HS_IS_OVER) rb_hs_connection_write(connection, 0);
    }
    ok(all == size + strlen("heap-sample/1 ok pb.gz 8388608\n"), "and one that is slow gets all");
    free(body);
    rb_hs_connection_close(connection);
    close(other);
}

void
test_protocol(void)
{
    test_lines();
    test_noise();
    test_connection();
    test_slow_reader();
}
