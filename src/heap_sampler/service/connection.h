#ifndef HEAP_SAMPLER_SERVICE_CONNECTION_H
#define HEAP_SAMPLER_SERVICE_CONNECTION_H
/*
 * One who asks: a request comes in, an answer goes out, and then the connection
 * ends.  A request is a line of the protocol (protocol.h), or the head of one of HTTP
 * (http.h).  Nothing here blocks: whoever sends half a request, or never reads,
 * keeps a place until its deadline and no more.
 *
 * After an answer over HTTP what else comes is read and thrown away, until the
 * other side ends or for two seconds: what is not read when a connection is closed makes the
 * kernel take back the end of the answer, too.
 *
 * No MRI header.  Contract: the service's thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/service/http.h"
#include "heap_sampler/service/protocol.h"

enum hs_connection_state { HS_IS_READING,
                           HS_IS_RESTING,  /* until forced work is allowed again */
                           HS_IS_WAITING,  /* for a safe point */
                           HS_IS_PAUSING,  /* between two profiles */
                           HS_IS_ASKING,   /* others */
                           HS_IS_WRITING,
                           HS_IS_LINGERING,
                           HS_IS_OVER };

struct hs_connection {
    int fd;
    bool http;
    enum hs_connection_state state;
    uint64_t deadline_ns;       /* of the state; rb_hs_steady_ns() */
    uint64_t writing_until_ns;  /* all of the answer */
    char in[HS_HTTP_HEAD_MAX];  /* a line is HS_ASK_LINE_MAX at most */
    size_t in_len;
    struct hs_buffer out;
    size_t written;
};

/* The peer is this process's user, or root. */
bool rb_hs_peer_allowed_p(int fd);
/* One that begins; NULL: no memory. It closes `fd`. */
struct hs_connection *rb_hs_connection_open(int fd, bool http, uint64_t now_ns);
void rb_hs_connection_close(struct hs_connection *connection);

/* Reads what is there. true: the request is whole, a line without its end, or too long. */
bool rb_hs_connection_read(struct hs_connection *connection);
/* The frame that answers, and the end: what `body` holds is copied. */
void rb_hs_connection_answer(struct hs_connection *connection, bool ok, const char *type, const char *body, size_t len, uint64_t now_ns);
/* The same over HTTP. `fields` are more lines of the head; `bodiless`: it was asked for with HEAD. */
struct hs_http_answer {
    int status;
    const char *type, *fields;
    bool bodiless;
};
void rb_hs_connection_answer_http(struct hs_connection *connection, const struct hs_http_answer *answer, const char *body, size_t len, uint64_t now_ns);
/* Writes what the other side takes now. */
void rb_hs_connection_write(struct hs_connection *connection, uint64_t now_ns);
/* Throws away what comes. */
void rb_hs_connection_drain(struct hs_connection *connection);

#endif
