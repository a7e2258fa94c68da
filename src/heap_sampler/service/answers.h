#ifndef HEAP_SAMPLER_SERVICE_ANSWERS_H
#define HEAP_SAMPLER_SERVICE_ANSWERS_H
/*
 * What is answered to whom.  What needs no GVL is answered at once, whatever
 * Ruby code does; what changes settings, or runs a GC, at the next safe point.
 */
#include <stdbool.h>
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/service/protocol.h"

struct hs_answer {
    bool ok;                    /* else `out` is a sentence */
    const char *type;           /* "json", "pb.gz" or "text" */
    struct hs_buffer out;
};

/* What part of it needs a safe point comes first? */
bool rb_hs_ask_needs_ruby_p(const struct hs_ask *ask);
/* That part; false: the answer is there already. [gvl] */
bool rb_hs_answer_in_ruby(const struct hs_ask *ask, struct hs_answer *answer);
/* The rest, a thread without the GVL. */
void rb_hs_answer(const struct hs_ask *ask, struct hs_answer *answer);
void rb_hs_answer_error(struct hs_answer *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
