/* See holders/holders.h. */
#include "heap_sampler/holders/holders.h"
#include "heap_sampler/base/memory.h"

const char *
rb_hs_refusal_text(enum hs_refusal refusal)
{
    static const char *const texts[HS_REFUSAL_COUNT] = {
#define HS_REFUSAL(refusal, text) [HS_REFUSED_##refusal] = text,
        HS_REFUSALS(HS_REFUSAL)
#undef HS_REFUSAL
    };
    return texts[refusal];
}

void
rb_hs_holders_free(struct hs_holders *holders)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, holders->nodes);
    rb_hs_free(HS_MEM_SNAPSHOTS, holders->texts);
    rb_hs_free(HS_MEM_SNAPSHOTS, holders->bytes);
    rb_hs_free(HS_MEM_SNAPSHOTS, holders->object_nodes);
    rb_hs_free(HS_MEM_SNAPSHOTS, holders->block_nodes);
    rb_hs_free(HS_MEM_SNAPSHOTS, holders->object_pins);
    holders->nodes = NULL;
    holders->texts = NULL;
    holders->bytes = NULL;
    holders->object_nodes = holders->block_nodes = NULL;
    holders->object_pins = NULL;
    holders->node_count = holders->text_count = holders->object_count = holders->block_count = holders->freed_count = 0;
}
