/* What comes over HTTP: service/http.c, http_guard.c, http_routes.c, settings/http_address.c; and noise for all of it. */
#include "heap_sampler/service/connection.h"
#include "heap_sampler/service/http.h"
#include "heap_sampler/service/http_guard.h"
#include "heap_sampler/service/http_routes.h"
#include "heap_sampler/service/percent.h"
#include "heap_sampler/service/protocol.h"
#include "tap.h"
#include "tests.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- heads ------------------------------------------------------------------------------ */

/* The request as text, or the status that refuses it. */
static const char *
shown(const char *head, size_t len)
{
    static struct hs_http_request request;
    static char text[4096];
    const char *wrong;
    int status = rb_hs_http_parse(head, len, &request, &wrong);
    if (status) {
        snprintf(text, sizeof(text), "%d", status);
        return text;
    }
    int at = snprintf(text, sizeof(text), "%s%s", request.head ? "HEAD " : "", request.path);
    for (size_t i = 0; i < request.parameter_count; i++) {
        at += snprintf(text + at, sizeof(text) - (size_t)at, " %s[%s]", request.parameters[i].name, request.parameters[i].value);
    }
    snprintf(text + at, sizeof(text) - (size_t)at, " host[%s] auth[%s]", request.host, request.authorization);
    return text;
}

#define HOST "Host: h\r\n\r\n"
static const struct {
    const char *head, *shown;
} heads[] = {
    {"GET / HTTP/1.1\r\n" HOST, "/ host[h] auth[]"},
    {"HEAD /metrics HTTP/1.1\r\n" HOST, "HEAD /metrics host[h] auth[]"},
    {"GET / HTTP/1.0\r\n\r\n", "/ host[] auth[]"},
    {"GET / HTTP/1.1\nhost:  h \t\n\n", "/ host[h] auth[]"},
    {"GET /a%20b?x=1&y=%41+b&&z&=v HTTP/1.1\r\n" HOST, "/a b x[1] y[A b] z[] host[h] auth[]"},
    {"GET /?x=1&x=2 HTTP/1.1\r\nAuthorization: Bearer s3cret\r\n" HOST, "/ x[1] x[2] host[h] auth[Bearer s3cret]"},
    {"GET / HTTP/1.1\r\nContent-Length: 0\r\nX: caf\xc3\xa9\r\n" HOST, "/ host[h] auth[]"},
    {"GET / HTTP/1.1\r\n\r\n", "400"},                  /* no Host */
    {"GET / HTTP/1.1\r\nHost: a\r\n" HOST, "400"},      /* two */
    {"GET / HTTP/1.1\r\nAuthorization: a\r\nAuthorization: b\r\n" HOST, "400"},
    {"GET / HTTP/1.1\r\nContent-Length: 1\r\n" HOST, "400"},
    {"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST, "400"},
    {"GET / HTTP/1.1\r\nHost : h\r\n\r\n", "400"},
    {"GET / HTTP/1.1\r\n folded\r\n" HOST, "400"},
    {"GET / HTTP/1.1\r\nX: a\rb\r\n" HOST, "400"},
    {"GET / HTTP/1.1\r\nX: \x01\r\n" HOST, "400"},
    {"GET / HTTP/1.1\r\nno colon\r\n" HOST, "400"},
    {"GET  / HTTP/1.1\r\n" HOST, "400"},
    {"GET / HTTP/1.1 \r\n" HOST, "505"},
    {"GET http://h/ HTTP/1.1\r\n" HOST, "400"},
    {"GET /a%zz HTTP/1.1\r\n" HOST, "400"},
    {"GET /a%00 HTTP/1.1\r\n" HOST, "400"},
    {"GET /?a=%0 HTTP/1.1\r\n" HOST, "400"},
    {"GET /\xff HTTP/1.1\r\n" HOST, "400"},
    {"GET / FTP/1.1\r\n" HOST, "400"},
    {"\r\nGET / HTTP/1.1\r\n" HOST, "400"},
    {"POST / HTTP/1.1\r\nContent-Length: 5\r\n" HOST, "/ host[h] auth[]"},
    {"PUT / HTTP/1.1\r\n" HOST, "405"},
    {"get / HTTP/1.1\r\n" HOST, "405"},
    {"PRI * HTTP/2.0\r\n\r\n", "505"},
    {"heap-sample/1 hello\n\n", "400"},
};

static void
test_heads(void)
{
    char many[4096] = "GET / HTTP/1.1\r\n", parameters[1024] = "GET /?a";
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
        const char *is = shown(heads[i].head, strlen(heads[i].head));
        ok(strcmp(is, heads[i].shown) == 0, "HTTP: request %zu: %s", i, is);
    }
    ok(strcmp(shown("GET / HTTP/1.1\r\nX: \0\r\n" HOST, 33), "400") == 0, "HTTP: a NUL is refused");
    for (int i = 0; i < 70; i++) strcat(many, "X: y\r\n");
    strcat(many, HOST);
    is_text(shown(many, strlen(many)), "431", "HTTP: more than 64 fields are refused");
    for (int i = 0; i < 20; i++) strcat(parameters, "&a=b");
    strcat(parameters, " HTTP/1.1\r\n" HOST);
    is_text(shown(parameters, strlen(parameters)), "400", "HTTP: more than 16 parameters are refused");
    char *flood = malloc(HS_HTTP_HEAD_MAX);
    memset(flood, 'x', HS_HTTP_HEAD_MAX);
    is_text(shown(flood, HS_HTTP_HEAD_MAX), "431", "HTTP: a head without an end is refused");
    free(flood);
}

static void
test_ends(void)
{
    static const char head[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\nmore";
    size_t whole = sizeof(head) - 1 - 4, early = 0;
    for (size_t len = 0; len < whole; len++) early += rb_hs_http_head_length(head, len) != 0;
    ok(early == 0, "HTTP: half a head is none");
    is_number((long long)rb_hs_http_head_length(head, sizeof(head) - 1), (long long)whole, "HTTP: what follows a head is not part of it");
    is_number((long long)rb_hs_http_head_length("a\n\nb", 4), 3, "HTTP: lines may end with LF alone");
}

/* -- who may ask ------------------------------------------------------------------------- */

static void
test_hosts(void)
{
    static const char *const safe[] = {"localhost", "LOCALHOST:6060", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:6060", "10.0.0.7:1"};
    static const char *const unsafe[] = {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1:80x", "", "[::1", "::1", "[::1]x", "localhost:80:80", "0x7f000001", "[evil]"};
    for (size_t i = 0; i < sizeof(safe) / sizeof(*safe); i++) ok(rb_hs_host_safe_p(safe[i]), "Host: %s is no name", safe[i]);
    for (size_t i = 0; i < sizeof(unsafe) / sizeof(*unsafe); i++) ok(!rb_hs_host_safe_p(unsafe[i]), "Host: %s is one, or nothing", unsafe[i]);
}

static void
write_token(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    if (!file) abort();
    fputs(text, file);
    fclose(file);
    chmod(path, mode);
}

static int
guarded(const char *head, const char *address_text, const char *token_file)
{
    static struct hs_http_request request;
    struct hs_http_address address;
    const char *wrong;
    if (rb_hs_http_address_parse(address_text, strlen(address_text), &address)) return -1;
    int status = rb_hs_http_parse(head, strlen(head), &request, &wrong);
    return status ? status : rb_hs_http_guard(&request, &address, token_file, &wrong);
}

static void
test_guard(const char *folder)
{
    char path[4096], token[HS_TOKEN_MAX];
    snprintf(path, sizeof(path), "%s/token", folder);
    const char *plain = "GET / HTTP/1.1\r\nHost: localhost:1\r\n\r\n", *named = "GET / HTTP/1.1\r\nHost: app.example\r\n\r\n";
    const char *with = "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: bearer  s3cret\r\n\r\n", *other = "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer s3creT\r\n\r\n";
    const char *page = "GET / HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n";
    is_number(guarded(plain, "127.0.0.1:1", ""), 0, "guard: localhost may ask on a loopback address");
    is_number(guarded(named, "127.0.0.1:1", ""), 403, "guard: another name may not");
    is_number(guarded(named, "unix:/x", ""), 0, "guard: a Unix socket has no such trouble");
    is_number(guarded(page, "127.0.0.1:1", ""), 403, "guard: a page of another site may not ask");
    write_token(path, " s3cret\n", 0600);
    is_number(guarded(named, "0.0.0.0:1", path), 401, "guard: without the token nobody may ask");
    is_number(guarded(with, "0.0.0.0:1", path), 0, "guard: with it, with any name");
    is_number(guarded(other, "0.0.0.0:1", path), 401, "guard: with another token, no");
    is_number(guarded("GET / HTTP/1.1\r\nHost: x\r\nAuthorization: s3cret\r\n\r\n", "0.0.0.0:1", path), 401, "guard: nor without the word Bearer");
    write_token(path, "s3cret\n", 0640);
    is_number(guarded(with, "0.0.0.0:1", path), 401, "guard: a token that others may read lets nobody in");
    is_text(rb_hs_token_read(path, token), "can be accessed by other users; run chmod 600 on it", "token: and why is said");
    write_token(path, "\n \n", 0600);
    is_text(rb_hs_token_read(path, token), "is empty; write a token into it", "token: a file of blanks is empty");
    write_token(path, "two words", 0600);
    ok(rb_hs_token_read(path, token) != NULL, "token: two words are none");
    is_text(rb_hs_token_read(folder, token), "is not a regular file", "token: a folder is none");
    unlink(path);
    is_text(rb_hs_token_read(path, token), "cannot be opened; check its path and permissions", "token: one that is gone");
    ok(rb_hs_token_same_p("abc", "abc") && !rb_hs_token_same_p("abc", "abd") && !rb_hs_token_same_p("abc", "ab") && !rb_hs_token_same_p("abc", "abca") && !rb_hs_token_same_p("abc", "abcabc") && !rb_hs_token_same_p("", "a") && !rb_hs_token_same_p("abc", ""),
       "token: only the same is the same");
}

/* -- addresses ------------------------------------------------------------------------------- */

static void
test_addresses(void)
{
    static const struct {
        const char *text;
        bool good, loopback, file;
    } addresses[] = {
        {"127.0.0.1:6060", true, true, false},
        {"127.8.8.8:1", true, true, false},
        {"localhost:0", true, true, false},
        {"[::1]:6060", true, true, false},
        {"0.0.0.0:6060", true, false, false},
        {":6060", true, false, false},
        {"[::]:65535", true, false, false},
        {"10.1.2.3:80", true, false, false},
        {"unix:/run/x.sock", true, false, true},
        {"unix:x.sock", false, false, false},
        {"unix:", false, false, false},
        {"6060", false, false, false},
        {"127.0.0.1", false, false, false},
        {"127.0.0.1:", false, false, false},
        {"127.0.0.1:65536", false, false, false},
        {"127.0.0.1:-1", false, false, false},
        {"127.0.0.1:80x", false, false, false},
        {"::1:6060", false, false, false},
        {"example.com:80", false, false, false},
        {"[]:80", false, false, false},
        {"[127.0.0.1]:80", false, false, false},
        {"", false, false, false},
    };
    struct hs_http_address address;
    for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
        const char *wrong = rb_hs_http_address_parse(addresses[i].text, strlen(addresses[i].text), &address);
        bool as_said = addresses[i].good == !wrong && (wrong || (address.loopback == addresses[i].loopback && address.file == addresses[i].file));
        ok(as_said, "http=%s: %s", addresses[i].text, wrong ? wrong : "taken");
    }
    char longest[160] = "unix:/";
    memset(longest + 6, 'x', 106);
    ok(!rb_hs_http_address_parse(longest, 5 + 107, &address) && rb_hs_http_address_parse(longest, 5 + 108, &address), "http=unix: takes a path of 107 bytes, and no more");
    ok(rb_hs_http_address_parse("127.0.0.1\0:80", 13, &address) != NULL, "http=: a NUL is refused");
}

/* -- routes ------------------------------------------------------------------------------------- */

static const char *
routed(const char *target)
{
    static char text[512];
    static struct hs_http_request request;
    struct hs_http_route route;
    const char *wrong;
    int len = snprintf(text, sizeof(text), "GET %s HTTP/1.0\r\n\r\n", target);
    int status = rb_hs_http_parse(text, (size_t)len, &request, &wrong);
    if (!status) status = rb_hs_http_route(&request, &route, &wrong);
    if (status) snprintf(text, sizeof(text), "%d", status);
    else snprintf(text, sizeof(text), "%d %ld %s%s", (int)route.page, route.pid, route.line, route.page == HS_PAGE_PROFILE ? route.file : "");
    return text;
}

static void
test_routes(void)
{
    static const struct {
        const char *target, *routed;
    } routes[] = {
        {"/", "0 0 "},
        {"/debug/pprof/", "0 0 "},
        {"/debug/pprof", "0 0 "},
        {"/debug/pprof/heap", "1 0 heap-sample/1 profile type=inuse_spaceheap"},
        {"/debug/pprof/heap?gc=0", "1 0 heap-sample/1 profile type=inuse_spaceheap"},
        {"/debug/pprof/heap?gc=1&pid=7", "1 7 heap-sample/1 profile type=inuse_space gc=1heap"},
        {"/debug/pprof/allocs?seconds=30", "1 0 heap-sample/1 profile type=alloc_space seconds=30allocs-delta"},
        {"/debug/pprof/allocs?debug=2&x=y", "1 0 heap-sample/1 profile type=alloc_spaceallocs"},
        {"/debug/pprof/cmdline", "4 0 "},
        {"/memory", "2 0 heap-sample/1 memory"},
        {"/memory?pid=12", "2 12 heap-sample/1 memory"},
        {"/metrics?pid=12", "3 12 "},
        {"/debug/pprof/heap?seconds=601", "400"},
        {"/debug/pprof/heap?seconds=1&why=1", "400"},
        {"/debug/pprof/heap?why=1", "1 0 heap-sample/1 profile type=inuse_space why=1heap"},
        {"/debug/pprof/heap?seconds=-1", "400"},
        {"/debug/pprof/heap?seconds=1s", "400"},
        {"/debug/pprof/heap?pid=x", "400"},
        {"/debug/pprof/heap?pid=99999999999999999999", "400"},
        {"/debug/pprof/goroutine", "404"},
        {"/debug/pprof/heap/", "404"},
        {"/../metrics", "404"},
    };
    struct hs_http_request post = {.post = true, .path = "/metrics"};
    struct hs_http_route route;
    const char *wrong;
    is_number(rb_hs_http_route(&post, &route, &wrong), 405, "route: a POST of /metrics is refused");
    post.path = "/debug/pprof/symbol";
    is_number(rb_hs_http_route(&post, &route, &wrong), 0, "route: go tool pprof may POST for symbols");
    for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++) {
        const char *is = routed(routes[i].target);
        ok(strcmp(is, routes[i].routed) == 0, "route %s: %s", routes[i].target, is);
    }
}

/* -- noise --------------------------------------------------------------------------------------- */

static uint64_t state;

static uint32_t
chance(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % below;
}

static const char *const pieces[] = {
    "GET ", "HEAD ", "POST ", "/", "/debug/pprof/heap", "/metrics", "?", "&", "=", "gc=1", "seconds=30", "pid=", "%", "%41", "%00", "+", " ", "HTTP/1.1", "HTTP/1.0",
    "\r\n", "\n", "\r", "\r\n\r\n", "Host: ", "localhost", "evil.example", ":", "[::1]", "Authorization: Bearer ", "Content-Length: ", "0", "Transfer-Encoding: chunked",
    "Accept: application/openmetrics-text", "\t", "\x7f", "\xc3\xa9", "\xff", "heap-sample/1 ", "profile ", "hello", "metrics of=", "set interval=64k"};

/* A request of pieces that belong to requests, with some bytes changed. */
static size_t
make_noise(char *text, size_t size)
{
    size_t len = 0;
    if (chance(3)) len += (size_t)snprintf(text, size, "GET /debug/pprof/heap?gc=1 HTTP/1.1\r\nHost: localhost\r\n");
    for (uint32_t i = chance(40); i > 0; i--) {
        const char *piece = pieces[chance(sizeof(pieces) / sizeof(*pieces))];
        size_t piece_len = strlen(piece);
        if (len + piece_len >= size) break;
        memcpy(text + len, piece, piece_len);
        len += piece_len;
    }
    if (chance(2) && len + 4 < size) {
        memcpy(text + len, "\r\n\r\n", 4);
        len += 4;
    }
    for (uint32_t i = chance(4); len && i > 0; i--) text[chance((uint32_t)len)] = (char)chance(256);
    return len;
}

/* What is read must lie in the request, and be what the other functions take. */
static bool
sound_p(const struct hs_http_request *request)
{
    const char *from = request->text, *to = request->text + sizeof(request->text);
    if (request->path < from || request->path >= to || *request->path != '/' || request->parameter_count > HS_HTTP_PARAMETERS_MAX) return false;
    for (size_t i = 0; i < request->parameter_count; i++) {
        if (request->parameters[i].name < from || request->parameters[i].value >= to) return false;
    }
    return !strpbrk(request->host, "\r\n") && !strpbrk(request->authorization, "\r\n");
}

void
test_http_noise(unsigned long rounds, unsigned long seed)
{
    struct hs_http_address loopback;
    unsigned long taken = 0, routed_count = 0, lines = 0, bad = 0;
    state = seed;
    rb_hs_http_address_parse("127.0.0.1:1", 11, &loopback);
    for (unsigned long round = 0; round < rounds; round++) {
        /* of its very size, so that ASan sees what is read behind it */
        char room[1024];
        size_t len = make_noise(room, sizeof(room));
        char *text = malloc(len + 1);
        memcpy(text, room, len);
        static struct hs_http_request request;
        static struct hs_ask ask;
        struct hs_http_route route;
        const char *wrong;
        size_t head = rb_hs_http_head_length(text, len);
        int status = rb_hs_http_parse(text, chance(8) ? head : len, &request, &wrong);
        if (!status) {
            taken++;
            bad += !sound_p(&request);
            rb_hs_http_guard(&request, &loopback, "", &wrong);
            if (!rb_hs_http_route(&request, &route, &wrong)) {
                routed_count++;
                bad += route.page == HS_PAGE_PROFILE && rb_hs_ask_parse(route.line, strlen(route.line), &ask) != NULL;
            }
        }
        lines += rb_hs_ask_parse(text, len, &ask) == NULL;
        free(text);
    }
    ok(bad == 0 && taken > rounds / 100 && routed_count > rounds / 200, "HTTP: of %lu requests with noise (seed %lu) %lu are read, %lu have a page, %lu are lines of the protocol, and none is misread",
       rounds, seed, taken, routed_count, lines);
}

/* -- a connection over HTTP ------------------------------------------------------------------------- */

static void
test_connection(void)
{
    int pair[2];
    char got[1024];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0) abort();
    struct hs_connection *connection = rb_hs_connection_open(pair[0], true, 0);
    const char *first = "GET / HTTP/1.1\r\nHost:", *second = " h\r\n\r\nGET /second HTTP/1.1\r\n";
    ok(write(pair[1], first, strlen(first)) > 0 && !rb_hs_connection_read(connection), "HTTP: half a request waits");
    ok(write(pair[1], second, strlen(second)) > 0 && rb_hs_connection_read(connection), "HTTP: a whole one does not");
    ok(memcmp(connection->in + connection->in_len - 4, "\r\n\r\n", 4) == 0, "HTTP: a second one behind it is not read");
    struct hs_http_answer answer = {200, "text/plain", "X: y\r\n", false};
    rb_hs_connection_answer_http(connection, &answer, "body", 4, 0);
    rb_hs_connection_write(connection, 0);
    ssize_t len = read(pair[1], got, sizeof(got) - 1);
    got[len > 0 ? len : 0] = '\0';
    ok(strstr(got, "HTTP/1.1 200 OK\r\n") == got && strstr(got, "Content-Length: 4\r\n") && strstr(got, "nosniff\r\n") && strstr(got, "X: y\r\n\r\nbody"), "HTTP: an answer has its head and its body");
    ok(connection->state == HS_IS_LINGERING && read(pair[1], got, 1) == 0, "HTTP: then it is at its end");
    rb_hs_connection_drain(connection);
    ok(connection->state == HS_IS_LINGERING, "HTTP: what else comes is thrown away");
    close(pair[1]);
    rb_hs_connection_drain(connection);
    ok(connection->state == HS_IS_OVER, "HTTP: until the other side ends");
    rb_hs_connection_close(connection);
}

static void
test_percent(void)
{
    char to[64], path[] = "unix:/a b%\xff";
    ok(rb_hs_percent_encode(path, to, sizeof(to)) && strcmp(to, "unix:/a%20b%25%FF") == 0 && rb_hs_percent_decode(to, false) && strcmp(to, path) == 0, "percent signs: there and back");
    ok(!rb_hs_percent_encode(path, to, 8), "percent signs: no room is said");
}

/* More of it: NOISE=rounds, NOISE_SEED=number (test/slow/noise). */
static unsigned long
told(const char *variable, unsigned long otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoul(text, NULL, 10) : otherwise;
}

void
test_http(const char *folder)
{
    test_heads();
    test_ends();
    test_hosts();
    test_guard(folder);
    test_addresses();
    test_routes();
    test_percent();
    test_http_noise(told("NOISE", 100000), told("NOISE_SEED", 20261123));
    test_connection();
}
