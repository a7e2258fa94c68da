/* See service/family.h. */
#define _GNU_SOURCE 1
#include "heap_sampler/service/family.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/service/address.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum state { TO_ASK,
             ASKED,
             OVER };

struct other {
    struct hs_socket socket;
    enum state state;
    int fd;
    struct hs_buffer in;
    size_t body;                /* where the answer begins in `in`; 0: there is none */
    bool ok;
};

struct hs_others {
    int epoll;
    size_t most;
    uint32_t count, asked;
    char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
    char line[512];
    struct other list[];
};

/* -- who is there ------------------------------------------------------------------------- */

struct listing {
    struct hs_others *others;
    long wanted;
};

/* Processes that are gone may have left thousands behind. */
static void
add(const struct hs_socket *socket, void *data)
{
    struct listing *listing = data;
    struct hs_others *others = listing->others;
    bool wanted = listing->wanted ? socket->pid == listing->wanted : socket->pid != (long)getpid();
    if (!wanted || others->count == HS_OTHERS_MAX || !rb_hs_socket_alive_p(socket)) return;
    others->list[others->count++] = (struct other){.socket = *socket, .fd = -1};
}

static int
compare(const void *left, const void *right)
{
    const struct other *a = left, *b = right;
    return (a->socket.pid > b->socket.pid) - (a->socket.pid < b->socket.pid);
}

struct hs_others *
rb_hs_others_ask(const char *folder, const char *line, long pid, size_t most)
{
    struct hs_others *others = rb_hs_calloc(HS_MEM_SNAPSHOTS, 1, sizeof(*others) + HS_OTHERS_MAX * sizeof(struct other));
    struct listing listing = {others, pid};
    if (!others) return NULL;
    others->most = most;
    others->epoll = epoll_create1(EPOLL_CLOEXEC);
    snprintf(others->folder, sizeof(others->folder), "%s", folder);
    snprintf(others->line, sizeof(others->line), "%s\n", line);
    if (others->epoll >= 0) rb_hs_sockets_each(folder, add, &listing);
    rb_hs_sort(others->list, others->count, sizeof(struct other), compare);
    return others;
}

/* -- one of them -------------------------------------------------------------------------- */

static void
end(struct hs_others *others, struct other *other)
{
    if (other->state == ASKED) others->asked--;
    other->state = OVER;
    if (other->fd >= 0) close(other->fd);
    other->fd = -1;
}

static void
ask(struct hs_others *others, struct other *other)
{
    struct sockaddr_un address;
    struct epoll_event event = {.events = EPOLLIN};
    size_t len = strlen(others->line);
    if (rb_hs_socket_address(&address, others->folder, &other->socket)) other->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    other->state = ASKED;
    others->asked++;
    if (other->fd < 0 || connect(other->fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        send(other->fd, others->line, len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len ||
        epoll_ctl(others->epoll, EPOLL_CTL_ADD, other->fd, &event) != 0) end(others, other);
}

/* "heap-sample/1 ok TYPE LENGTH\n" and so many bytes: whole, or there is no answer. */
static void
understand(struct other *other)
{
    char kind[8], type[16];
    size_t len;
    const struct hs_buffer *in = &other->in;
    char head[96];
    const char *newline = in->len ? memchr(in->ptr, '\n', in->len) : NULL;
    size_t head_len = newline ? (size_t)(newline - in->ptr) : 0;
    if (!newline || head_len >= sizeof(head)) return;
    memcpy(head, in->ptr, head_len);
    head[head_len] = '\0';
    if (sscanf(head, "heap-sample/1 %7s %15s %zu", kind, type, &len) != 3 || len != in->len - head_len - 1) return;
    other->body = head_len + 1;
    other->ok = strcmp(kind, "ok") == 0;
}

static void
hear(struct hs_others *others, struct other *other)
{
    char bytes[16384];
    ssize_t got = recv(other->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) rb_hs_buffer_append(&other->in, bytes, (size_t)got);
    if (got > 0 && !other->in.failed && other->in.len <= others->most) return;
    if (got == 0 && !other->in.failed) understand(other);
    end(others, other);
}

/* -- all of them --------------------------------------------------------------------------- */

bool
rb_hs_others_go_on(struct hs_others *others)
{
    bool over = true;
    if (others->epoll < 0) return true;
    for (uint32_t i = 0; i < others->count; i++) {
        struct other *other = &others->list[i];
        if (other->state == TO_ASK && others->asked < HS_ASKED_AT_ONCE) ask(others, other);
        if (other->state == ASKED) hear(others, other);
        over = over && other->state == OVER;
    }
    return over;
}

int
rb_hs_others_fd(const struct hs_others *others)
{
    return others->epoll;
}

size_t
rb_hs_others_count(const struct hs_others *others)
{
    return others->count;
}

struct hs_other
rb_hs_other(const struct hs_others *others, size_t number)
{
    const struct other *other = &others->list[number];
    if (!other->body) return (struct hs_other){.pid = other->socket.pid};
    return (struct hs_other){other->socket.pid, other->ok, true, other->in.ptr + other->body, other->in.len - other->body};
}

void
rb_hs_others_free(struct hs_others *others)
{
    if (!others) return;
    for (uint32_t i = 0; i < others->count; i++) {
        end(others, &others->list[i]);
        rb_hs_buffer_free(&others->list[i].in);
    }
    if (others->epoll >= 0) close(others->epoll);
    rb_hs_free(HS_MEM_SNAPSHOTS, others);
}
