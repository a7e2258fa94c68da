/* See service/service.h. */
#include "heap_sampler/service/service.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/service/address.h"
#include "heap_sampler/service/connection.h"
#include "heap_sampler/service/files.h"
#include "heap_sampler/service/http.h"
#include "heap_sampler/service/http_door.h"
#include "heap_sampler/service/http_family.h"
#include "heap_sampler/service/place.h"
#include "heap_sampler/service/sockets.h"
#include "heap_sampler/settings/options.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Connections at once, of each kind: those of the socket first, then those over HTTP. Who comes then is told to come again. */
enum { PLACES = 32,
       ALL_PLACES = 2 * PLACES };

static struct {
    pthread_mutex_t mutex;      /* one begins or ends it at a time: a thread of Ruby's, or the timer thread */
    bool over;                  /* the process ends: it does not begin any more */
    pthread_t thread;
    bool running;
    int listener, wake;         /* `wake`: an eventfd; a call is done, or the end has come */
    bool stopping;              /* atomic */
    struct hs_address address;
    char trouble[160];
    uint64_t deaf_until_ns;     /* nobody is let in before */
    size_t held;                /* bytes of snapshots that the thread holds */
    struct hs_place places[ALL_PLACES];
} service = {.mutex = PTHREAD_MUTEX_INITIALIZER, .listener = -1, .wake = -1};

/* -- those who come ----------------------------------------------------------------------------- */

/* Who has his answer, and has not hung up yet, makes room. */
static struct hs_place *
free_place(bool http)
{
    struct hs_place *places = service.places + (http ? PLACES : 0), *answered = NULL;
    for (size_t i = 0; i < PLACES; i++) {
        if (!places[i].connection) return &places[i];
        if (places[i].connection->state == HS_IS_LINGERING) answered = &places[i];
    }
    if (answered) rb_hs_place_leave(answered);
    return answered;
}

static const char full[] = "32 others ask this process just now: come again in a moment";

static void
say(int fd, bool http, const char *sentence)
{
    struct hs_buffer out = {0};
    if (http) {
        char unread[4096];
        while (recv(fd, unread, sizeof(unread), MSG_DONTWAIT) == (ssize_t)sizeof(unread)) continue;
        rb_hs_http_put_head(&out, 503, "text/plain; charset=utf-8", "", strlen(sentence));
    }
    else rb_hs_buffer_printf(&out, "heap-sample/1 error text %zu\n", strlen(sentence));
    rb_hs_buffer_puts(&out, sentence);
    ssize_t unused = out.failed ? 0 : send(fd, out.ptr, out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)unused;
    rb_hs_buffer_free(&out);
}

/* Who may open the file of a Unix socket for HTTP may ask; who may ask over a port, http_guard.h says. */
static void
take(int fd, bool http, uint64_t now)
{
    struct hs_place *place = free_place(http);
    struct hs_connection *connection = NULL;
    if (!http && !rb_hs_peer_allowed_p(fd)) say(fd, http, "only the user of this process, and root, may ask it");
    else if (!place) say(fd, http, full);
    else connection = rb_hs_connection_open(fd, http, now);
    if (connection) rb_hs_place_take(place, connection);
    else rb_hs_file_close(fd);
}

/* Where there is no descriptor, or no memory, who comes waits: poll(2) would say at once that he is there. */
static const uint64_t DEAF_NS = 100000000;

/* No more than some at once: those who are there are served, too. */
static void
take_all(int listener, bool http, uint64_t now)
{
    for (int i = 0; i < ALL_PLACES; i++) {
        int fd = rb_hs_file_accept(listener);
        if (fd >= 0) take(fd, http, now);
        else if (errno == EAGAIN) return;
        else if (errno != EINTR && errno != ECONNABORTED) {
            service.deaf_until_ns = now + DEAF_NS;
            return;
        }
    }
}

/* -- the thread -------------------------------------------------------------------------------------- */

static bool
stopping(void)
{
    return __atomic_load_n(&service.stopping, __ATOMIC_ACQUIRE);
}

/* Whoever ends the service may fail to wake it: then it sees that by itself. */
enum { IDLE_MS = 2000 };

/* What poll(2) is to look at: only what there is, since more of it than a process may have descriptors is an error. */
struct polls {
    struct pollfd list[4 + 2 * ALL_PLACES];
    nfds_t count;
    int wake, listener, http, places[ALL_PLACES];       /* where they stand in the list; -1: not in it */
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

/* Of the sockets of others; "": they are not asked. */
static const char *
others_folder(void)
{
    return service.listener < 0 ? "" : service.address.folder;
}

static void
add_listeners(struct polls *polls, uint64_t now)
{
    int http = rb_hs_http_look(now);
    bool deaf = now < service.deaf_until_ns;
    polls->timeout_ms = deaf ? (int)(DEAF_NS / 1000000) : IDLE_MS;
    polls->listener = add_poll(polls, deaf ? -1 : service.listener, POLLIN);
    polls->http = add_poll(polls, deaf ? -1 : http, POLLIN);
}

static void
fill_polls(struct polls *polls, uint64_t now)
{
    polls->count = 0;
    polls->wake = add_poll(polls, service.wake, POLLIN);
    add_listeners(polls, now);
    rb_hs_http_look_for_family(others_folder(), now);
    add_poll(polls, rb_hs_http_looking_fd(), POLLIN);
    for (size_t i = 0; i < ALL_PLACES; i++) {
        const struct hs_place *place = &service.places[i];
        polls->places[i] = -1;
        if (!place->connection) continue;
        polls->places[i] = add_poll(polls, place->connection->fd, rb_hs_place_events(place));
        add_poll(polls, rb_hs_place_others_fd(place), POLLIN);
        polls->timeout_ms = rb_hs_place_timeout(place, now, polls->timeout_ms);
    }
}

static void
hear(int wake)
{
    uint64_t count;
    ssize_t unused = read(wake, &count, sizeof(count));
    (void)unused;
}

static void
serve_all(const struct polls *polls, uint64_t now)
{
    if (happened(polls, polls->wake)) hear(service.wake);
    for (size_t i = 0; i < ALL_PLACES; i++) {
        if (service.places[i].connection) rb_hs_place_serve(&service.places[i], happened(polls, polls->places[i]), now);
    }
    if (happened(polls, polls->listener)) take_all(service.listener, false, now);
    if (happened(polls, polls->http)) take_all(polls->list[polls->http].fd, true, now);
}

/* false: it could not even wait, since the process may have hardly any descriptors now. */
static bool
wait_for_any(struct polls *polls)
{
    if (poll(polls->list, polls->count, polls->timeout_ms) >= 0) return true;
    return errno == EINTR || errno == EAGAIN;
}

static void *
run(void *unused)
{
    static const struct timespec a_moment = {.tv_nsec = 100000000};
    struct polls polls;
    (void)unused;
    rb_hs_memory_note_snapshots(&service.held);
    rb_hs_sockets_sweep(others_folder());
    while (!stopping()) {
        fill_polls(&polls, rb_hs_steady_ns());
        if (wait_for_any(&polls)) serve_all(&polls, rb_hs_steady_ns());
        else nanosleep(&a_moment, NULL);
    }
    for (size_t i = 0; i < ALL_PLACES; i++) {
        if (service.places[i].connection) rb_hs_place_leave(&service.places[i]);
    }
    rb_hs_http_looked();
    return NULL;
}

/* -- its life ---------------------------------------------------------------------------------------------- */

static void
close_all(void)
{
    rb_hs_file_close(service.listener);
    rb_hs_file_close(service.wake);
    service.listener = service.wake = -1;
    service.running = false;
}

static bool
fail(const char *what, int error)
{
    const char *why = error == EPERM ? "the folder is another user's, or open to others" : strerror(error);
    snprintf(service.trouble, sizeof(service.trouble), "%s: %s", what, why);
    close_all();
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

/* false: there is no socket, and nobody wanted one, or there is trouble. */
static bool
listen_to_others(void)
{
    if (rb_hs_options.no_socket) return false;
    if (!rb_hs_address(&service.address)) return fail("no address for the socket", ENOENT);
    service.listener = rb_hs_address_listen(&service.address);
    return service.listener >= 0 || fail(service.address.socket.sun_path, errno);
}

static bool
start(void)
{
    if (service.running) return true;
    if (service.over) return fail("no socket", ESHUTDOWN);
    *service.trouble = '\0';
    if (!listen_to_others() && !rb_hs_http_wanted_p()) return false;
    service.wake = rb_hs_file_event();
    if (service.wake < 0) return fail("eventfd", errno);
    rb_hs_places_begin(service.wake, others_folder(), &service.held);
    rb_hs_http_look(rb_hs_steady_ns());         /* before a child may be forked that would be faster */
    __atomic_store_n(&service.stopping, false, __ATOMIC_RELEASE);
    int error = start_thread();
    if (error) return fail("no thread to listen", error);
    service.running = true;
    return true;
}

static void
wake(void)
{
    const uint64_t one = 1;
    ssize_t unused = write(service.wake, &one, sizeof(one));
    (void)unused;
}

static void
stop(void)
{
    if (!service.running) return;
    __atomic_store_n(&service.stopping, true, __ATOMIC_RELEASE);
    wake();
    pthread_join(service.thread, NULL);
    rb_hs_http_close();
    if (service.listener >= 0) unlink(service.address.socket.sun_path);
    close_all();
}

/* There, and at the address that whoever looks for this process now reckons with. */
static bool
found_p(void)
{
    struct hs_address now;
    struct stat socket;
    return service.listener >= 0 && rb_hs_address(&now) && strcmp(now.socket.sun_path, service.address.socket.sun_path) == 0 &&
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
    bool ok = service.over || found_p();        /* a process that ends has nothing to say */
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

/* Whoever holds the mutex begins, and looks at the wish, or ends. The thread may wait for Ruby code that is here: nobody is
 * waited for. */
void
rb_hs_service_http(const char *address, const char *token_file)
{
    rb_hs_http_want(address, token_file);
    if (pthread_mutex_trylock(&service.mutex) != 0) return;
    if (service.running) wake();
    else if (*address) start();
    pthread_mutex_unlock(&service.mutex);
}

/* Those who ask the parent are not ours: their connections must end when the parent ends them. */
void
rb_hs_service_after_fork(void)
{
    pthread_mutex_init(&service.mutex, NULL);
    if (!service.running) return;
    rb_hs_files_after_fork();
    rb_hs_http_after_fork();
    rb_hs_http_family_after_fork();
    memset(service.places, 0, sizeof(service.places));
    rb_hs_memory_forget(HS_MEM_SNAPSHOTS, service.held);
    service.held = 0;
    service.listener = service.wake = -1;
    service.running = false;
    rb_hs_service_start();
}

const char *
rb_hs_service_path(void)
{
    return service.listener >= 0 ? service.address.socket.sun_path : NULL;
}

const char *
rb_hs_service_trouble(void)
{
    return *service.trouble ? service.trouble : NULL;
}
