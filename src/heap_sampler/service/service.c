/* See service/service.h. */
#define _GNU_SOURCE 1           /* accept4 */
#include "heap_sampler/service/service.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/process/safe_point.h"
#include "heap_sampler/service/address.h"
#include "heap_sampler/service/answers.h"
#include "heap_sampler/service/connection.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PLACES = 32 };           /* connections at once; who comes then is told to come again */

/* How long the part of an answer waits that needs Ruby. */
static const uint64_t SAFE_POINT_NS = UINT64_C(5000000000);

/* One who is answered, and the part that a safe point does. */
struct place {
    struct hs_connection *connection;
    struct hs_ask ask;
    struct hs_answer answer;
    struct hs_safe_call call;
    bool asked;                 /* the call is not settled */
};

static struct {
    pthread_mutex_t mutex;      /* one begins or ends it at a time: a thread of Ruby's, or the timer thread */
    bool over;                  /* the process ends: it does not begin any more */
    pthread_t thread;
    bool running;
    int listener, wake;         /* `wake`: an eventfd; a call is done, or the end has come */
    bool stopping;              /* atomic */
    struct hs_address address;
    char trouble[160];
    size_t held;                /* bytes of snapshots that the thread holds */
    struct place places[PLACES];
} service = {.mutex = PTHREAD_MUTEX_INITIALIZER, .listener = -1, .wake = -1};

/* -- one place ----------------------------------------------------------------------------- */

static void
finish(struct place *place, uint64_t now)
{
    const struct hs_answer *answer = &place->answer;
    if (answer->out.failed) rb_hs_connection_refuse(place->connection, "the sampler has no memory for this answer now", now);
    else rb_hs_connection_answer(place->connection, answer->ok, answer->type, answer->out.ptr, answer->out.len, now);
    rb_hs_buffer_free(&place->answer.out);
}

static void
in_ruby(void *data)
{
    struct place *place = data;
    rb_hs_answer_in_ruby(&place->ask, &place->answer, &service.held);
}

/* What needs no safe point; where that takes time, this is called again. */
static void
go_to_the_end(struct place *place, uint64_t now)
{
    if (rb_hs_answer(&place->ask, &place->answer)) finish(place, now);
}

static void
begin(struct place *place, uint64_t now)
{
    struct hs_connection *connection = place->connection;
    const char *wrong = rb_hs_ask_parse(connection->line, connection->line_len, &place->ask);
    place->answer = (struct hs_answer){0};
    if (wrong) {
        rb_hs_connection_refuse(connection, wrong, now);
    }
    else if (rb_hs_ask_needs_ruby_p(&place->ask)) {
        connection->state = HS_WAITING;
        connection->deadline_ns = now + SAFE_POINT_NS;
        place->call = (struct hs_safe_call){.function = in_ruby, .data = place, .wake = service.wake};
        place->asked = true;
        rb_hs_safe_point_ask(&place->call);
    }
    else {
        go_to_the_end(place, now);
    }
}

static void
no_safe_point(struct place *place)
{
    rb_hs_answer_error(&place->answer, "Ruby code has not reached a safe point for 5 s: it is in a long call of C code, or waits there. "
                                       "Ask again, or ask for what needs no safe point (profile, memory)");
}

/* What has waited for Ruby goes on; or has waited too long. */
static void
go_on(struct place *place, uint64_t now)
{
    if (!place->asked) {
        go_to_the_end(place, now);
        return;
    }
    bool late = now >= place->connection->deadline_ns;
    if (!rb_hs_safe_point_done_p(&place->call) && !late) {
        rb_hs_safe_point_nudge(true);
        return;
    }
    place->asked = false;
    if (!rb_hs_safe_point_settle(&place->call)) no_safe_point(place);
    if (place->answer.ok) go_to_the_end(place, now);
    else finish(place, now);
}

static void
leave(struct place *place)
{
    if (place->asked) rb_hs_safe_point_settle(&place->call);
    place->asked = false;
    rb_hs_answer_drop(&place->answer);
    rb_hs_connection_close(place->connection);
    place->connection = NULL;
}

static void
serve(struct place *place, short happened, uint64_t now)
{
    struct hs_connection *connection = place->connection;
    if (connection->state == HS_READING && happened && rb_hs_connection_read(connection)) begin(place, now);
    if (connection->state == HS_WAITING && happened & (POLLHUP | POLLERR)) connection->state = HS_OVER;
    if (connection->state == HS_WAITING) go_on(place, now);
    if (connection->state == HS_WRITING) rb_hs_connection_write(connection);
    if (connection->state != HS_OVER && connection->state != HS_WAITING && now >= connection->deadline_ns) connection->state = HS_OVER;
    if (connection->state == HS_OVER) leave(place);
}

/* -- those who come ----------------------------------------------------------------------------- */

static struct place *
free_place(void)
{
    for (size_t i = 0; i < PLACES; i++) {
        if (!service.places[i].connection) return &service.places[i];
    }
    return NULL;
}

static void
say(int fd, const char *sentence)
{
    char text[256];
    int len = snprintf(text, sizeof(text), "heap-sample/1 error text %zu\n%s", strlen(sentence), sentence);
    ssize_t unused = send(fd, text, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)unused;
}

static void
take(int fd, uint64_t now)
{
    struct place *place = free_place();
    if (!rb_hs_peer_allowed_p(fd)) say(fd, "only the user of this process, and root, may ask it");
    else if (!place) say(fd, "32 others ask this process just now: come again in a moment");
    else if ((place->connection = rb_hs_connection_open(fd, now))) return;
    close(fd);
}

static void
take_all(uint64_t now)
{
    for (;;) {
        int fd = accept4(service.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && errno == EINTR) continue;
        if (fd < 0) return;
        take(fd, now);
    }
}

/* -- the thread -------------------------------------------------------------------------------------- */

static bool
stopping(void)
{
    return __atomic_load_n(&service.stopping, __ATOMIC_ACQUIRE);
}

static short
events_of(const struct hs_connection *connection)
{
    return connection->state == HS_READING ? POLLIN : connection->state == HS_WRITING ? POLLOUT
                                                                                      : 0;
}

/* Whoever ends the service may fail to wake it: then it sees that by itself. */
enum { IDLE_MS = 2000 };

enum { NUDGE_MS = 20 };

static int
timeout_of(const struct hs_connection *connection, uint64_t now)
{
    if (connection->state == HS_WAITING) return NUDGE_MS;
    if (connection->deadline_ns <= now) return 0;
    uint64_t ms = (connection->deadline_ns - now) / 1000000 + 1;
    return ms < IDLE_MS ? (int)ms : IDLE_MS;
}

/* What poll(2) is to look at: wake, the listener, then each place in order. The milliseconds that it may take. */
static int
fill_polls(struct pollfd *polls, uint64_t now)
{
    int timeout = IDLE_MS;
    polls[0] = (struct pollfd){service.wake, POLLIN, 0};
    polls[1] = (struct pollfd){service.listener, POLLIN, 0};
    for (size_t i = 0; i < PLACES; i++) {
        const struct hs_connection *connection = service.places[i].connection;
        polls[2 + i] = (struct pollfd){connection ? connection->fd : -1, 0, 0};
        if (!connection) continue;
        polls[2 + i].events = events_of(connection);
        int left = timeout_of(connection, now);
        if (left < timeout) timeout = left;
    }
    return timeout;
}

static void
hear(int wake)
{
    uint64_t count;
    ssize_t unused = read(wake, &count, sizeof(count));
    (void)unused;
}

static void *
run(void *unused)
{
    struct pollfd polls[2 + PLACES];
    (void)unused;
    rb_hs_memory_note_snapshots(&service.held);
    while (!stopping()) {
        int timeout = fill_polls(polls, rb_hs_steady_ns());
        if (poll(polls, 2 + PLACES, timeout) < 0 && errno != EINTR && errno != EAGAIN) break;
        uint64_t now = rb_hs_steady_ns();
        if (polls[0].revents) hear(service.wake);
        for (size_t i = 0; i < PLACES; i++) {
            if (service.places[i].connection) serve(&service.places[i], polls[2 + i].revents, now);
        }
        if (polls[1].revents) take_all(now);
    }
    for (size_t i = 0; i < PLACES; i++) {
        if (service.places[i].connection) leave(&service.places[i]);
    }
    return NULL;
}

/* -- its life ---------------------------------------------------------------------------------------------- */

static bool
fail(const char *what, int error)
{
    const char *why = error == EPERM ? "the folder is another user's, or open to others" : strerror(error);
    snprintf(service.trouble, sizeof(service.trouble), "%s: %s", what, why);
    if (service.listener >= 0) close(service.listener);
    if (service.wake >= 0) close(service.wake);
    service.listener = service.wake = -1;
    return false;
}

static int
start_thread(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&service.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static bool
start(void)
{
    if (service.running) return true;
    if (service.over) return fail("no socket", ESHUTDOWN);
    if (!rb_hs_address(&service.address)) return fail("no address for the socket", ENOENT);
    service.listener = rb_hs_address_listen(&service.address);
    if (service.listener < 0) return fail(service.address.socket.sun_path, errno);
    service.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (service.wake < 0) return fail("eventfd", errno);
    __atomic_store_n(&service.stopping, false, __ATOMIC_RELEASE);
    int error = start_thread();
    if (error) return fail("no thread to listen", error);
    service.running = true;
    *service.trouble = '\0';
    return true;
}

static void
close_all(void)
{
    close(service.listener);
    close(service.wake);
    service.listener = service.wake = -1;
    service.running = false;
}

static void
stop(void)
{
    const uint64_t one = 1;
    if (!service.running) return;
    __atomic_store_n(&service.stopping, true, __ATOMIC_RELEASE);
    ssize_t unused = write(service.wake, &one, sizeof(one));
    (void)unused;
    pthread_join(service.thread, NULL);
    unlink(service.address.socket.sun_path);
    close_all();
}

/* There, and at the address that whoever looks for this process now reckons with. */
static bool
found_p(void)
{
    struct hs_address now;
    struct stat socket;
    return service.running && rb_hs_address(&now) && strcmp(now.socket.sun_path, service.address.socket.sun_path) == 0 &&
        lstat(now.socket.sun_path, &socket) == 0 && S_ISSOCK(socket.st_mode) && socket.st_uid == geteuid();
}

bool
rb_hs_service_start(void)
{
    pthread_mutex_lock(&service.mutex);
    bool ok = start();
    pthread_mutex_unlock(&service.mutex);
    return ok;
}

bool
rb_hs_service_reopen(void)
{
    pthread_mutex_lock(&service.mutex);
    bool ok = found_p();
    if (!ok) {
        stop();
        ok = start();
    }
    pthread_mutex_unlock(&service.mutex);
    return ok;
}

void
rb_hs_service_end(void)
{
    pthread_mutex_lock(&service.mutex);
    stop();
    service.over = true;
    pthread_mutex_unlock(&service.mutex);
}

/* Those who ask the parent are not ours: their connections must end when the parent ends them. */
void
rb_hs_service_after_fork(void)
{
    pthread_mutex_init(&service.mutex, NULL);
    if (!service.running) return;
    for (size_t i = 0; i < PLACES; i++) {
        if (service.places[i].connection) close(service.places[i].connection->fd);
    }
    memset(service.places, 0, sizeof(service.places));
    rb_hs_memory_forget(HS_MEM_SNAPSHOTS, service.held);
    service.held = 0;
    close_all();
    rb_hs_service_start();
}

const char *
rb_hs_service_path(void)
{
    return service.running ? service.address.socket.sun_path : NULL;
}

const char *
rb_hs_service_trouble(void)
{
    return *service.trouble ? service.trouble : NULL;
}
