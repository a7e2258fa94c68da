#ifndef HEAP_SAMPLER_SERVICE_ANSWERS_H
#define HEAP_SAMPLER_SERVICE_ANSWERS_H
/*
 * What is answered to whom.  What needs no GVL is answered at once, whatever
 * Ruby code does; what changes settings, or runs a GC, at the next safe point.
 */
#include <stdbool.h>
#include "heap_sampler/account/account.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/service/protocol.h"

struct hs_answer {
    bool ok;                    /* else `out` is a sentence */
    const char *type;           /* "json", "pb.gz" or "text" */
    struct hs_buffer out;
    struct hs_account account;  /* of now, for start */
    struct hs_snapshot *begun;  /* a profile that is not complete yet: a walk is under way */
};

/* What part of it needs a safe point comes first? */
bool rb_hs_ask_needs_ruby_p(const struct hs_ask *ask);
/* Is a GC or a walk demanded (gc=1, why=1)? Else a profile has what its share pays for, and may have none. */
bool rb_hs_ask_demands_p(const struct hs_ask *ask);
/* How long until the share has paid for what was forced so far; 0: it has, or nothing is demanded. */
uint64_t rb_hs_ask_waits_ns(const struct hs_ask *ask);
/* What comes before it, and takes time. false: the answer, an error, is there already. */
bool rb_hs_answer_prepare(const struct hs_ask *ask, struct hs_answer *answer);
/* That part, at a safe point (process/safe_point.h). `part` counts the memory. [gvl] */
void rb_hs_answer_in_ruby(const struct hs_ask *ask, struct hs_answer *answer, struct hs_memory_part *part);
/* The rest, a thread without the GVL. false: it takes time, in which others are answered; then it is called again. */
bool rb_hs_answer(const struct hs_ask *ask, struct hs_answer *answer);
/* Nobody wants it any more. */
void rb_hs_answer_drop(struct hs_answer *answer);
void rb_hs_answer_error(struct hs_answer *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
