#ifndef HEAP_SAMPLER_HOLDERS_CHILD_H
#define HEAP_SAMPLER_HOLDERS_CHILD_H
/* What the forked child does, from its first instruction to its last: see ask.h. */
#include "heap_sampler/holders/ask.h"
#include "heap_sampler/holders/walk.h"

enum hs_child_exit { HS_CHILD_DONE,
                     HS_CHILD_NO_ROOM = 3,
                     HS_CHILD_NOT_WRITTEN = 4 };

struct hs_child_order {
    int memfd;
    unsigned seconds;           /* after so many it is killed by an alarm */
    struct hs_progress *progress;
    const struct hs_wanted *wanted;
};

void rb_hs_child_run(const struct hs_child_order *order) __attribute__((noreturn));

#endif
