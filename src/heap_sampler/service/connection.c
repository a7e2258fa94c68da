/* See service/connection.h. */
#define _GNU_SOURCE 1           /* struct ucred */
#include "heap_sampler/service/connection.h"
#include "heap_sampler/base/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECONDS UINT64_C(1000000000)
/* A line is typed by a program. A reader that takes something now and then gets all of its answer, in so long at most. */
#define READING_NS (5 * SECONDS)
#define WRITING_NS (30 * SECONDS)
#define WRITING_MOST_NS (600 * SECONDS)
#define LINGERING_NS (2 * SECONDS)

bool
rb_hs_peer_allowed_p(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
    return peer.uid == 0 || peer.uid == geteuid();
}

struct hs_connection *
rb_hs_connection_open(int fd, bool http, uint64_t now_ns)
{
    struct hs_connection *connection = rb_hs_calloc(HS_MEM_SNAPSHOTS, 1, sizeof(*connection));
    if (!connection) return NULL;
    connection->fd = fd;
    connection->http = http;
    connection->deadline_ns = now_ns + READING_NS;
    return connection;
}

void
rb_hs_connection_close(struct hs_connection *connection)
{
    close(connection->fd);
    rb_hs_buffer_free(&connection->out);
    rb_hs_free(HS_MEM_SNAPSHOTS, connection);
}

/* The length of the request; 0: it is not whole. */
static size_t
whole(struct hs_connection *connection)
{
    if (connection->http) return rb_hs_http_head_length(connection->in, connection->in_len);
    const char *end = memchr(connection->in, '\n', connection->in_len);
    return end ? (size_t)(end - connection->in) + 1 : 0;
}

bool
rb_hs_connection_read(struct hs_connection *connection)
{
    size_t most = connection->http ? sizeof(connection->in) : HS_ASK_LINE_MAX;
    ssize_t got = read(connection->fd, connection->in + connection->in_len, most - connection->in_len);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
        connection->state = HS_IS_OVER;
        return false;
    }
    connection->in_len += (size_t)got;
    size_t len = whole(connection);
    if (len) connection->in_len = len - !connection->http;
    return len || connection->in_len == most;   /* too long: the parser says so */
}

static void
send_all(struct hs_connection *connection, uint64_t now_ns)
{
    connection->state = connection->out.failed ? HS_IS_OVER : HS_IS_WRITING;
    connection->deadline_ns = now_ns + WRITING_NS;
    connection->writing_until_ns = now_ns + WRITING_MOST_NS;
}

void
rb_hs_connection_answer(struct hs_connection *connection, bool ok, const char *type, const char *body, size_t len, uint64_t now_ns)
{
    rb_hs_buffer_printf(&connection->out, "heap-sample/1 %s %s %zu\n", ok ? "ok" : "error", type, len);
    rb_hs_buffer_append(&connection->out, body, len);
    send_all(connection, now_ns);
}

void
rb_hs_connection_answer_http(struct hs_connection *connection, const struct hs_http_answer *answer, const char *body, size_t len, uint64_t now_ns)
{
    rb_hs_http_put_head(&connection->out, answer->status, answer->type, answer->fields ? answer->fields : "", len);
    if (!answer->bodiless) rb_hs_buffer_append(&connection->out, body, len);
    send_all(connection, now_ns);
}

static void
end(struct hs_connection *connection, uint64_t now_ns)
{
    connection->state = connection->http ? HS_IS_LINGERING : HS_IS_OVER;
    connection->deadline_ns = now_ns + LINGERING_NS;
    rb_hs_buffer_free(&connection->out);
    connection->written = 0;
    if (connection->http && shutdown(connection->fd, SHUT_WR) != 0) connection->state = HS_IS_OVER;
}

void
rb_hs_connection_write(struct hs_connection *connection, uint64_t now_ns)
{
    const struct hs_buffer *out = &connection->out;
    while (connection->written < out->len) {
        ssize_t put = send(connection->fd, out->ptr + connection->written, out->len - connection->written, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EAGAIN) return;
        if (put <= 0) {
            connection->state = HS_IS_OVER;
            return;
        }
        connection->written += (size_t)put;
        connection->deadline_ns = now_ns + WRITING_NS < connection->writing_until_ns ? now_ns + WRITING_NS : connection->writing_until_ns;
    }
    end(connection, now_ns);
}

/* No more than some at once: others are served, too. */
void
rb_hs_connection_drain(struct hs_connection *connection)
{
    char bytes[8192];
    for (int i = 0; i < 16; i++) {
        ssize_t got = recv(connection->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) {
            connection->state = HS_IS_OVER;
            return;
        }
    }
}
