/*
 * See store/store.h.
 *
 * When a table is full, sites without live samples become one (are folded).  The quarter of the sites that has
 * allocated most often is not folded, since these will allocate again.  Of a folded site
 * its innermost frame remains below `(evicted)` (Ruby's and, for malloc, the native one), with its totals.  If three
 * quarters of the table are still full, the frames go too, and all such sites become one.  If the sites with live
 * samples alone are so many, the interval of the session that holds the most doubles.  Sites of both stores stand on
 * one tree: where slots are folded, malloc is.
 *
 * Names (frames, classes, texts): when a table is 15/16 full, before the next stack is resolved, those that nothing
 * refers to are freed, and their numbers are used again.  Other numbers do not change.
 */
#include "heap_sampler/store/store.h"
#include "heap_sampler/store/class_table.h"
#include "heap_sampler/store/label_sets.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/store/malloc_table.h"
#include "heap_sampler/store/page_table.h"
#include "heap_sampler/store/stack_table.h"

#include <string.h>

enum { SLOTS = 1 << 0,
       BLOCKS = 1 << 1,
       BOTH = SLOTS | BLOCKS };
static struct hs_store *const stores[] = {&rb_hs_slot_store, &rb_hs_malloc_store};

struct old_site {
    struct hs_site site;
    uint32_t leaf;              /* frame; UINT32_MAX: none */
    uint32_t number;            /* its new one */
    bool alive;                 /* some record refers to it, or it has no names yet */
};

/* The sites of one store get other numbers. */
struct folding {
    struct hs_store *store;
    bool coarse;                /* not even the leaf remains of what is folded */
    uint64_t spared_from;       /* a site with as many samples remains without a live one */
    struct old_site *sites;
    uint32_t site_count, living;
    const uint32_t *new_node;   /* by old node; NULL: nodes remain as they are */
};

/* `visit` sees all records, also those that wait for listeners. */
static void
each_record(const struct hs_store *store, hs_visit visit, void *data)
{
    store->each(visit, data);
    if (store->each_waiting) store->each_waiting(visit, data);
}

static bool
see_site(struct hs_record *record, const struct rb_heap_sampler_page *page, void *sites)
{
    ((struct old_site *)sites)[record->site].alive = true;
    return true;
}

/* false: no memory. The caller frees folding->sites. */
static bool
begin_folding(struct folding *folding, struct hs_store *store)
{
    *folding = (struct folding){.store = store, .site_count = store->site_count};
    folding->sites = rb_hs_calloc(HS_MEM_TOTALS, (size_t)store->site_count + 1, sizeof(*folding->sites));
    for (uint32_t i = 0; folding->sites && i < folding->site_count; i++) folding->sites[i].site = store->sites[i];
    return folding->sites;
}

static void
see_the_living(struct folding *folding)
{
    each_record(folding->store, see_site, folding->sites);
    for (uint32_t i = 0; i < folding->site_count; i++) {
        struct old_site *old = &folding->sites[i];
        uint32_t node = old->site.node;
        if (node >= HS_NODE_RAW) old->alive = true;
        old->leaf = node == HS_NODE_EMPTY || node >= HS_NODE_RAW ? UINT32_MAX : rb_hs_nodes[node].frame;
        folding->living += old->alive;
    }
}

/* -- which are folded ------------------------------------------------------------- */

static uint64_t
samples_ever(const struct hs_store *store, uint32_t site)
{
    uint64_t samples = 0;
    for (int s = 0; s < HS_SESSIONS; s++) {
        const struct hs_session *session = &store->session[s];
        if (session->on && site < session->totals_count) samples += session->totals[site].alloc.samples;
    }
    return samples;
}

static bool
stays_p(const struct folding *folding, uint32_t site)
{
    return !folding->spared_from || folding->sites[site].alive || samples_ever(folding->store, site) >= folding->spared_from;
}

static unsigned
significant_bits(uint64_t number)
{
    return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

/* Of the sites without live samples, those that have allocated most often keep their names, since they will again. Sites
 * that have allocated once never all keep theirs, or none would be folded. An eighth of the table is left for new sites, since
 * in_vain_p() lets folding wait until a sixteenth has come. */
static void
spare_some(struct folding *folding)
{
    uint32_t by_bits[65] = {0}; /* how many have so many significant bits in their number of samples */
    uint32_t max = folding->store->sites_max(), most = max / 16 * 13;
    uint32_t room = folding->living < most ? most - folding->living : 0;
    unsigned bits = 65;
    for (uint32_t i = 0; i < folding->site_count; i++) {
        if (!folding->sites[i].alive) by_bits[significant_bits(samples_ever(folding->store, i))]++;
    }
    if (room > max / 4) room = max / 4;
    while (bits > 2 && by_bits[bits - 1] <= room) room -= by_bits[--bits];
    folding->spared_from = bits > 64 ? UINT64_MAX : UINT64_C(1) << (bits - 1);
}

static void
see_nodes(const struct folding *folding, bool *keep)
{
    for (uint32_t i = 0; i < folding->site_count; i++) {
        uint32_t node = folding->sites[i].site.node;
        if (node < HS_NODE_RAW && stays_p(folding, i)) keep[node] = true;
    }
}

/* -- new numbers ------------------------------------------------------------------ */

/* What is kept of a site without live samples: the leaf, or not even that. */
static void
fold_site(const struct folding *folding, uint32_t leaf_frame, struct hs_site *site)
{
    uint32_t node = rb_hs_node_evicted();
    if (folding->coarse) {
        site->what = HS_NO_CLASS;
        site->labels = hs_labels_coarse(site->labels);
    }
    else {
        uint32_t leaf = rb_hs_node_child(node, leaf_frame);
        if (leaf != UINT32_MAX) node = leaf;
        if (folding->store->malloc) site->what = rb_hs_malloc_native_leaf(site->what);
    }
    if (site->node != HS_NODE_EMPTY) site->node = node == UINT32_MAX ? HS_NODE_EMPTY : node;
}

/* The folded site may already stand for others, or be one that lives. There are
 * no more new ones than old, so there is room for them. */
static uint32_t
new_number(const struct folding *folding, uint32_t old)
{
    struct hs_site site = folding->sites[old].site;
    if (!stays_p(folding, old)) fold_site(folding, folding->sites[old].leaf, &site);
    else if (site.node >= HS_NODE_RAW) site.node = rb_hs_malloc_node(site.node);
    else if (folding->new_node) site.node = folding->new_node[site.node];
    return rb_hs_site_in(folding->store, site, HS_SITE_ANYWAY);
}

/* A site's new number is at most its old one, since sites are numbered anew in
 * their old order: totals can be moved in place. */
static void
move_totals(const struct folding *folding, struct hs_session *session)
{
    for (uint32_t old = 0; old < folding->site_count && old < session->totals_count; old++) {
        uint32_t new = folding->sites[old].number;
        if (new == old) continue;
        struct hs_totals totals = session->totals[old];
        memset(&session->totals[old], 0, sizeof(totals));
        rb_hs_totals_add(&session->totals[new], &totals);
    }
}

static bool
renumber_site(struct hs_record *record, const struct rb_heap_sampler_page *page, void *sites)
{
    record->site = ((struct old_site *)sites)[record->site].number;
    return true;
}

/* Sites in their old order, under new numbers. */
static void
number_anew(struct folding *folding)
{
    struct hs_store *store = folding->store;
    rb_hs_sites_clear(store);
    for (uint32_t old = 0; old < folding->site_count; old++) folding->sites[old].number = new_number(folding, old);
    if (store->site_count == folding->site_count) return;       /* none became another, so that each is what it was */
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (store->session[s].on) move_totals(folding, &store->session[s]);
    }
    each_record(store, renumber_site, folding->sites);
}

/* Sites of malloc whose stacks have been named get their nodes, and those that are the same then become one. Without memory
 * they get them the next time. The malloc mutex is held. */
static bool
join_blocks(void)
{
    struct folding folding;
    bool ok = begin_folding(&folding, &rb_hs_malloc_store);
    if (ok) {
        number_anew(&folding);
        rb_hs_malloc_joined();
    }
    rb_hs_free(HS_MEM_TOTALS, folding.sites);
    return ok;
}

/* -- folding ----------------------------------------------------------------------- */

struct how {
    unsigned stores;            /* BOTH: and the tree */
    unsigned coarse;            /* stores whose folded sites do not keep their leaves */
    bool spare;                 /* the sites that have allocated most often remain */
};

static void
fold_sites(struct folding folding[2], struct how how, bool *keep, uint32_t *new_node)
{
    for (int i = 0; i < 2; i++) {
        if (!folding[i].store) continue;
        folding[i].coarse = how.coarse >> i & 1;
        folding[i].spared_from = UINT64_MAX;
        see_the_living(&folding[i]);
        if (how.spare) spare_some(&folding[i]);
        if (keep) see_nodes(&folding[i], keep);
    }
    if (keep) rb_hs_nodes_keep(keep, new_node);
    for (int i = 0; i < 2; i++) {
        if (!folding[i].store) continue;
        folding[i].new_node = new_node;
        number_anew(&folding[i]);
        folding[i].store->living = folding[i].living;
        if (folding[i].store->malloc) rb_hs_malloc_folded(new_node != NULL);
        else rb_hs_stack_drops.stacks += folding[i].site_count - folding[i].living;
    }
}

/* The malloc mutex is held. false: no memory. */
static bool
fold(struct how how)
{
    struct folding folding[2] = {{0}};
    size_t nodes = (size_t)rb_hs_node_count + 1;        /* the empty stack, before there is a tree */
    bool *keep = NULL, ok = true;
    uint32_t *new_node = NULL;
    if (how.stores == BOTH) {
        keep = rb_hs_calloc(HS_MEM_TOTALS, nodes, sizeof(*keep));
        new_node = rb_hs_calloc(HS_MEM_TOTALS, nodes, sizeof(*new_node));
        ok = keep && new_node && join_blocks();
    }
    for (int i = 0; ok && i < 2; i++) {
        if (how.stores >> i & 1) ok = begin_folding(&folding[i], stores[i]);
    }
    if (ok) fold_sites(folding, how, keep, new_node);
    for (int i = 0; i < 2; i++) rb_hs_free(HS_MEM_TOTALS, folding[i].sites);
    rb_hs_free(HS_MEM_TOTALS, keep);
    rb_hs_free(HS_MEM_TOTALS, new_node);
    return ok;
}

static bool
mostly(uint32_t part, uint32_t whole)
{
    return part > whole - whole / 4;
}

static void
note_folded(struct hs_store *store)
{
    store->sites_left = store->site_count;
    store->nodes_left = rb_hs_node_count;
}

enum { IN_VAIN_SECONDS = 2 };   /* so long after folding in vain it is tried again */

/* While live samples fill the tables, folding again at once gains nothing. Later it may: a GC can have freed them. */
static bool
in_vain_p(struct hs_store *store)
{
    uint32_t max = store->sites_max();
    bool grown = store->site_count >= store->sites_left + max / 16 ||
        (!store->malloc && rb_hs_node_count >= store->nodes_left + rb_hs_nodes_max() / 16);
    if (!grown && ++store->in_vain < max / 8 && rb_hs_coarse_seconds() <= store->folded_at + IN_VAIN_SECONDS) return true;
    store->in_vain = 0;
    store->folded_at = rb_hs_coarse_seconds();
    return false;
}

/* For the sake of one store. */
static void
fold_for(struct hs_store *store)
{
    uint32_t max = store->sites_max();
    struct how how = {.stores = store->malloc ? BLOCKS : BOTH, .spare = true};
    if (!store->site_count || !fold(how)) return;
    /* So many lines without live samples fill the table. */
    how.coarse = store->malloc ? BLOCKS : SLOTS;
    if (mostly(store->site_count, max) && !mostly(store->living, max)) fold(how);
    /* What was spared has deep stacks. */
    if (!store->malloc && mostly(rb_hs_node_count, rb_hs_nodes_max())) fold((struct how){.stores = BOTH});
    note_folded(store);
    store->full = mostly(store->living, max);
}

void
rb_hs_fold_slots(void)
{
    HS_CONTRACT(write);
    if (in_vain_p(&rb_hs_slot_store)) return;
    rb_hs_malloc_lock();
    fold_for(&rb_hs_slot_store);
    rb_hs_malloc_unlock();
}

void
rb_hs_fold_blocks(bool always)
{
    HS_CONTRACT(vm);
    HS_CONTRACT(free);
    rb_hs_lock();
    rb_hs_malloc_lock();
    if (always || (rb_hs_malloc_sites_crowded() && !in_vain_p(&rb_hs_malloc_store))) {
        fold_for(&rb_hs_malloc_store);
        rb_hs_store_widen(&rb_hs_malloc_store);       /* where the living have so many sites, fewer samples help */
    }
    rb_hs_malloc_unlock();
    rb_hs_unlock();
}

void
rb_hs_join_blocks(void)
{
    HS_CONTRACT(vm);
    rb_hs_malloc_lock();
    join_blocks();
    rb_hs_malloc_unlock();
}

/* -- names that go ---------------------------------------------------------------- */

enum { FULL = 15,               /* sixteenths of a table: what a stack may need is left */
       MOST = 12,               /* more than that after making room: it was in vain */
       FEW = 4 };               /* they may stay for the next session */

static int64_t names_in_vain_at;        /* seconds; 0: it was not */

/* Is a table of frames, classes or texts fuller than so many sixteenths of what it may be? */
static bool
names_crowded(unsigned sixteenths)
{
    return rb_hs_frames_crowded(sixteenths) || rb_hs_classes_crowded(sixteenths) || rb_hs_texts_crowded(sixteenths);
}

static void
free_names_except(bool *frames, bool *classes, bool *texts)
{
    for (uint32_t i = 1; i < rb_hs_node_count; i++) frames[rb_hs_nodes[i].frame] = true;
    for (uint32_t i = 0; i < rb_hs_slot_store.site_count; i++) {
        uint32_t class_id = rb_hs_slot_store.sites[i].what;
        if (class_id < rb_hs_class_count()) classes[class_id] = true;
    }
    rb_hs_codes_forget();
    rb_hs_frames_keep(frames, texts);
    rb_hs_classes_keep(classes, texts);
}

/* Frees what no node and no site refers to. false: no memory, and some or all stay. */
static bool
free_names(void)
{
    bool *frames = rb_hs_calloc(HS_MEM_TOTALS, rb_hs_frame_count, sizeof(*frames));
    bool *classes = rb_hs_calloc(HS_MEM_TOTALS, rb_hs_class_count(), sizeof(*classes));
    bool *texts = rb_hs_calloc(HS_MEM_TOTALS, (size_t)rb_hs_text_count + 1, sizeof(*texts));
    bool ok = frames && classes && texts;
    if (ok) {
        free_names_except(frames, classes, texts);
        ok = rb_hs_texts_keep(texts);
    }
    rb_hs_free(HS_MEM_TOTALS, frames);
    rb_hs_free(HS_MEM_TOTALS, classes);
    rb_hs_free(HS_MEM_TOTALS, texts);
    return ok;
}

/* First what nothing refers to goes, then what only totals refer to, with less of it left each time. */
static void
make_room_for_names(void)
{
    static const struct how hows[] = {{BOTH, 0, true}, {BOTH, BOTH, true}, {BOTH, BOTH, false}};
    bool ok = free_names();
    rb_hs_malloc_lock();
    for (unsigned i = 0; ok && names_crowded(MOST) && i < sizeof(hows) / sizeof(*hows); i++) {
        ok = fold(hows[i]) && free_names();
        note_folded(&rb_hs_slot_store);
        note_folded(&rb_hs_malloc_store);
    }
    rb_hs_malloc_unlock();
    rb_hs_malloc_forget_addresses();
    names_in_vain_at = !ok || names_crowded(MOST) ? rb_hs_coarse_seconds() : 0;
}

static bool
names_full_p(void)
{
    return names_crowded(FULL) &&
        (!names_in_vain_at || rb_hs_coarse_seconds() > names_in_vain_at + IN_VAIN_SECONDS);
}

void
rb_hs_forget_freed(void)
{
    HS_CONTRACT(write);
    if (!names_crowded(FEW)) return;
    uint64_t dropped = rb_hs_stack_drops.stacks;
    rb_hs_malloc_lock();
    fold((struct how){.stores = BOTH, .coarse = BOTH});
    rb_hs_malloc_unlock();
    make_room_for_names();
    rb_hs_stack_drops.stacks = dropped;         /* no profile would have shown it */
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
    if (rb_hs_nodes_room() <= depth) rb_hs_fold_slots();
    if (names_full_p()) make_room_for_names();
    if (rb_hs_codes_full_p()) {
        rb_hs_codes_forget();
        rb_hs_malloc_forget_addresses();
    }
    rb_hs_unlock();
}
