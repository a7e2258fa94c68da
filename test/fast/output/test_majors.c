/*
 * The list of major GCs over a long life: it is bounded, has the newest and the first, and the older ones evenly.
 */
#include "tap.h"
#include "heap_sampler/memory/majors.h"

static bool
right_p(const struct hs_majors *majors, uint32_t last)
{
    const struct hs_major *list = majors->list;
    uint32_t count = majors->count, all = last + 1;
    if (count > HS_MAJORS || list[0].gc != 0) return false;
    for (uint32_t i = 0; i < HS_MAJORS_NEWEST && i < count; i++) {
        if (list[count - 1 - i].gc != last - i) return false;
    }
    if (all <= HS_MAJORS) return count == all;
    uint32_t older = count - HS_MAJORS_NEWEST, step = list[1].gc;
    for (uint32_t i = 0; i < older; i++) {
        if (list[i].gc != i * step) return false;
    }
    return older >= (HS_MAJORS - HS_MAJORS_NEWEST) / 2 && older * step + HS_MAJORS_NEWEST >= all && !(step & (step - 1));
}

void
test_majors(void)
{
    enum { ALL = 1000000 };
    struct hs_majors majors = {0};
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < ALL; i++) {
        struct hs_major major = {.gc = i, .slots = {i}};
        rb_hs_majors_add(&majors, &major);
        wrong += !right_p(&majors, i);
    }
    ok(!wrong, "major GCs: %u of %d lists are wrong", wrong, ALL);
    ok(majors.list[majors.count - 1].slots[0] == ALL - 1 && majors.list[5].slots[0] == majors.list[5].gc, "each has what it had");
}
