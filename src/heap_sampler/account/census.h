#ifndef HEAP_SAMPLER_ACCOUNT_CENSUS_H
#define HEAP_SAMPLER_ACCOUNT_CENSUS_H
/*
 * How many threads and fibers there are, what they do, where they were made,
 * and how much of their stacks is resident.  Plain data.
 *
 * What was never touched of a stack is not resident, and in no figure but
 * `malloced`, which the account subtracts from what malloc(3) says of itself.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/account/population.h"
#include "heap_sampler/base/texts.h"

struct hs_birthplace {
    enum hs_alive_kind kind;
    uint32_t line;              /* 0: none */
    struct hs_text path;        /* stays */
    struct hs_population population;
};

enum { HS_BIRTHPLACES = 64 };   /* of a kind in a census, the most populous; what is left is "(other)" */

struct hs_census {
    bool taken;
    bool stacks_known;          /* else the kernel did not say what is resident */
    struct hs_population of[HS_ALIVE_KINDS];
    uint64_t malloced;          /* bytes of stacks from malloc(3), of those that ended too, */
    uint64_t malloced_resident; /* and of these the resident */
    struct hs_birthplace *places;       /* by kind, the most populous first; NULL: no memory */
    uint32_t place_count;
};

/* Without `places` it allocates nothing. Free it. [any] [free] */
void rb_hs_census_take(struct hs_census *census, bool places);
void rb_hs_census_free(struct hs_census *census);

#endif
