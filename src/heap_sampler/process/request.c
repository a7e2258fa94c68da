/* See process/request.h. */
#include "heap_sampler/process/request.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/process/safe_point.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/profile/snapshot.h"
#include "heap_sampler/sites/sampler.h"

#include <errno.h>
#include <string.h>

static int
encode(struct hs_request *request, struct hs_profile *profile)
{
    int error = rb_hs_encode_for(profile, request->format, request->first, &request->out);
    if (!error && request->out.failed) error = ENOMEM;
    request->samples = profile->meta.live_samples;
    return error;
}

static bool
session_on_p(int session)
{
    rb_hs_lock();
    bool on = rb_hs_sampler.session[session].on;
    rb_hs_unlock();
    return on;
}

/* Code that runs gets there at once; code that waits is not woken for a profile. */
enum { SAFE_POINT_MS = 250 };

void
rb_hs_request_begin(struct hs_request *request, struct hs_memory_part *part)
{
    struct hs_memory_part *before = rb_hs_memory_noted();
    rb_hs_memory_note_snapshots(part);
    request->begun = rb_hs_snapshot_begin(request->session, request->flags | HS_FORCED, 0);
    rb_hs_memory_note_snapshots(before);
}

struct beginning {
    struct hs_request *request;
    struct hs_memory_part *part;
};

static void
begin(void *data)
{
    struct beginning *beginning = data;
    rb_hs_request_begin(beginning->request, beginning->part);
}

/* Where no safe point comes there is a profile all the same. */
static struct hs_snapshot *
begin_at_safe_point(struct hs_request *request)
{
    struct beginning beginning = {request, rb_hs_memory_noted()};
    if (rb_hs_at_safe_point(begin, &beginning, SAFE_POINT_MS)) return request->begun;
    struct hs_snapshot *snapshot = rb_hs_snapshot_begin(request->session, request->flags & ~(unsigned)HS_WITH_HOLDERS, 0);
    if (snapshot) rb_hs_snapshot_refuse(snapshot, HS_REFUSED_NO_SAFE_POINT);
    return snapshot;
}

static struct hs_profile *
take(struct hs_request *request)
{
    static const volatile bool never;
    if (request->begun) return rb_hs_snapshot_end(request->begun);
    if (!(request->flags & HS_WITH_HOLDERS)) return rb_hs_snapshot(request->session, request->flags);
    struct hs_snapshot *snapshot = begin_at_safe_point(request);
    if (!snapshot) return NULL;
    rb_hs_snapshot_work(snapshot, request->stopping ? request->stopping : &never);
    return rb_hs_snapshot_end(snapshot);
}

int
rb_hs_request_serve(struct hs_request *request)
{
    struct hs_profile *profile = take(request);
    if (!profile) return session_on_p(request->session) ? ENOMEM : ESRCH;
    int error = encode(request, profile);
    rb_hs_snapshot_free(profile);
    if (error) rb_hs_buffer_free(&request->out);
    return error;
}
