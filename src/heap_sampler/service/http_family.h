#ifndef HEAP_SAMPLER_SERVICE_HTTP_FAMILY_H
#define HEAP_SAMPLER_SERVICE_HTTP_FAMILY_H
/*
 * The family of our address: asking its members (family.h), and whether whoever has the
 * address is one.  Where a process finds its address taken and there is no other
 * member, a stranger has it: that is warned of, once.
 *
 * Contract: the service's thread.
 */
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/service/family.h"

/* Asks all members, or only `pid`. NULL: there can be none, or no memory. */
struct hs_others *rb_hs_http_ask_family(const char *folder, const char *line, long pid, size_t most);

/* Begins to look for a member, goes on, or has looked. Each turn of the thread. */
void rb_hs_http_look_for_family(const char *folder, uint64_t now_ns);
/* For poll(2), or -1. */
int rb_hs_http_looking_fd(void);
/* The thread has ended. */
void rb_hs_http_looked(void);
/* In the child, whose copies are closed. */
void rb_hs_http_family_after_fork(void);

#endif
