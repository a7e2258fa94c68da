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

/* Points of a process: at each, so many slots are alive, of 40 bytes, and malloc's bytes are known for each third point. */
static bool
rises_p(uint32_t count, uint32_t (*alive)(uint32_t point), uint64_t since)
{
    struct hs_majors majors = {0};
    for (uint32_t i = 0; i < count; i++) {
        struct hs_major major = {.ns = i + 1, .gc = i, .slots = {alive(i)}, .malloc = i % 3 ? 0 : UINT64_C(20) * alive(i)};
        rb_hs_majors_add(&majors, &major);
    }
    return rb_hs_majors_rise_p(&majors, since);
}

static uint32_t
leaks(uint32_t point)
{
    return 1000 + 50 * point;
}

static uint32_t
begins_and_stays(uint32_t point)
{
    return point < 6 ? 100 * point : 600 + point % 7;
}

static uint32_t
saw(uint32_t point)
{
    return 1000 + 100 * (point % 10);
}

static uint32_t
peak_then_leaks(uint32_t point)
{
    return point == 20 ? 100000 : leaks(point);
}

static void
test_rises(void)
{
    ok(rises_p(40, leaks, 0) && rises_p(8, leaks, 0) && rises_p(100000, leaks, 0), "major GCs: memory rises where each leaves more alive");
    ok(!rises_p(7, leaks, 0), "seven points are too few");
    ok(rises_p(40, leaks, 30) && !rises_p(40, leaks, 31), "since a walk: when a quarter of the points are newer than it");
    uint32_t wrong = 0;
    for (uint32_t count = 25; count < 2000; count++) wrong += rises_p(count, begins_and_stays, 0) + rises_p(count, saw, 0);
    for (uint32_t count = 8; count < 25; count++) wrong += rises_p(count, begins_and_stays, 7);
    ok(!wrong, "a process that has begun, and one whose memory goes up and down, do not rise (%u do)", wrong);
    ok(!rises_p(70, peak_then_leaks, 21) && rises_p(2000, peak_then_leaks, 21), "after a walk at a peak a leak is seen in the end");
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
    test_rises();
}
