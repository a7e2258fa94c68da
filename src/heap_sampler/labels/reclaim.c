/* See labels/reclaim.h. */
#include "heap_sampler/labels/reclaim.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/labels/fibers.h"

/* What frees fewer is not done again at once: a second later. */
enum { WORTH = HS_LABEL_SETS_MAX / 16 };

enum { USERS_MAX = 2 };
static const struct hs_user_of_labels *users[USERS_MAX];
static int64_t in_vain_at;      /* seconds */

void
rb_hs_labels_used_by(const struct hs_user_of_labels *user)
{
    int i = 0;
    while (users[i]) i++;
    users[i] = user;
}

/* Pins first: who goes back to a set has it before taking the pin off. */
static void
see_used(bool used[HS_LABEL_NUMBERS])
{
    rb_hs_label_sets_see_pinned(used);
    rb_hs_fibers_see_labels(used);
    rb_hs_lock();
    for (int i = 0; i < USERS_MAX && users[i]; i++) users[i]->see(used);
    rb_hs_unlock();
}

static uint32_t
free_others(const bool used[HS_LABEL_NUMBERS])
{
    bool gone[HS_LABEL_NUMBERS] = {false}, replaced = true;
    uint32_t freed = 0;
    for (uint32_t i = 1; i <= HS_LABEL_SETS_MAX; i++) gone[i] = !used[i];
    rb_hs_lock();
    for (int i = 0; i < USERS_MAX && users[i]; i++) replaced = users[i]->replace(gone) && replaced;
    if (replaced) freed = rb_hs_label_sets_free(gone);
    rb_hs_unlock();
    return freed;
}

static void
make_room(void)
{
    bool used[HS_LABEL_NUMBERS] = {false};
    int64_t now = rb_hs_coarse_seconds();
    if (in_vain_at && now <= in_vain_at + 1) return;
    rb_hs_fibers_stand_still();
    see_used(used);
    in_vain_at = free_others(used) < WORTH ? now : 0;
}

void
rb_hs_label_sets_make_room(const char *text, size_t len)
{
    HS_CONTRACT(vm);
    HS_CONTRACT(free);
    if (!rb_hs_label_set_fits_p(text, len)) make_room();
}
