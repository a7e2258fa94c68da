/* See server/service.h. */
#define _GNU_SOURCE 1           /* accept4, ppoll */
#include "heap_sampler/server/service.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/server/client.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Clients at once. More are refused. */
enum { CLIENTS = 32 };

/* What is to be done about the socket. */
enum look { NOTHING,
            OPEN,               /* as the settings say */
            REOPEN };           /* a client looks for it: a failure is reported */

static struct {
    pthread_mutex_t mutex;      /* protects what is up to `path`; no system call that may hang is made under it */
    pthread_cond_t changed;     /* `state` */
    enum state { STOPPED,
                 STARTING,
                 RUNNING } state;
    pid_t thread;               /* its number, if it is running */
    bool over;                  /* the process ends: the thread ends, and none begins */
    bool off, wanted;           /* the settings want no socket; one was asked for */
    enum look look;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];      /* "": there is none */
    /* of the thread alone */
    int listener;
    uint64_t deaf_until_ns;     /* no connection is accepted before */
    struct hs_clients all;
    struct hs_client *clients[CLIENTS];
    nfds_t count;
} service = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .listener = -1};

/* -- new clients -------------------------------------------------------------------------------- */

static void
refuse(int fd, const char *sentence)
{
    struct hs_buffer out = {0};
    rb_hs_frame(&out, false, "text", sentence, strlen(sentence));
    ssize_t unused = out.failed ? 0 : send(fd, out.ptr, out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)unused;
    rb_hs_buffer_free(&out);
}

static void
take(int fd, uint64_t now)
{
    struct hs_client *client = NULL;
    if (!rb_hs_peer_allowed_p(fd)) refuse(fd, "permission denied; connect as root or as the user of this process");
    else if (service.count == CLIENTS) refuse(fd, "too many connections (32); try again");
    else client = rb_hs_client_open(fd, &service.all, now);
    if (client) service.clients[service.count++] = client;
    else close(fd);
}

/* Where there is no descriptor, or no memory, no connection is accepted for a while: poll(2) would return at once. */
enum { DEAF_MS = 100 };

/* No more than some at once: the clients that there are are served, too. */
static void
take_all(uint64_t now)
{
    for (int i = 0; i < CLIENTS; i++) {
        int fd = accept4(service.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) take(fd, now);
        else if (errno == EAGAIN) return;
        else if (errno != EINTR && errno != ECONNABORTED) {
            service.deaf_until_ns = now + DEAF_MS * HS_MS_NS;
            return;
        }
    }
}

/* -- the socket ---------------------------------------------------------------------------------------- */

/* At the address where a client looks for this process now? */
static bool
found_p(void)
{
    struct sockaddr_un now;
    struct stat socket;
    return service.listener >= 0 && rb_hs_address(&now) && strcmp(now.sun_path, service.path) == 0 &&
        lstat(now.sun_path, &socket) == 0 && S_ISSOCK(socket.st_mode) && socket.st_uid == geteuid();
}

/* A failure leaves the socket that there was, or none. `table_error`: why the thread has no descriptors of its own, or 0. */
static void
open_socket(int table_error, bool report)
{
    struct sockaddr_un address;
    const char *what = table_error ? "cannot make a descriptor table for the thread (needs Linux 5.9)" : "no address for the control socket";
    int fd = -1, error = table_error ? table_error : ENOENT;
    if (!table_error && rb_hs_address(&address)) {
        what = address.sun_path;
        fd = rb_hs_address_listen(&address);
        error = errno;
    }
    if (fd >= 0) {
        if (service.listener >= 0) close(service.listener);
        service.listener = fd;
        hs_lock(&service.mutex, HS_LOCK_STATE);
        memcpy(service.path, address.sun_path, sizeof(service.path));
        hs_unlock(&service.mutex, HS_LOCK_STATE);
    }
    else if (report) {
        const char *why = error == EPERM ? "the folder belongs to another user, or other users can access it; set TMPDIR to another folder" : strerror(error);
        rb_hs_warn("cannot open the control socket that a client requested: %s: %s", what, why);
    }
}

static void
look_at_socket(int table_error)
{
    hs_lock(&service.mutex, HS_LOCK_STATE);
    enum look look = service.look;
    service.look = NOTHING;
    hs_unlock(&service.mutex, HS_LOCK_STATE);
    if (look != NOTHING && !found_p()) open_socket(table_error, look == REOPEN);
}

/* -- the thread -------------------------------------------------------------------------------------- */

/* The process ends as it should. */
static void
end(void)
{
    while (service.count) rb_hs_client_end(service.clients[--service.count], rb_hs_steady_ns());
    if (*service.path) unlink(service.path);
    hs_lock(&service.mutex, HS_LOCK_STATE);
    service.state = STOPPED;
    pthread_cond_broadcast(&service.changed);
    hs_unlock(&service.mutex, HS_LOCK_STATE);
}

/* false: the process ends, or there is neither a socket nor a periodic profile to come. */
static bool
goes_on_p(uint64_t *due_ns)
{
    hs_lock(&service.mutex, HS_LOCK_STATE);
    bool wanted = service.listener >= 0 || service.look != NOTHING || !rb_hs_periodic_halted_p();
    bool over = service.over;
    service.state = wanted || over ? RUNNING : STOPPED;
    service.thread = (pid_t)syscall(SYS_gettid);
    *due_ns = service.look == NOTHING ? UINT64_MAX : 0;
    pthread_cond_broadcast(&service.changed);
    hs_unlock(&service.mutex, HS_LOCK_STATE);
    if (over) end();
    return wanted && !over;
}

/* What poll(2) is to look at: the listener, and then the clients. Until when, at most. */
static uint64_t
fill_polls(struct pollfd *polls, uint64_t due_ns, uint64_t now)
{
    bool deaf = now < service.deaf_until_ns;
    uint64_t periodic_ns = rb_hs_periodic_due();
    polls[0] = (struct pollfd){deaf ? -1 : service.listener, POLLIN, 0};
    if (deaf && service.deaf_until_ns < due_ns) due_ns = service.deaf_until_ns;
    if (periodic_ns < due_ns) due_ns = periodic_ns;
    for (nfds_t i = 0; i < service.count; i++) {
        const struct hs_client *client = service.clients[i];
        uint64_t client_ns = rb_hs_client_due(client, now);
        polls[1 + i] = (struct pollfd){client->connection.fd, rb_hs_client_events(client), 0};
        if (client_ns < due_ns) due_ns = client_ns;
    }
    return due_ns;
}

/* MRI's own signal between its threads, with an empty handler (process/process.h), ends the wait; it is blocked at all other times, so
 * that none is missed. false: something else did: the process may have hardly any descriptors. */
static bool
wait_for_any(struct pollfd *polls, uint64_t due_ns, uint64_t now)
{
    static const struct timespec a_moment = {.tv_nsec = 100000000};
    uint64_t ns = due_ns > now ? due_ns - now : 0;
    struct timespec timeout = {(time_t)(ns / (1000 * HS_MS_NS)), (long)(ns % (1000 * HS_MS_NS))};
    sigset_t blocked;
    sigfillset(&blocked);
    sigdelset(&blocked, SIGVTALRM);
    if (ppoll(polls, 1 + service.count, due_ns == UINT64_MAX ? NULL : &timeout, &blocked) >= 0) return true;
    if (errno != EINTR) nanosleep(&a_moment, NULL);
    return false;
}

static void
serve_all(const struct pollfd *polls, uint64_t now)
{
    nfds_t stay = 0;
    for (nfds_t i = 0; i < service.count; i++) {
        if (rb_hs_client_serve(service.clients[i], polls[1 + i].revents, now)) service.clients[stay++] = service.clients[i];
    }
    service.count = stay;
    if (polls[0].revents) take_all(now);
}

static void *
run(void *unused)
{
    struct pollfd polls[1 + CLIENTS];
    uint64_t due_ns;
    (void)unused;
    service.all.held.most = rb_hs_memory_share(HS_MEM_SNAPSHOTS) / 2;  /* periodic profiles have the rest */
    rb_hs_memory_part = &service.all.held;
    int table_error = rb_hs_descriptors_own() ? 0 : errno;
    look_at_socket(table_error);
    while (goes_on_p(&due_ns)) {
        uint64_t now = rb_hs_steady_ns();
        due_ns = fill_polls(polls, due_ns, now);
        if (wait_for_any(polls, due_ns, now)) serve_all(polls, rb_hs_steady_ns());
        rb_hs_periodic_turn(rb_hs_steady_ns());
        look_at_socket(table_error);
    }
    return NULL;
}

/* -- its life ---------------------------------------------------------------------------------------------- */

/* With the mutex. The thread looks at what has changed; if there is none, it is started. 0, or an errno value. */
static int
wake(void)
{
    if (service.state == RUNNING) syscall(SYS_tgkill, getpid(), service.thread, SIGVTALRM);
    if (service.over || service.state != STOPPED) return 0;
    int error = rb_hs_start_thread(run, NULL);
    service.state = error ? STOPPED : STARTING;
    return error;
}

static void
look(enum look look)
{
    if (service.off) return;
    service.wanted = true;
    service.look = look;
    wake();
}

static void
await(enum state state, time_t seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    while (service.state != state && service.state != STOPPED && pthread_cond_timedwait(&service.changed, &service.mutex, &until) == 0) {}
}

enum { START_S = 2,
       END_S = 2 };

void
rb_hs_service_start(bool socket)
{
    hs_lock(&service.mutex, HS_LOCK_STATE);
    service.off = !socket;
    look(OPEN);
    await(RUNNING, START_S);
    hs_unlock(&service.mutex, HS_LOCK_STATE);
}

void
rb_hs_service_reopen(void)
{
    hs_lock(&service.mutex, HS_LOCK_STATE);
    look(REOPEN);
    hs_unlock(&service.mutex, HS_LOCK_STATE);
}

void
rb_hs_service_wake(void)
{
    hs_lock(&service.mutex, HS_LOCK_STATE);
    int error = wake();
    hs_unlock(&service.mutex, HS_LOCK_STATE);
    if (error) rb_hs_warn_once("cannot start the thread for periodic profiles: %s", strerror(error));
}

bool
rb_hs_service_no_more(void)
{
    rb_hs_safe_point_no_more();
    hs_lock(&service.mutex, HS_LOCK_STATE);
    service.over = true;
    wake();
    bool running = service.state != STOPPED;
    hs_unlock(&service.mutex, HS_LOCK_STATE);
    return running;
}

void
rb_hs_service_end(void)
{
    hs_lock(&service.mutex, HS_LOCK_STATE);
    await(STOPPED, END_S);
    bool late = service.state != STOPPED;
    hs_unlock(&service.mutex, HS_LOCK_STATE);
    if (late && *service.path) unlink(service.path);
}

/* Clients of the parent are not ours: their connections end when the parent ends them. */
void
rb_hs_service_after_fork(void)
{
    bool listened = service.wanted && service.state != STOPPED;
    pthread_mutex_init(&service.mutex, NULL);
    pthread_cond_init(&service.changed, NULL);
    service.count = 0;
    rb_hs_memory_give_back(HS_MEM_SNAPSHOTS, service.all.held.bytes);
    service.all = (struct hs_clients){0};
    service.listener = -1;
    *service.path = '\0';
    service.state = STOPPED;
    service.look = listened ? OPEN : NOTHING;
    if (listened) wake();
    if (!rb_hs_periodic_halted_p()) rb_hs_service_wake();
}
