/* See profile/kept_chain.h. */
#include "heap_sampler/profile/kept_chain.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/profile/encode.h"

void
rb_hs_append_chain(struct hs_buffer *out, const struct hs_profile *profile, uint32_t node)
{
    enum { STEPS_MOST = 64 };
    const struct hs_holder *nodes = profile->holders.nodes;
    uint32_t names[STEPS_MOST], count = 0;
    for (;; node = nodes[node].parent) {
        names[count++] = nodes[node].name;
        if (nodes[node].parent == node || count == STEPS_MOST) break;
    }
    while (count) {
        rb_hs_append_json(out, profile->texts[names[--count]]);
        if (count) rb_hs_buffer_puts(out, ",");
    }
}
