#ifndef HEAP_SAMPLER_SERVICE_CONNECTION_H
#define HEAP_SAMPLER_SERVICE_CONNECTION_H
/*
 * One who asks: a line comes in (protocol.h), an answer goes out, and then the
 * connection ends.  Nothing here blocks: whoever sends half a line, or never reads,
 * keeps a place until its deadline and no more.
 *
 * No MRI header.  Contract: the service's thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/service/protocol.h"

enum hs_connection_state { HS_IS_READING,
                           HS_IS_RESTING,  /* until forced work is allowed again */
                           HS_IS_WORKING,  /* a safe point, or a child that walks the heap */
                           HS_IS_WAITING,  /* for the end of the process */
                           HS_IS_WRITING,
                           HS_IS_OVER };

struct hs_connection {
    int fd;
    enum hs_connection_state state;
    uint64_t deadline_ns;       /* of the state; rb_hs_steady_ns() */
    uint64_t writing_until_ns;  /* all of the answer */
    char in[HS_ASK_LINE_MAX];
    size_t in_len;
    struct hs_buffer out;
    size_t written;
};

/* The peer is this process's user, or root. */
bool rb_hs_peer_allowed_p(int fd);
/* One that begins; NULL: no memory. It closes `fd`. */
struct hs_connection *rb_hs_connection_open(int fd, uint64_t now_ns);
void rb_hs_connection_close(struct hs_connection *connection);

/* Reads what is there. true: the line is whole, without its end, or too long. */
bool rb_hs_connection_read(struct hs_connection *connection);
/* The frame that answers, and the end: what `body` holds is copied. */
void rb_hs_connection_answer(struct hs_connection *connection, bool ok, const char *type, const char *body, size_t len, uint64_t now_ns);
/* Writes what the other side takes now. */
void rb_hs_connection_write(struct hs_connection *connection, uint64_t now_ns);

#endif
