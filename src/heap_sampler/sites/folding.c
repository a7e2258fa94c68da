/* See sites/folding.h. */
#include "heap_sampler/sites/folding.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/estimate/epochs.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/sites/site_table.h"
#include "heap_sampler/stacks/stack_table.h"

#include <string.h>

static const struct hs_user_of_sites *user_of_sites;
static const struct hs_user_of_nodes *user_of_nodes;

void
rb_hs_folding_used_by_sites(const struct hs_user_of_sites *user)
{
    user_of_sites = user;
}

void
rb_hs_folding_used_by_nodes(const struct hs_user_of_nodes *user)
{
    user_of_nodes = user;
}

struct how {
    bool spare;                 /* the sites that have allocated most often stay */
    bool coarse;                /* not even the leaf is kept of what is folded */
};

struct folding {
    struct how how;
    bool *alive;                /* by old site: some record refers to it */
    uint64_t spared_from;       /* as many samples as this: it keeps its name without */
    bool *keep;                 /* by old node: it stays, and so do its parents */
    uint32_t *new_node;         /* by old node */
    uint32_t *new_site;         /* by old site */
    uint32_t *leaf_frame;       /* by old site */
    struct hs_site *old_sites;
    uint32_t site_count;
    const bool *labels;         /* by label set: it stays; NULL: all do */
};

static void
free_folding(struct folding *folding)
{
    rb_hs_free(HS_MEM_TOTALS, folding->alive);
    rb_hs_free(HS_MEM_TOTALS, folding->keep);
    rb_hs_free(HS_MEM_TOTALS, folding->new_node);
    rb_hs_free(HS_MEM_TOTALS, folding->new_site);
    rb_hs_free(HS_MEM_TOTALS, folding->leaf_frame);
    rb_hs_free(HS_MEM_TOTALS, folding->old_sites);
}

static bool
begin_folding(struct folding *folding, struct how how)
{
    uint32_t sites = rb_hs_sampler.site_count, nodes = rb_hs_node_count + 1;    /* the empty stack, before there is a tree */
    *folding = (struct folding){
        .how = how,
        .spared_from = UINT64_MAX,
        .alive = rb_hs_calloc(HS_MEM_TOTALS, sites, sizeof(bool)),
        .keep = rb_hs_calloc(HS_MEM_TOTALS, nodes, sizeof(bool)),
        .new_node = rb_hs_malloc(HS_MEM_TOTALS, nodes * sizeof(uint32_t)),
        .new_site = rb_hs_malloc(HS_MEM_TOTALS, sites * sizeof(uint32_t)),
        .leaf_frame = rb_hs_malloc(HS_MEM_TOTALS, sites * sizeof(uint32_t)),
        .old_sites = rb_hs_malloc(HS_MEM_TOTALS, sites * sizeof(struct hs_site)),
        .site_count = sites,
    };
    if (!folding->alive || !folding->keep || !folding->new_node || !folding->new_site || !folding->leaf_frame ||
        !folding->old_sites) {
        return false;
    }
    if (sites) memcpy(folding->old_sites, rb_hs_sampler.sites, sites * sizeof(*folding->old_sites));
    return true;
}

static uint64_t
samples_ever(uint32_t site)
{
    uint64_t samples = 0;
    for (int s = 0; s < HS_SESSIONS; s++) {
        const struct hs_session *session = &rb_hs_sampler.session[s];
        if (session->on && site < session->totals_count) samples += session->totals[site].alloc.samples;
    }
    return samples;
}

static bool
stays_p(const struct folding *folding, uint32_t site)
{
    return folding->alive[site] || samples_ever(site) >= folding->spared_from;
}

static void
spare_some(struct folding *folding)
{
    struct hs_spared spared = {{0}};
    uint32_t living = 0, max = rb_hs_sites_max(), most = max - max / 8;
    for (uint32_t i = 0; i < folding->site_count; i++) {
        if (folding->alive[i]) living++;
        else rb_hs_spared_count(&spared, samples_ever(i));
    }
    uint32_t room = living < most ? most - living : 0;
    folding->spared_from = rb_hs_spared_from(&spared, room < max / 4 ? room : max / 4);
}

static void
see_the_living(struct folding *folding)
{
    if (user_of_sites) user_of_sites->see(folding->alive);
    if (folding->how.spare) spare_some(folding);
    for (uint32_t i = 0; i < folding->site_count; i++) {
        const struct hs_site *site = &rb_hs_sampler.sites[i];
        folding->leaf_frame[i] = site->node == HS_NODE_EMPTY ? UINT32_MAX : rb_hs_nodes[site->node].frame;
        if (stays_p(folding, i)) folding->keep[site->node] = true;
    }
}

/* The folded site may already stand for others, or be one that lives. There are
 * no more new ones than old, so there is room for them. */
static uint32_t
new_number(const struct folding *folding, uint32_t old)
{
    struct hs_site site = folding->old_sites[old];
    uint32_t node = rb_hs_node_evicted();
    if (stays_p(folding, old)) {
        node = folding->new_node[site.node];
    }
    else if (folding->how.coarse) {
        site.class_id = HS_NO_CLASS;
        site.labels = hs_labels_coarse(site.labels);
    }
    else {
        uint32_t leaf = rb_hs_node_child(node, folding->leaf_frame[old]);
        if (leaf != UINT32_MAX) node = leaf;
    }
    if (folding->labels && !folding->labels[site.labels]) site.labels = HS_LABELS_OTHER;
    site.node = node == UINT32_MAX ? HS_NODE_EMPTY : node;
    return rb_hs_site_anyway(site);
}

/* A site's new number is at most its old one, since sites are numbered anew in
 * their old order: totals can be moved in place. */
static void
move_totals(const struct folding *folding, struct hs_session *session)
{
    for (uint32_t old = 0; old < folding->site_count && old < session->totals_count; old++) {
        uint32_t new = folding->new_site[old];
        if (new == old) continue;
        struct hs_totals totals = session->totals[old];
        memset(&session->totals[old], 0, sizeof(totals));
        rb_hs_totals_add(&session->totals[new], &totals);
    }
}

/* Sites in their old order, under new numbers; how many of them live. */
static uint32_t
number_anew(struct folding *folding)
{
    uint32_t living = 0;
    rb_hs_sites_clear();
    for (uint32_t old = 0; old < folding->site_count; old++) {
        folding->new_site[old] = new_number(folding, old);
        living += folding->alive[old];
    }
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (rb_hs_sampler.session[s].on) move_totals(folding, &rb_hs_sampler.session[s]);
    }
    if (user_of_sites) user_of_sites->renumber(folding->new_site);
    return living;
}

enum { IN_VAIN_SECONDS = 2 };   /* so long after folding in vain it is tried again */

static bool full;
static uint32_t sites_left, nodes_left, in_vain;        /* since the last folding */
static int64_t folded_at;                               /* seconds */

/* Samples are thinned then: folding once more will find what they leave. */
bool
rb_hs_take_sites_full(void)
{
    bool was = full;
    full = false;
    if (was) sites_left = nodes_left = 0;
    return was;
}

/* How many of the sites live; UINT32_MAX: no memory. */
static uint32_t
fold(struct how how)
{
    struct folding folding = {0};
    if (!begin_folding(&folding, how)) {
        free_folding(&folding);
        return UINT32_MAX;
    }
    see_the_living(&folding);
    if (user_of_nodes) user_of_nodes->begin(folding.keep, how.spare);
    rb_hs_nodes_keep(folding.keep, folding.new_node);
    if (user_of_nodes) user_of_nodes->end(folding.new_node);

    uint32_t living = number_anew(&folding);
    rb_hs_stack_drops.stacks += folding.site_count - living;
    free_folding(&folding);
    return living;
}

static bool
mostly(uint32_t part, uint32_t whole)
{
    return part > whole - whole / 4;
}

void
rb_hs_fold_sites(void)
{
    HS_CONTRACT(write);
    uint32_t max = rb_hs_sites_max();

    /* While live samples fill the tables, folding again at once gains nothing. Later it may: a GC can have freed them. */
    if (rb_hs_sampler.site_count < sites_left + max / 16 && rb_hs_node_count < nodes_left + rb_hs_nodes_max() / 16 &&
        ++in_vain < max / 8 && rb_hs_coarse_seconds() <= folded_at + IN_VAIN_SECONDS) {
        return;
    }
    in_vain = 0;
    folded_at = rb_hs_coarse_seconds();
    if (!rb_hs_sampler.site_count) return;
    uint32_t living = fold((struct how){.spare = true});
    if (living == UINT32_MAX) return;
    /* So many lines have allocated what is dead that these fill the table. */
    if (mostly(rb_hs_sampler.site_count, max) && !mostly(living, max)) fold((struct how){.spare = true, .coarse = true});
    /* What was spared has deep stacks. */
    if (mostly(rb_hs_node_count, rb_hs_nodes_max())) fold((struct how){.spare = false});
    sites_left = rb_hs_sampler.site_count;
    nodes_left = rb_hs_node_count;
    full = mostly(living, max);
}

/* -- names that go ---------------------------------------------------------------- */

enum { FULL = 15,               /* sixteenths of a table: what a stack may need is left */
       MOST = 12,               /* more than that after making room: it was in vain */
       FEW = 4 };               /* they may stay for the next session */

static int64_t names_in_vain_at;        /* seconds; 0: it was not */

/* What nodes and sites refer to. */
static void
see_names(bool *frames, bool *classes, uint32_t class_count)
{
    for (uint32_t i = 1; i < rb_hs_node_count; i++) frames[rb_hs_nodes[i].frame] = true;
    for (uint32_t i = 0; i < rb_hs_sampler.site_count; i++) {
        if (rb_hs_sampler.sites[i].class_id < class_count) classes[rb_hs_sampler.sites[i].class_id] = true;
    }
}

/* First what nothing refers to goes, then what only totals refer to, with less of it left each time. */
static void
make_room_for_names(void)
{
    static const struct how hows[] = {{.spare = true}, {.spare = true, .coarse = true}, {.coarse = true}};
    bool ok = rb_hs_names_keep(see_names);
    for (unsigned i = 0; ok && rb_hs_names_crowded(MOST) && i < sizeof(hows) / sizeof(*hows); i++) {
        ok = fold(hows[i]) != UINT32_MAX && rb_hs_names_keep(see_names);
        sites_left = rb_hs_sampler.site_count;
        nodes_left = rb_hs_node_count;
    }
    if (user_of_nodes) user_of_nodes->forget_addresses();
    names_in_vain_at = !ok || rb_hs_names_crowded(MOST) ? rb_hs_coarse_seconds() : 0;
}

static bool
names_full_p(void)
{
    return rb_hs_names_crowded(FULL) &&
        (!names_in_vain_at || rb_hs_coarse_seconds() > names_in_vain_at + IN_VAIN_SECONDS);
}

void
rb_hs_forget_the_dead(void)
{
    HS_CONTRACT(write);
    if (!rb_hs_names_crowded(FEW)) return;
    uint64_t dropped = rb_hs_stack_drops.stacks;
    fold((struct how){.coarse = true});
    make_room_for_names();
    rb_hs_stack_drops.stacks = dropped;         /* nothing that anybody would have seen */
}

/* -- before a stack is resolved ---------------------------------------------------- */

/* A tree that is nearly full is emptied of what only totals refer to.  Each sample comes here: the VM lock is enough to
 * see that there is room. */
void
rb_hs_make_room_for_stack(uint32_t depth)
{
    HS_CONTRACT(vm);
    HS_CONTRACT(free);
    if (rb_hs_nodes_room() > depth && !rb_hs_codes_full_p() && !names_full_p()) return;
    rb_hs_lock();
    if (rb_hs_nodes_room() <= depth) rb_hs_fold_sites();
    if (names_full_p()) make_room_for_names();
    if (rb_hs_codes_full_p()) {
        rb_hs_codes_forget();
        if (user_of_nodes) user_of_nodes->forget_addresses();
    }
    rb_hs_unlock();
}

/* -- label sets that go ---------------------------------------------------------- */

void
rb_hs_sites_see_labels(bool used[HS_LABEL_NUMBERS])
{
    HS_CONTRACT(write);
    bool *alive = rb_hs_calloc(HS_MEM_TOTALS, rb_hs_sampler.site_count, sizeof(bool));
    if (alive && user_of_sites) user_of_sites->see(alive);
    for (uint32_t i = 0; i < rb_hs_sampler.site_count; i++) {
        if (!alive || alive[i]) used[rb_hs_sampler.sites[i].labels] = true;
    }
    rb_hs_free(HS_MEM_TOTALS, alive);
}

/* All sites and nodes stay; what is dead may be counted together. */
bool
rb_hs_sites_keep_labels(const bool used[HS_LABEL_NUMBERS])
{
    HS_CONTRACT(write);
    struct folding folding;
    bool ok = begin_folding(&folding, (struct how){0});
    if (ok) {
        folding.labels = used;
        folding.spared_from = 0;
        for (uint32_t i = 0; i < rb_hs_node_count; i++) folding.new_node[i] = i;
        if (!rb_hs_node_count) folding.new_node[HS_NODE_EMPTY] = HS_NODE_EMPTY;
        number_anew(&folding);
    }
    free_folding(&folding);
    return ok;
}
