/* See service/http_door.h. */
#define _GNU_SOURCE 1
#include "heap_sampler/service/http_door.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/service/http_guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BACKLOG = 64 };
static const uint64_t AGAIN_NS = UINT64_C(2000000000);

struct wish {
    char text[HS_HTTP_TEXT_MAX];
    char token_file[512];
};

/* What others may ask for; the mutex protects it. */
static struct {
    pthread_mutex_t mutex;
    struct wish wish;
    bool changed;
    char place[HS_HTTP_TEXT_MAX], trouble[256];
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The thread's own. */
static struct {
    struct wish wish;
    struct hs_http_address address;
    int fd;
    uint64_t again_ns;          /* when to look again */
    dev_t device;
    ino_t file;                 /* of a Unix socket: ours */
    bool taken;                 /* by another process */
    bool warned;                /* or there is nothing to warn of */
} door = {.fd = -1};

/* -- what is said of it ------------------------------------------------------------------ */

static void
say(const char *place, const char *trouble)
{
    pthread_mutex_lock(&shared.mutex);
    snprintf(shared.place, sizeof(shared.place), "%s", place);
    snprintf(shared.trouble, sizeof(shared.trouble), "%s", trouble);
    pthread_mutex_unlock(&shared.mutex);
}

static const char *
copied(const char *text, char *copy, size_t size)
{
    pthread_mutex_lock(&shared.mutex);
    snprintf(copy, size, "%s", text);
    pthread_mutex_unlock(&shared.mutex);
    return *copy ? copy : NULL;
}

void
rb_hs_http_copy_place(char place[HS_HTTP_TEXT_MAX])
{
    copied(shared.place, place, HS_HTTP_TEXT_MAX);
}

const char *
rb_hs_http_place(void)
{
    static char copy[sizeof(shared.place)];
    return copied(shared.place, copy, sizeof(copy));
}

const char *
rb_hs_http_trouble(void)
{
    static char copy[sizeof(shared.trouble)];
    return copied(shared.trouble, copy, sizeof(copy));
}

/* That another process has the address is nothing to warn of yet: that one may be of the family. */
static int
fail(const char *why, bool warn)
{
    door.taken = !warn;
    say("", why);
    if (warn && !door.warned) rb_hs_warn("http=%s: %s", door.wish.text, why);
    door.warned = door.warned || warn;
    if (door.fd >= 0) close(door.fd);
    door.fd = -1;
    return -1;
}

/* -- opening ------------------------------------------------------------------------------ */

/* Does anybody listen there? A file whose process was killed is still there. */
static bool
answered_p(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is = fd >= 0 && (connect(fd, &door.address.socket.any, door.address.size) == 0 || errno == EAGAIN);
    if (fd >= 0) close(fd);
    return is;
}

/* The mode of the descriptor is that of the file which bind makes: it is never open to others. */
static bool
bind_file(void)
{
    const char *path = door.address.socket.local.sun_path;
    struct stat file;
    if (fchmod(door.fd, 0600) != 0) return false;
    if (lstat(path, &file) == 0) {
        if (!S_ISSOCK(file.st_mode) || answered_p()) {
            errno = EADDRINUSE;
            return false;
        }
        unlink(path);
    }
    if (bind(door.fd, &door.address.socket.any, door.address.size) != 0 || lstat(path, &file) != 0) return false;
    door.device = file.st_dev;
    door.file = file.st_ino;
    return true;
}

static bool
bind_port(void)
{
    const int yes = 1;
    setsockopt(door.fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    return bind(door.fd, &door.address.socket.any, door.address.size) == 0;
}

static void
say_place(void)
{
    struct hs_http_address got = {.size = sizeof(got.socket)};
    char host[INET6_ADDRSTRLEN] = "", place[HS_HTTP_TEXT_MAX];
    getsockname(door.fd, &got.socket.any, &got.size);
    if (door.address.file) {
        say(door.wish.text, "");
        return;
    }
    bool six = got.socket.any.sa_family == AF_INET6;
    const void *address = six ? (const void *)&got.socket.ipv6.sin6_addr : (const void *)&got.socket.ipv4.sin_addr;
    inet_ntop(got.socket.any.sa_family, address, host, sizeof(host));
    snprintf(place, sizeof(place), six ? "[%s]:%u" : "%s:%u", host, (unsigned)ntohs(six ? got.socket.ipv6.sin6_port : got.socket.ipv4.sin_port));
    say(place, "");
}

static int
open_door(void)
{
    char token[HS_TOKEN_MAX], why[192];
    const char *wrong = *door.wish.token_file ? rb_hs_token_read(door.wish.token_file, token) : NULL;
    if (wrong) {
        snprintf(why, sizeof(why), "the file of http-token= %s", wrong);
        return fail(why, true);
    }
    door.fd = socket(door.address.socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (door.fd < 0) return fail(strerror(errno), true);
    bool bound = door.address.file ? bind_file() : bind_port();
    if (!bound || listen(door.fd, BACKLOG) != 0) {
        int error = errno;
        return fail(error == EADDRINUSE ? "another process uses this address" : strerror(error), error != EADDRINUSE);
    }
    door.taken = false;
    say_place();
    return door.fd;
}

bool
rb_hs_http_taken_p(void)
{
    return door.taken && !door.warned;
}

void
rb_hs_http_taken_by(bool member)
{
    if (!member) rb_hs_warn("http=%s: another program uses this address (retried every 2 s); set another one", door.wish.text);
    door.warned = true;
}

/* -- its life ----------------------------------------------------------------------------- */

static bool
file_is_ours_p(void)
{
    struct stat file;
    return lstat(door.address.socket.local.sun_path, &file) == 0 && file.st_dev == door.device && file.st_ino == door.file;
}

void
rb_hs_http_unlink(void)
{
    if (door.fd >= 0 && door.address.file && file_is_ours_p()) unlink(door.address.socket.local.sun_path);
}

static void
close_door(void)
{
    if (door.fd < 0) return;
    rb_hs_http_unlink();
    close(door.fd);
    door.fd = -1;
    door.again_ns = 0;
    say("", "");
}

/* Takes a new wish over. */
static void
hear(void)
{
    pthread_mutex_lock(&shared.mutex);
    bool changed = shared.changed;
    struct wish wish = shared.wish;
    shared.changed = false;
    pthread_mutex_unlock(&shared.mutex);
    if (!changed) return;
    close_door();
    if (strcmp(wish.text, door.wish.text) != 0) door.warned = false;
    door.taken = false;
    door.wish = wish;
    door.again_ns = 0;
    say("", "");
    if (*wish.text) rb_hs_http_address_parse(wish.text, strlen(wish.text), &door.address);
}

int
rb_hs_http_look(uint64_t now_ns)
{
    hear();
    if (!*door.wish.text || now_ns < door.again_ns) return door.fd;
    door.again_ns = now_ns + AGAIN_NS;
    if (door.fd >= 0 && door.address.file && !file_is_ours_p()) close_door();
    return door.fd >= 0 ? door.fd : open_door();
}

void
rb_hs_http_want(const char *address, const char *token_file)
{
    struct wish wish = {0};
    snprintf(wish.text, sizeof(wish.text), "%s", address);
    snprintf(wish.token_file, sizeof(wish.token_file), "%s", token_file);
    pthread_mutex_lock(&shared.mutex);
    if (strcmp(wish.text, shared.wish.text) != 0 || strcmp(wish.token_file, shared.wish.token_file) != 0) shared.changed = true;
    shared.wish = wish;
    pthread_mutex_unlock(&shared.mutex);
}

bool
rb_hs_http_wanted_p(void)
{
    pthread_mutex_lock(&shared.mutex);
    bool is = *shared.wish.text;
    pthread_mutex_unlock(&shared.mutex);
    return is;
}

void
rb_hs_http_after_fork(void)
{
    pthread_mutex_init(&shared.mutex, NULL);
    *shared.place = *shared.trouble = '\0';
    shared.changed = true;      /* the parent's thread may have been in the middle of it */
    door.fd = -1;
    door.warned = true;         /* what the parent has said once */
}

const char *
rb_hs_http_text(void)
{
    return door.wish.text;
}

const struct hs_http_address *
rb_hs_http_address(void)
{
    return &door.address;
}

const char *
rb_hs_http_token_file(void)
{
    return door.wish.token_file;
}
