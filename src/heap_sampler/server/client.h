#ifndef HEAP_SAMPLER_SERVER_CLIENT_H
#define HEAP_SAMPLER_SERVER_CLIENT_H
/*
 * A client, from the request to the end of the answer.
 *
 *     reading --> resting --> working --> writing --> over
 *             (gc=1, why=1)   (diagnose=, start, set, stop: a safe point; then a walk, too)
 *     reading --> waiting for the end of the process
 *
 * What a request does not need is left out: what needs no GVL is answered at once, whatever Ruby code does; what
 * changes settings, or forces a GC or a walk, at the next safe point.  Contract: the service's thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/base/memory.h"
#include "heap_sampler/memory/account.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/snapshot.h"
#include "heap_sampler/server/protocol.h"

/* What all clients share. */
struct hs_clients {
    struct hs_memory_part held; /* their snapshots */
    unsigned waiting;           /* for the end of the process */
};

struct hs_client {
    struct hs_clients *all;
    struct hs_connection connection;
    struct hs_ask ask;
    uint64_t asked_ns;          /* when the request was read */
    struct hs_account account;  /* of then, for start */
    struct hs_compaction compaction;
    struct hs_snapshot *begun;  /* a profile that is not complete yet: a walk is under way */
    bool ok;                    /* else the answer is a sentence */
    const char *type;           /* "json", "pb.gz" or "text" */
    struct hs_buffer answer;
    struct hs_safe_call call;   /* the part that a safe point does */
    bool calling;               /* the call is not settled */
    bool waits;                 /* it is counted in all->waiting */
    bool halted;                /* periodic profiles, until the settings have changed */
};

/* It closes `fd`; NULL: no memory. */
struct hs_client *rb_hs_client_open(int fd, struct hs_clients *all, uint64_t now_ns);
/* What has happened, of poll(2). false: it is over, and freed. */
bool rb_hs_client_serve(struct hs_client *client, short happened, uint64_t now_ns);
/* The process ends as it should: a client that waits for that is answered. It is freed. */
void rb_hs_client_end(struct hs_client *client, uint64_t now_ns);

/* For poll(2): what to look for, and until when. */
short rb_hs_client_events(const struct hs_client *client);
uint64_t rb_hs_client_due(const struct hs_client *client, uint64_t now_ns);

/* What the process says about itself without a profile: about.c */
void rb_hs_answer_hello(struct hs_buffer *out);
/* With a compaction: how full heap pages are, too. It may be NULL. */
void rb_hs_answer_memory(struct hs_buffer *out, const struct hs_compaction *compaction);

#endif
