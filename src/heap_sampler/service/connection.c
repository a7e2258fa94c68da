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

bool
rb_hs_peer_allowed_p(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
    return peer.uid == 0 || peer.uid == geteuid();
}

struct hs_connection *
rb_hs_connection_open(int fd, uint64_t now_ns)
{
    struct hs_connection *connection = rb_hs_calloc(HS_MEM_SNAPSHOTS, 1, sizeof(*connection));
    if (!connection) return NULL;
    connection->fd = fd;
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

bool
rb_hs_connection_read(struct hs_connection *connection)
{
    ssize_t got = read(connection->fd, connection->in + connection->in_len, sizeof(connection->in) - connection->in_len);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
        connection->state = HS_IS_OVER;
        return false;
    }
    connection->in_len += (size_t)got;
    const char *end = memchr(connection->in, '\n', connection->in_len);
    if (end) connection->in_len = (size_t)(end - connection->in);
    return end || connection->in_len == sizeof(connection->in);         /* too long: the parser says so */
}

void
rb_hs_connection_answer(struct hs_connection *connection, bool ok, const char *type, const char *body, size_t len, uint64_t now_ns)
{
    rb_hs_buffer_printf(&connection->out, "heap-sample/1 %s %s %zu\n", ok ? "ok" : "error", type, len);
    rb_hs_buffer_append(&connection->out, body, len);
    connection->state = connection->out.failed ? HS_IS_OVER : HS_IS_WRITING;
    connection->deadline_ns = now_ns + WRITING_NS;
    connection->writing_until_ns = now_ns + WRITING_MOST_NS;
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
    connection->state = HS_IS_OVER;
}
