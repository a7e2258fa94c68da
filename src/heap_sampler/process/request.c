/* See process/request.h. */
#include "heap_sampler/process/request.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/profile/snapshot.h"
#include "heap_sampler/profile/writer.h"
#include "heap_sampler/sites/sampler.h"
#include <errno.h>
#include <string.h>

static int
encode(struct hs_request *request, struct hs_profile *profile)
{
    int error = request->add_meta ? request->add_meta(profile, request->data) : 0;
    if (!error) error = rb_hs_encode(profile, request->format, &request->out);
    if (!error && request->out.failed) error = ENOMEM;
    request->bytes = request->out.len;
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

int
rb_hs_request_serve(struct hs_request *request)
{
    if (request->path && !rb_hs_format_of(request->path, &request->format)) return EINVAL;
    struct hs_profile *profile = rb_hs_snapshot(request->session, request->flags);
    if (!profile) return session_on_p(request->session) ? ENOMEM : ESRCH;
    int error = encode(request, profile);
    rb_hs_snapshot_free(profile);
    if (!error && request->path) error = rb_hs_write_file(request->path, request->out.ptr, request->out.len);
    if (error || request->path) rb_hs_buffer_free(&request->out);
    return error;
}
