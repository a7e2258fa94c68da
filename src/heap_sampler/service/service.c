/* See service/service.h. */
#define _GNU_SOURCE 1           /* accept4 */
#include "heap_sampler/service/service.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/descriptors.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/report.h"
#include "heap_sampler/process/safe_point.h"
#include "heap_sampler/process/within.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/service/address.h"
#include "heap_sampler/service/connection.h"
#include "heap_sampler/service/place.h"
#include "heap_sampler/settings/options.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Connections at once. Who comes then is told to come again. */
enum { PLACES = 32 };

static struct {
    pthread_mutex_t mutex;      /* protects what is up to `work`; no system call that may hang is made under it */
    pthread_cond_t changed;     /* `state` is no longer STARTING */
    enum { STOPPED,
           STARTING,
           RUNNING } state;
    bool over;                  /* atomic: the process ends: it does not begin any more */
    bool said_bye;              /* to those who wait for that */
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];      /* "": there is none */
    char trouble[256];
    pthread_mutex_t work;       /* the thread holds it while it works, and not while it waits: to take it is to stop the thread */
    bool reopen;                /* atomic: the socket is to be looked at */
    /* of the thread alone */
    int listener;
    struct hs_address address;
    uint64_t deaf_until_ns;     /* no connection is accepted before */
    struct hs_memory_part held; /* its snapshots */
    struct hs_place places[PLACES];
} service = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .work = PTHREAD_MUTEX_INITIALIZER, .listener = -1};

/* -- those who come ----------------------------------------------------------------------------- */

static struct hs_place *
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
    struct hs_buffer out = {0};
    rb_hs_buffer_printf(&out, "heap-sample/1 error text %zu\n%s", strlen(sentence), sentence);
    ssize_t unused = out.failed ? 0 : send(fd, out.ptr, out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)unused;
    rb_hs_buffer_free(&out);
}

static void
take(int fd, uint64_t now)
{
    struct hs_place *place = free_place();
    struct hs_connection *connection = NULL;
    if (!rb_hs_peer_allowed_p(fd)) say(fd, "permission denied; connect as root or as the user of this process");
    else if (!place) say(fd, "too many connections (32); try again");
    else connection = rb_hs_connection_open(fd, now);
    if (connection) rb_hs_place_take(place, connection);
    else close(fd);
}

/* Where there is no descriptor, or no memory, who comes waits: poll(2) would say at once that he is there. */
static const uint64_t DEAF_NS = 100000000;

/* No more than some at once: those who are there are served, too. */
static void
take_all(uint64_t now)
{
    for (int i = 0; i < PLACES; i++) {
        int fd = accept4(service.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) take(fd, now);
        else if (errno == EAGAIN) return;
        else if (errno != EINTR && errno != ECONNABORTED) {
            service.deaf_until_ns = now + DEAF_NS;
            return;
        }
    }
}

/* -- the thread -------------------------------------------------------------------------------------- */

/* It sees the end of the process by itself, unless it is woken for that (ring). */
enum { IDLE_MS = 2000 };

/* What poll(2) is to look at: only what there is, since more of it than a process may have descriptors is an error. */
struct polls {
    struct pollfd list[1 + PLACES];
    nfds_t count;
    int listener, places[PLACES];     /* where they stand in the list; -1: not in it */
    int timeout_ms;
};

static int
add_poll(struct polls *polls, int fd, short events)
{
    if (fd < 0) return -1;
    polls->list[polls->count] = (struct pollfd){fd, events, 0};
    return (int)polls->count++;
}

static short
happened(const struct polls *polls, int which)
{
    return which < 0 ? 0 : polls->list[which].revents;
}

static void
fill_polls(struct polls *polls, uint64_t now)
{
    bool deaf = now < service.deaf_until_ns;
    polls->count = 0;
    polls->timeout_ms = deaf ? (int)(DEAF_NS / 1000000) : IDLE_MS;
    polls->listener = add_poll(polls, deaf ? -1 : service.listener, POLLIN);
    for (size_t i = 0; i < PLACES; i++) {
        const struct hs_place *place = &service.places[i];
        polls->places[i] = -1;
        if (!place->connection) continue;
        polls->places[i] = add_poll(polls, place->connection->fd, rb_hs_place_events(place));
        polls->timeout_ms = rb_hs_place_timeout(place, now, polls->timeout_ms);
    }
}

static void
serve_all(const struct polls *polls, uint64_t now)
{
    for (size_t i = 0; i < PLACES; i++) {
        if (service.places[i].connection) rb_hs_place_serve(&service.places[i], happened(polls, polls->places[i]), now);
    }
    if (happened(polls, polls->listener)) take_all(now);
}

/* The process ends as it should. */
static void
say_bye(uint64_t now)
{
    for (size_t i = 0; i < PLACES; i++) rb_hs_place_say_bye(&service.places[i], now);
    pthread_mutex_lock(&service.mutex);
    service.said_bye = true;
    pthread_cond_broadcast(&service.changed);
    pthread_mutex_unlock(&service.mutex);
}

/* -- the socket ---------------------------------------------------------------------------------------- */

/* "": there is no trouble. */
static void
publish(bool running, const char *what, int error)
{
    const char *why = error == EPERM ? "the folder belongs to another user, or other users can access it; set TMPDIR to another folder" : strerror(error);
    pthread_mutex_lock(&service.mutex);
    service.state = running ? RUNNING : STOPPED;
    snprintf(service.path, sizeof(service.path), "%s", service.listener >= 0 ? service.address.socket.sun_path : "");
    *service.trouble = '\0';
    if (*what) snprintf(service.trouble, sizeof(service.trouble), "%s: %s", what, why);
    pthread_cond_broadcast(&service.changed);
    pthread_mutex_unlock(&service.mutex);
}

/* At the address where a client looks for this process now? */
static bool
found_p(void)
{
    struct hs_address now;
    struct stat socket;
    return service.listener >= 0 && rb_hs_address(&now) && strcmp(now.socket.sun_path, service.address.socket.sun_path) == 0 &&
        lstat(now.socket.sun_path, &socket) == 0 && S_ISSOCK(socket.st_mode) && socket.st_uid == geteuid();
}

/* false: there is none. */
static bool
open_socket(void)
{
    const char *what = "";
    int error = 0;
    if (service.listener >= 0) close(service.listener);
    service.listener = -1;
    if (!rb_hs_options.no_socket) {
        bool known = rb_hs_address(&service.address);
        service.listener = known ? rb_hs_address_listen(&service.address) : -1;
        error = known ? errno : ENOENT;
        if (service.listener < 0) what = known ? service.address.socket.sun_path : "no address for the control socket";
    }
    publish(service.listener >= 0, what, error);
    return service.listener >= 0;
}

static bool
begin(void)
{
    service.held.most = rb_hs_memory_share(HS_MEM_SNAPSHOTS) / 2;      /* profiles that no client asks for have the rest */
    rb_hs_memory_note_snapshots(&service.held);
    if (!rb_hs_descriptors_own()) {
        publish(false, "cannot make a descriptor table for the thread (needs Linux 5.9)", errno);
        return false;
    }
    rb_hs_places_begin(&service.held);
    if (!open_socket()) return false;
    rb_hs_sockets_sweep(service.address.folder);
    return true;
}

/* false: a client has asked for the socket, and there is none. */
static bool
look_at_socket(bool is_open)
{
    bool asked = __atomic_exchange_n(&service.reopen, false, __ATOMIC_ACQ_REL);
    if (asked && is_open && !found_p()) is_open = open_socket();
    if (asked && !is_open) rb_hs_warn("cannot open the control socket that a client requested: %s", service.trouble);
    return is_open;
}

static void *
run(void *unused)
{
    static const struct timespec a_moment = {.tv_nsec = 100000000};
    struct polls polls;
    (void)unused;
    pthread_mutex_lock(&service.work);
    bool go_on = look_at_socket(begin());
    while (go_on) {
        fill_polls(&polls, rb_hs_steady_ns());
        pthread_mutex_unlock(&service.work);
        /* An error but EINTR: the process may have hardly any descriptors. */
        bool waited = poll(polls.list, polls.count, polls.timeout_ms) >= 0;
        if (!waited && errno != EINTR) nanosleep(&a_moment, NULL);
        pthread_mutex_lock(&service.work);
        if (waited) serve_all(&polls, rb_hs_steady_ns());
        if (__atomic_load_n(&service.over, __ATOMIC_ACQUIRE)) say_bye(rb_hs_steady_ns());
        go_on = look_at_socket(true);
    }
    pthread_mutex_unlock(&service.work);
    return NULL;
}

/* -- its life ---------------------------------------------------------------------------------------------- */

/* With the mutex. */
static void
start(void)
{
    if (service.over || service.state != STOPPED || rb_hs_options.no_socket) return;
    service.state = STARTING;
    int error = rb_hs_start_thread(run, NULL);
    if (!error) return;
    service.state = STOPPED;
    snprintf(service.trouble, sizeof(service.trouble), "cannot start the thread of the control socket: %s", strerror(error));
}

static void
seconds_from_now(struct timespec *time, time_t seconds)
{
    clock_gettime(CLOCK_REALTIME, time);
    time->tv_sec += seconds;
}

enum { START_S = 2,
       END_S = 2 };

void
rb_hs_service_start(void)
{
    struct timespec until;
    seconds_from_now(&until, START_S);
    pthread_mutex_lock(&service.mutex);
    start();
    while (service.state == STARTING && pthread_cond_timedwait(&service.changed, &service.mutex, &until) == 0) continue;
    pthread_mutex_unlock(&service.mutex);
}

void
rb_hs_service_reopen(void)
{
    __atomic_store_n(&service.reopen, true, __ATOMIC_RELEASE);
    pthread_mutex_lock(&service.mutex);
    start();
    pthread_mutex_unlock(&service.mutex);
}

bool
rb_hs_service_no_more(void)
{
    rb_hs_safe_point_no_more();
    pthread_mutex_lock(&service.mutex);
    __atomic_store_n(&service.over, true, __ATOMIC_RELEASE);
    bool running = service.state != STOPPED;
    pthread_mutex_unlock(&service.mutex);
    return running;
}

/* The thread waits in poll(2): a connection wakes it. */
static void
ring(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int unused = connect(fd, (const struct sockaddr *)&address, sizeof(address));
    (void)unused;
    close(fd);
}

/* Those who wait for the end are told, unless the thread is busy. */
static void
bid_farewell(const char *path, const struct timespec *until)
{
    if (!*path || !rb_hs_places_waiting_p()) return;
    ring(path);
    pthread_mutex_lock(&service.mutex);
    while (!service.said_bye && pthread_cond_timedwait(&service.changed, &service.mutex, until) == 0) continue;
    pthread_mutex_unlock(&service.mutex);
}

/* The thread goes on to wait, or waits for the mutex for good, until the process ends: it touches nothing any more. */
void
rb_hs_service_end(void)
{
    struct timespec until;
    char path[sizeof(service.path)];
    pthread_mutex_lock(&service.mutex);
    snprintf(path, sizeof(path), "%s", service.path);
    pthread_mutex_unlock(&service.mutex);
    seconds_from_now(&until, END_S);
    bid_farewell(path, &until);
    bool idle = pthread_mutex_timedlock(&service.work, &until) == 0;
    if (*path) unlink(path);
    if (!idle) return;
    for (size_t i = 0; i < PLACES; i++) rb_hs_place_end(&service.places[i]);
}

/* Clients of the parent are not ours: their connections end when the parent ends them. */
void
rb_hs_service_after_fork(void)
{
    bool was_running = service.state != STOPPED;
    pthread_mutex_init(&service.mutex, NULL);
    pthread_mutex_init(&service.work, NULL);
    pthread_cond_init(&service.changed, NULL);
    if (!was_running) return;
    memset(service.places, 0, sizeof(service.places));
    rb_hs_memory_forget(HS_MEM_SNAPSHOTS, service.held.bytes);
    service.held.bytes = 0;
    service.listener = -1;
    *service.path = '\0';
    service.reopen = false;
    service.state = STOPPED;
    start();
}

const char *
rb_hs_service_trouble(void)
{
    return *service.trouble ? service.trouble : NULL;
}
