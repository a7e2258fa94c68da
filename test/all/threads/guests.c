/* See guests.h. */
#include "guests.h"
#include "vm.h"
#include "heap_sampler/server/service.h"

#include <errno.h>
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
    "profile",
    "profile type=alloc_space",
    "profile type=alloc_space",
    "profile gc=1 diagnose=50%25",
    "profile why=1 diagnose=50%25",
    "profile diagnose=50%25",
    "start",
    "set interval=64",
    "stop",
    "wait",
    "nonsense",
    "profile type=never",
    "",
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
to_socket(void)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (rb_hs_address(&address) && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0) return fd;
    close(fd);
    return -1;
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

/* Whole, or cut off where that may be. */
static void
judge(const struct heard *heard, bool may_be_cut)
{
    bool ok = false;
    if (heard->ended && frame_p(heard->text, heard->len, &ok)) add(ok ? &guests.answered : &guests.refused);
    else if (!heard->late && may_be_cut) add(&guests.unheard);
    else {
        fprintf(stderr, "no whole answer%s: %.200s\n", heard->late ? ", and no end" : "", heard->text);
        add(&guests.wrong);
    }
}

/* -- visits ------------------------------------------------------------------------------ */

static unsigned
cuts_now(void)
{
    return __atomic_load_n(&cuts, __ATOMIC_SEQ_CST);
}

void
guest_visit(void)
{
    char text[256];
    bool half = vm_random(16) == 0, hangs_up = vm_random(8) < (half ? 7 : 1);   /* half of it takes 5 s */
    size_t len = (size_t)snprintf(text, sizeof(text), "heap-sample/1 %s\n", lines[vm_random(sizeof(lines) / sizeof(*lines))]);
    unsigned before = cuts_now();
    hangs_up |= strstr(text, " wait") != NULL;  /* the end of the process is far */
    int fd = to_socket();
    if (fd < 0) {
        add(&guests.unheard);
        usleep(10000);
        return;
    }
    add(&guests.asked);
    bool said = say(fd, text, half ? vm_random((uint32_t)len) : len);
    if (!hangs_up) {
        struct heard heard = hear(fd);
        judge(&heard, half || !said || before % 2 || before != cuts_now());
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
