#ifndef HEAP_SAMPLER_PROCESS_REQUEST_H
#define HEAP_SAMPLER_PROCESS_REQUEST_H
/*
 * A request for a profile: what of, and in which format.  Whoever wants a profile
 * makes one: the timer, the exit, and what asks from outside.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/base/memory.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/profile.h"

struct hs_request {
    /* asked for */
    int session;
    unsigned flags;             /* of rb_hs_snapshot; with HS_WITH_HOLDERS it is asked at a safe point, by a thread without the GVL */
    const volatile bool *stopping;      /* who keeps it is not waited for any more; may be NULL */
    enum hs_format format;      /* of `out` */
    enum hs_shown_first first;
    struct hs_snapshot *begun;  /* by rb_hs_request_begin(), and worked on until it is complete; NULL: it is begun here */
    /* answered */
    struct hs_buffer out;       /* rb_hs_buffer_free() is the caller's; empty after an error */
    uint64_t samples;           /* live ones */
};

/* The part that who keeps it needs at a safe point: then request->begun is there, or NULL where there is no memory. Its memory is
 * counted in `part` (base/memory.h). [gvl] */
void rb_hs_request_begin(struct hs_request *request, struct hs_memory_part *part);
/* 0, or an errno value: ENOMEM, ESRCH where the session is over. [any] */
int rb_hs_request_serve(struct hs_request *request);

#endif
