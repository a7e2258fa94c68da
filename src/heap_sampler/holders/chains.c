/* See holders/chains.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/holders/chains.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/holders/roots.h"
#include "heap_sampler/holders/slot_index.h"
#include "heap_sampler/holders/waiters.h"

#include <string.h>

enum { PLACES_FIRST = 1 << 11,
       PLACES_GROWTH = 8,
       PERIOD_MOST = 4 };

/* -- texts ---------------------------------------------------------------------------- */

static uint64_t
hash_of(const char *ptr, size_t len)
{
    uint64_t hash = len;
    for (size_t i = 0; i < len; i++) hash = hash * UINT64_C(0x100000001b3) ^ (unsigned char)ptr[i];
    return hs_mix(hash);
}

static bool
text_is(const struct hs_chains *chains, uint32_t number, const char *ptr, size_t len)
{
    const struct hs_holder_text *text = &chains->texts[number];
    return text->len == len && memcmp(chains->bytes + text->at, ptr, len) == 0;
}

static uint32_t
add_text(struct hs_chains *chains, uint32_t *place, const char *ptr, size_t len)
{
    if (chains->text_count == HS_TEXTS_MOST || len > HS_TEXT_BYTES_MOST - chains->byte_count) {
        chains->evicted++;
        return 1;               /* HS_EVICTED */
    }
    chains->texts[chains->text_count] = (struct hs_holder_text){chains->byte_count, (uint32_t)len};
    memcpy(chains->bytes + chains->byte_count, ptr, len);
    chains->byte_count += (uint32_t)len;
    *place = ++chains->text_count;
    return chains->text_count - 1;
}

/* Where a text is, or may be put. */
static uint32_t *
text_place(const struct hs_chains *chains, const char *ptr, size_t len)
{
    uint32_t place = (uint32_t)hash_of(ptr, len) % chains->text_places;
    while (chains->text_hash[place] && !text_is(chains, chains->text_hash[place] - 1, ptr, len)) place = (place + 1) % chains->text_places;
    return &chains->text_hash[place];
}

/* Without memory the old one serves until it is full. */
static bool
grow_texts(struct hs_chains *chains)
{
    uint32_t places = chains->text_places * PLACES_GROWTH;
    uint32_t *hash = rb_hs_arena_map(places * sizeof(*hash));
    if (!hash) return chains->text_count < chains->text_places - 1;
    chains->text_hash = hash;
    chains->text_places = places;
    for (uint32_t i = 1; i < chains->text_count; i++) {
        const struct hs_holder_text *text = &chains->texts[i];
        *text_place(chains, chains->bytes + text->at, text->len) = i + 1;
    }
    return true;
}

static uint32_t
text_number(struct hs_chains *chains, const char *ptr, size_t len)
{
    if (!len) return 0;
    uint32_t *place = text_place(chains, ptr, len);
    if (*place) return *place - 1;
    if (chains->text_count * 2 >= chains->text_places && !grow_texts(chains)) {
        chains->evicted++;
        return 1;               /* HS_EVICTED */
    }
    return add_text(chains, text_place(chains, ptr, len), ptr, len);
}

/* -- nodes ------------------------------------------------------------------------------ */

static bool
same_name_p(const struct hs_chain_node *a, const struct hs_chain_node *b)
{
    return a->kind == b->kind && a->name == b->name && a->klass == b->klass && a->path == b->path && a->line == b->line;
}

static uint32_t *
hash_place(const struct hs_chains *chains, const struct hs_chain_node *node)
{
    uint64_t key = hs_mix((uint64_t)node->parent << 32 | node->name) ^ hs_mix((uint64_t)node->klass << 32 | node->line) ^ node->path;
    return &chains->node_hash[hs_mix(key) % chains->node_places];
}

/* Without memory the old one serves: its chains get longer. */
static void
grow_nodes(struct hs_chains *chains)
{
    uint32_t places = chains->node_places * PLACES_GROWTH;
    uint32_t *hash = rb_hs_arena_map(places * sizeof(*hash));
    if (!hash) return;
    chains->node_hash = hash;
    chains->node_places = places;
    for (uint32_t i = HS_TOP_COUNT; i < chains->node_count; i++) {
        uint32_t *place = hash_place(chains, &chains->nodes[i]);
        chains->nodes[i].next = *place;
        *place = i + 1;
    }
}

static uint32_t
find_or_add(struct hs_chains *chains, const struct hs_chain_node *wanted)
{
    uint32_t *place = hash_place(chains, wanted);
    for (uint32_t number = *place; number; number = chains->nodes[number - 1].next) {
        const struct hs_chain_node *node = &chains->nodes[number - 1];
        if (node->parent == wanted->parent && same_name_p(node, wanted)) return number - 1;
    }
    if (chains->node_count == HS_NODES_MOST) {
        chains->evicted++;
        return HS_TOP_EVICTED;
    }
    if (chains->node_count >= chains->node_places) {
        grow_nodes(chains);
        place = hash_place(chains, wanted);
    }
    chains->nodes[chains->node_count] = *wanted;
    chains->nodes[chains->node_count].next = *place;
    *place = ++chains->node_count;
    return chains->node_count - 1;
}

/* The node of this name among the last few of the chain that ends with `node`; UINT32_MAX: there is none. */
static uint32_t
repeated(const struct hs_chains *chains, uint32_t node, const struct hs_chain_node *wanted)
{
    for (int steps = 0; steps < PERIOD_MOST && node >= HS_TOP_COUNT; steps++) {
        if (same_name_p(&chains->nodes[node], wanted)) return node;
        node = chains->nodes[node].parent;
    }
    return UINT32_MAX;
}

/* The name of a constant has the modules around it. */
static bool
names_all_p(const struct hs_chains *chains, uint32_t parent, enum hs_edge_kind kind)
{
    if (kind != HS_EDGE_CONSTANT) return false;
    while (parent >= HS_TOP_COUNT && chains->nodes[parent].kind == HS_EDGE_CONSTANT) parent = chains->nodes[parent].parent;
    return parent == HS_TOP_CONSTANTS;
}

/* The node of a reference below `parent`, by its name. */
static uint32_t
node_named(struct hs_chains *chains, uint32_t parent, const struct hs_edge *edge, VALUE child)
{
    char klass[HS_EDGE_TEXT_MAX];
    size_t klass_len = rb_hs_object_class_name(child, klass, sizeof(klass));
    struct hs_chain_node wanted = {
        .parent = names_all_p(chains, parent, edge->kind) ? HS_TOP_CONSTANTS : parent,
        .kind = edge->kind,
        .name = text_number(chains, edge->text, edge->length),
        .klass = text_number(chains, klass, klass_len),
        .path = text_number(chains, edge->path.ptr, edge->path.len),
        .line = edge->line,
        .object = child,
    };
    uint32_t node = repeated(chains, wanted.parent, &wanted);
    bool again = node != UINT32_MAX;
    if (!again) node = find_or_add(chains, &wanted);
    if (chains->settled) return node;
    chains->nodes[node].folded += again;
    chains->nodes[node].objects++;
    return node;
}

/* -- marks ------------------------------------------------------------------------------------ */

static uint32_t
place_of(const struct hs_chains *chains, uint32_t number)
{
    return chains->walk->index.pages[number >> HS_SLOT_BITS].first + (number & HS_SLOT_MASK);
}

static bool
marked_p(const struct hs_chains *chains, uint32_t number)
{
    uint32_t place = place_of(chains, number);
    return chains->marked[place / 64] >> place % 64 & 1;
}

void
rb_hs_chain_mark(struct hs_chains *chains, VALUE object)
{
    const struct hs_slot_index *index = &chains->walk->index;
    uint32_t number = hs_index_number(index, object);
    while (number != HS_NO_OBJECT && number < HS_NODE_NUMBERS && !marked_p(chains, number)) {
        uint32_t place = place_of(chains, number);
        chains->marked[place / 64] |= UINT64_C(1) << place % 64;
        number = *hs_index_from(index, number);
    }
}

/* -- chains ------------------------------------------------------------------------------- */

static uint32_t
node_below_root(struct hs_chains *chains, enum hs_top root, VALUE child)
{
    struct hs_edge edge;
    if (child == rb_cObject) return root;
    if (root == HS_TOP_STUCK) rb_hs_waiter_edge(child, &edge);
    else rb_hs_root_edge(rb_hs_root_category(root), child, &edge);
    return node_named(chains, root, &edge, child);
}

/* From what stands in place of the first object's parent: a root, or a node that it was given before. */
static uint32_t
first_node(struct hs_chains *chains, uint32_t number, uint32_t from)
{
    if (from < HS_ROOT_NUMBERS) return from - HS_NODE_NUMBERS;
    return node_below_root(chains, (enum hs_top)(from - HS_ROOT_NUMBERS), hs_index_object(&chains->walk->index, number));
}

/* -- all that one parent refers to ---------------------------------------------------------- */

struct naming {
    struct hs_chains *chains;
    uint32_t node, parent;      /* the parent's, and its number */
    uint32_t child;             /* the one that is asked for: it is not led to the parent any more */
    struct hs_edge edge;        /* to that */
    bool found;
};

/* The others on chains that were reached from this parent get their nodes now. */
static bool
name_reference(const struct hs_reference *reference, void *data)
{
    struct naming *naming = data;
    const struct hs_slot_index *index = &naming->chains->walk->index;
    uint32_t number = hs_index_number(index, reference->child);
    if (number == HS_NO_OBJECT || hs_index_object(index, number) != reference->child) return true;
    if (number == naming->child) {
        if (!naming->found) rb_hs_reference_name(reference, &naming->edge);
        naming->found = true;
    }
    else if (*hs_index_from(index, number) == naming->parent && marked_p(naming->chains, number)) {
        struct hs_edge edge;
        rb_hs_reference_name(reference, &edge);
        *hs_index_from(index, number) = HS_NODE_NUMBERS + node_named(naming->chains, naming->node, &edge, reference->child);
    }
    return true;
}

static uint32_t
node_below(struct hs_chains *chains, uint32_t node, uint32_t parent, uint32_t child)
{
    struct naming naming = {.chains = chains, .node = node, .parent = parent, .child = child};
    VALUE from = hs_index_object(&chains->walk->index, parent), object = hs_index_object(&chains->walk->index, child);
    rb_hs_references(from, name_reference, &naming);
    if (!naming.found) rb_hs_edge_unknown(from, object, &naming.edge);
    return node_named(chains, node, &naming.edge, object);
}

uint32_t
rb_hs_chain_node_of(struct hs_chains *chains, VALUE object)
{
    const struct hs_slot_index *index = &chains->walk->index;
    uint32_t number = hs_index_number(index, object), below = HS_NO_OBJECT, from;
    if (number == HS_NO_OBJECT || !*hs_index_from(index, number)) return HS_TOP_NOT_REACHED;

    while ((from = *hs_index_from(index, number)) < HS_NODE_NUMBERS) {
        *hs_index_from(index, number) = below;
        below = number;
        number = from;
    }
    uint32_t node = first_node(chains, number, from);
    for (;;) {
        *hs_index_from(index, number) = HS_NODE_NUMBERS + node;
        if (below == HS_NO_OBJECT) return node;
        from = number;
        number = below;
        below = *hs_index_from(index, number);
        node = node_below(chains, node, from, number);
    }
}

/* -- all ------------------------------------------------------------------------------------ */

static void
add_root(struct hs_chains *chains, const char *name)
{
    uint32_t number = chains->node_count++;
    chains->nodes[number] = (struct hs_chain_node){
        .parent = number,
        .kind = HS_EDGE_ROOT,
        .name = text_number(chains, name, strlen(name)),
    };
}

bool
rb_hs_chains_make(struct hs_chains *chains, struct hs_walk *walk)
{
    *chains = (struct hs_chains){
        .walk = walk,
        .nodes = rb_hs_arena_map(HS_NODES_MOST * sizeof(*chains->nodes)),
        .texts = rb_hs_arena_map(HS_TEXTS_MOST * sizeof(*chains->texts)),
        .bytes = rb_hs_arena_map(HS_TEXT_BYTES_MOST),
        .node_hash = rb_hs_arena_map(PLACES_FIRST * sizeof(*chains->node_hash)),
        .text_hash = rb_hs_arena_map(PLACES_FIRST * sizeof(*chains->text_hash)),
        .node_places = PLACES_FIRST,
        .text_places = PLACES_FIRST,
        .marked = rb_hs_arena_map((walk->index.slots / 64 + 1) * sizeof(*chains->marked)),
        .text_count = 1,
    };
    if (!chains->nodes || !chains->texts || !chains->bytes || !chains->node_hash || !chains->text_hash || !chains->marked) return false;
    text_number(chains, HS_EVICTED, strlen(HS_EVICTED));
    for (int kind = 0; kind < HS_EDGE_KIND_COUNT; kind++) {
        const char *word = rb_hs_edge_kind_word((enum hs_edge_kind)kind);
        chains->kind_texts[kind] = text_number(chains, word, strlen(word));
    }
#define HS_TOP(top, name, category) add_root(chains, name);
    HS_TOPS(HS_TOP)
#undef HS_TOP
    return true;
}

uint32_t
rb_hs_chain_node_below(struct hs_chains *chains, uint32_t node, const struct hs_edge *edge, VALUE object)
{
    return node_named(chains, node, edge, object);
}

struct hs_holder
rb_hs_chain_holder(const void *data, uint32_t node)
{
    const struct hs_chains *chains = data;
    const struct hs_chain_node *one = &chains->nodes[node];
    return (struct hs_holder){one->parent, chains->kind_texts[one->kind], one->name, one->klass, one->path, one->line, one->objects, one->folded};
}
