/* See guests.h. */
#include "guests.h"
#include "vm.h"
#include "heap_sampler/service/address.h"
#include "heap_sampler/service/http_door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 8 << 20,          /* bytes of an answer */
       PATIENCE_S = 60 };

struct guests guests;
static unsigned cuts;           /* atomic; odd: just now */

static const char *const lines[] = {
    "hello",
    "memory",
    "metrics",
    "member",
    "member of=elsewhere",
    "profile",
    "profile type=alloc_space",
    "profile type=alloc_space",
    "profile gc=1",
    "profile why=1",
    "profile seconds=1",
    "profile seconds=1 gc=1",
    "start",
    "set interval=64",
    "stop",
    "nonsense",
    "profile seconds=never",
    "",
};
static const char *const paths[] = {
    "/",
    "/metrics",
    "/memory",
    "/debug/pprof/heap",
    "/debug/pprof/allocs",
    "/debug/pprof/allocs",
    "/debug/pprof/heap?gc=1",
    "/debug/pprof/heap?seconds=1",
    "/debug/pprof/cmdline",
    "/debug/pprof/symbol",
    "/nowhere",
    "/debug/pprof/heap?pid=1",
};

static void
add(uint64_t *counter)
{
    __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

void
guests_are_cut_off(void (*by)(void))
{
    __atomic_add_fetch(&cuts, 1, __ATOMIC_SEQ_CST);
    by();
    __atomic_add_fetch(&cuts, 1, __ATOMIC_SEQ_CST);
}

/* -- a connection ------------------------------------------------------------------ */

static int
connected(int domain, const struct sockaddr *address, socklen_t size)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, address, size) == 0) return fd;
    close(fd);
    return -1;
}

static int
to_socket(void)
{
    struct hs_address address;
    if (!rb_hs_address(&address)) return -1;
    return connected(AF_UNIX, (const struct sockaddr *)&address.socket, sizeof(address.socket));
}

static int
to_http(void)
{
    char place[HS_HTTP_TEXT_MAX];
    rb_hs_http_copy_place(place);
    const char *port = strrchr(place, ':');
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (!port) return -1;
    address.sin_port = htons((uint16_t)atoi(port + 1));
    return connected(AF_INET, (const struct sockaddr *)&address, sizeof(address));
}

/* In two pieces; false: the other side has gone. */
static bool
say(int fd, const char *text, size_t len)
{
    size_t first = vm_random((uint32_t)len + 1);
    return send(fd, text, first, MSG_NOSIGNAL) == (ssize_t)first &&
        send(fd, text + first, len - first, MSG_NOSIGNAL) == (ssize_t)(len - first);
}

struct heard {
    char *text;                 /* with a NUL behind it */
    size_t len;
    bool ended, late;           /* late: neither that nor an error */
};

/* All that comes. */
static struct heard
hear(int fd)
{
    struct heard heard = {.text = calloc(1, MOST + 1)};
    ssize_t got = 1;
    while (heard.len < MOST && (got = recv(fd, heard.text + heard.len, MOST - heard.len, 0)) > 0) heard.len += (size_t)got;
    heard.ended = got == 0;
    heard.late = got < 0 && errno == EAGAIN;
    return heard;
}

/* -- what an answer must be ----------------------------------------------------------- */

/* The head says how long the body is. */
static bool
frame_p(const char *text, size_t len, bool *ok)
{
    char kind[8], type[16];
    size_t body;
    const char *newline = memchr(text, '\n', len);
    if (!newline || sscanf(text, "heap-sample/1 %7s %15s %zu", kind, type, &body) != 3) return false;
    *ok = strcmp(kind, "ok") == 0;
    return (*ok || strcmp(kind, "error") == 0) && body == len - (size_t)(newline + 1 - text);
}

static bool
page_p(const char *text, size_t len, bool *ok)
{
    int status;
    size_t body;
    const char *end = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");
    if (!end || !length || length > end || sscanf(text, "HTTP/1.%*d %d", &status) != 1 || sscanf(length, "Content-Length: %zu", &body) != 1) return false;
    *ok = status == 200;
    return body == len - (size_t)(end + 4 - text);
}

/* A connection that waits at a port which is given up is reset. */
static void
judge(const struct heard *heard, bool http, bool may_be_cut)
{
    bool ok = false;
    if (heard->ended && (http ? page_p : frame_p)(heard->text, heard->len, &ok)) add(ok ? &guests.answered : &guests.refused);
    else if (!heard->late && (may_be_cut || (http && !heard->len))) add(&guests.unheard);
    else {
        fprintf(stderr, "%s: no whole answer%s: %.200s\n", http ? "HTTP" : "socket", heard->late ? ", and no end" : "", heard->text);
        add(&guests.wrong);
    }
}

/* -- visits ------------------------------------------------------------------------------ */

static size_t
some_request(bool http, char *text, size_t size)
{
    if (!http) return (size_t)snprintf(text, size, "heap-sample/1 %s\n", lines[vm_random(sizeof(lines) / sizeof(*lines))]);
    return (size_t)snprintf(text, size, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", paths[vm_random(sizeof(paths) / sizeof(*paths))]);
}

static unsigned
cuts_now(void)
{
    return __atomic_load_n(&cuts, __ATOMIC_SEQ_CST);
}

void
guest_visit(void)
{
    char text[256];
    bool http = vm_random(2), half = vm_random(16) == 0, hangs_up = vm_random(8) < (half ? 7 : 1);      /* half of it takes 5 s */
    size_t len = some_request(http, text, sizeof(text));
    unsigned before = cuts_now();
    int fd = http ? to_http() : to_socket();
    if (fd < 0) {
        add(&guests.unheard);
        usleep(10000);
        return;
    }
    add(http ? &guests.over_http : &guests.asked);
    bool said = say(fd, text, half ? vm_random((uint32_t)len) : len);
    if (!hangs_up) {
        struct heard heard = hear(fd);
        judge(&heard, http, half || !said || before % 2 || before != cuts_now());
        free(heard.text);
    }
    close(fd);
}

bool
guest_says_hello(void)
{
    static const char hello[] = "heap-sample/1 hello\n";
    bool ok = false;
    int fd = to_socket();
    if (fd < 0) return false;
    say(fd, hello, sizeof(hello) - 1);
    struct heard heard = hear(fd);
    close(fd);
    bool whole = heard.ended && frame_p(heard.text, heard.len, &ok);
    free(heard.text);
    return whole && ok;
}
