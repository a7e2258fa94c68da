#ifndef HEAP_SAMPLER_SERVER_PROTOCOL_H
#define HEAP_SAMPLER_SERVER_PROTOCOL_H
/*
 * Version 1 of the protocol (doc/protocol.md): a line comes in, a frame goes out, and then the connection ends.
 *
 *     heap-sample/1 VERB [KEY=VALUE …]\n
 *     heap-sample/1 ok|error TYPE LENGTH\n  and LENGTH bytes
 *
 * What comes over the socket is trusted in nothing, and nothing here blocks: a client that sends half a line, or never
 * reads, keeps its place until its deadline and no more.  No MRI header; tested alone.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/profile/formats.h"

/* -- a line --------------------------------------------------------------------------- */

/* The longest line, its end included. */
enum { HS_ASK_LINE_MAX = 4096,
       HS_ASK_ARGUMENTS_MAX = 16 };

enum hs_verb { HS_ASK_HELLO,
               HS_ASK_PROFILE,
               HS_ASK_MEMORY,
               HS_ASK_START,
               HS_ASK_SET,
               HS_ASK_STOP,
               HS_ASK_WAIT,
               HS_ASK_COMPACT,
               HS_ASK_VERBS };

struct hs_argument {
    const char *key, *value;    /* in the line */
};

struct hs_ask {
    enum hs_verb verb;
    struct hs_argument arguments[HS_ASK_ARGUMENTS_MAX];
    size_t argument_count;
    /* of a profile */
    bool alloc_first;           /* type=alloc_space */
    bool for_agent;             /* for=agent */
    bool gc, why;               /* demanded; else the profile has what its share pays for, and may have none */
    uint64_t stop_ms;           /* of compact: how long it may stop Ruby code; 0: it only says how long it would */
    uint32_t diagnose_ppm;      /* the share of the run time that the answer may force, in millionths; 0: nothing */
};

/* Reads a line, which is cut into words; line[len] is its end. NULL, or what is wrong with it, as a sentence. [any] */
const char *rb_hs_ask_parse(char *line, size_t len, struct hs_ask *ask);
/* The value of an argument, or NULL. */
const char *rb_hs_ask_value(const struct hs_ask *ask, const char *key);

/* -- a connection: the service's thread ----------------------------------------------- */

enum hs_connection_state { HS_IS_READING,
                           HS_IS_RESTING,  /* until forced work is allowed again, or a periodic profile is written */
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
/* One that begins. It closes `fd`. */
void rb_hs_connection_open(struct hs_connection *connection, int fd, uint64_t now_ns);
void rb_hs_connection_close(struct hs_connection *connection);
/* Reads what is there. true: the line is whole, without its end, or too long. */
bool rb_hs_connection_read(struct hs_connection *connection);
/* The frame that answers. */
void rb_hs_frame(struct hs_buffer *out, bool ok, const char *type, const char *body, size_t len);
/* The connection writes it from now on. */
void rb_hs_connection_answer(struct hs_connection *connection, bool ok, const char *type, const char *body, size_t len, uint64_t now_ns);
/* Writes what the other side takes now. */
void rb_hs_connection_write(struct hs_connection *connection, uint64_t now_ns);

#endif
