#ifndef HEAP_SAMPLER_SERVICE_FAMILY_H
#define HEAP_SAMPLER_SERVICE_FAMILY_H
/*
 * Asking other processes over their sockets: the one that answers HTTP asks its
 * family, which is all processes of the user that are told of the same address.
 *
 * Their sockets stand in one folder (address.h); which of them are members, they say
 * themselves.  So all are asked, `of=` that address, and those that are told of
 * another refuse.  At most HS_ASKED_AT_ONCE of them are asked at a time.  Nothing here
 * waits: the descriptor of `rb_hs_others_fd` can be read when there is something to do.
 *
 * No MRI header.  Contract: the service's thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/profile/buffer.h"

enum { HS_OTHERS_MAX = 256,
       HS_ASKED_AT_ONCE = 8 };

struct hs_other {
    long pid;
    bool ok;                    /* it answered, and did not refuse; else it is left out, or `text` is its sentence */
    bool answered;
    const char *text;           /* `len` bytes */
    size_t len;
};

struct hs_others;
/* Asks all that have a socket in the folder but this process, or only `pid`, if it is not 0. `most`: bytes of an answer.
 * NULL: no memory. */
struct hs_others *rb_hs_others_ask(const char *folder, const char *line, long pid, size_t most);
int rb_hs_others_fd(const struct hs_others *others);
/* Goes on; true: all have answered, or cannot. */
bool rb_hs_others_go_on(struct hs_others *others);
/* How many were asked, and the one of a number, in the order of their process ids. */
size_t rb_hs_others_count(const struct hs_others *others);
struct hs_other rb_hs_other(const struct hs_others *others, size_t number);
void rb_hs_others_free(struct hs_others *others);

#endif
