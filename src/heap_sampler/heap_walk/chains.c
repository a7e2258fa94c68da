/* See heap_walk/walk.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/heap_walk/walk.h"

#include <string.h>

enum { PERIOD_MOST = 4,
       EVICTED = 1 };           /* text */

/* -- texts ---------------------------------------------------------------------------- */

static uint32_t
text_number(struct hs_chains *chains, struct hs_text text)
{
    struct hs_found *found = chains->walk->found;
    uint64_t hash;
    if (!text.len) return 0;
    uint32_t known = rb_hs_text_find(&chains->text_by_hash, found->texts, text, &hash);
    if (known) return known;
    bool room = found->text_count < HS_TEXTS_MOST && text.len <= HS_TEXT_BYTES_MOST - found->byte_count;
    if (!room || !rb_hs_arena_put(&chains->text_by_hash, hash, found->text_count)) {
        found->figures.evicted++;
        return EVICTED;
    }
    char *place = memcpy(found->bytes + found->byte_count, text.ptr, text.len);
    found->texts[found->text_count] = (struct hs_text){place, text.len};
    found->byte_count += text.len;
    return found->text_count++;
}

static uint32_t
word_number(struct hs_chains *chains, const char *word)
{
    return text_number(chains, (struct hs_text){word, (uint32_t)strlen(word)});
}

/* -- nodes ------------------------------------------------------------------------------ */

/* The first words of a node are its parent and its name. */
enum { NAME_AT = offsetof(struct hs_retainer, kind),
       NAME_END = offsetof(struct hs_retainer, objects) };

static bool
same_words_p(const struct hs_retainer *a, const struct hs_retainer *b, size_t from)
{
    return memcmp((const char *)a + from, (const char *)b + from, NAME_END - from) == 0;
}

static uint32_t
find_or_add(struct hs_chains *chains, const struct hs_retainer *wanted, VALUE object)
{
    struct hs_found *found = chains->walk->found;
    const uint32_t *known;
    uint64_t key = rb_hs_hash((const char *)wanted, NAME_END);
    for (; (known = rb_hs_map_find(&chains->node_by_name, key)); key += key == UINT64_MAX ? 2 : 1) {
        if (same_words_p(&found->nodes[*known], wanted, 0)) return *known;
    }
    if (found->node_count == HS_NODES_MOST || !rb_hs_arena_put(&chains->node_by_name, key, found->node_count)) {
        found->figures.evicted++;
        return HS_TOP_EVICTED;
    }
    chains->objects[found->node_count] = object;
    found->nodes[found->node_count] = *wanted;
    return found->node_count++;
}

/* The node of this name among the last few of the chain that ends with `node`; UINT32_MAX: there is none. */
static uint32_t
repeated(const struct hs_retainer *nodes, uint32_t node, const struct hs_retainer *wanted)
{
    for (int steps = 0; steps < PERIOD_MOST && node >= HS_TOP_COUNT; steps++) {
        if (same_words_p(&nodes[node], wanted, NAME_AT)) return node;
        node = nodes[node].parent;
    }
    return UINT32_MAX;
}

/* The name of a constant has the modules around it: it stands below the root. */
static uint32_t
parent_of(const struct hs_chains *chains, uint32_t parent, enum hs_edge_kind kind)
{
    const struct hs_retainer *nodes = chains->walk->found->nodes;
    uint32_t root = parent;
    while (root >= HS_TOP_COUNT && nodes[root].kind == chains->constant) root = nodes[root].parent;
    return kind == HS_EDGE_CONSTANT && root == HS_TOP_CONSTANTS ? root : parent;
}

uint32_t
rb_hs_chain_node_below(struct hs_chains *chains, uint32_t parent, const struct hs_edge *edge, VALUE object)
{
    struct hs_retainer *nodes = chains->walk->found->nodes;
    char klass[HS_EDGE_TEXT_MAX];
    rb_hs_class_name_of(RBASIC(object)->klass, RBASIC(object)->flags, klass, sizeof(klass));
    struct hs_retainer wanted = {
        .parent = parent_of(chains, parent, edge->kind),
        .kind = word_number(chains, rb_hs_edge_words[edge->kind]),
        .name = text_number(chains, (struct hs_text){edge->text, (uint32_t)edge->length}),
        .klass = word_number(chains, klass),
        .path = text_number(chains, edge->path),
        .line = edge->line,
        .entries = HS_NO_ENTRIES,
    };
    uint32_t node = repeated(nodes, wanted.parent, &wanted);
    bool again = node != UINT32_MAX;
    if (!again) node = find_or_add(chains, &wanted, object);
    if (chains->counted_all) return node;
    nodes[node].folded += again;
    nodes[node].objects++;
    return node;
}

/* -- marks ------------------------------------------------------------------------------------ */

void
rb_hs_chain_mark(struct hs_chains *chains, uint32_t number)
{
    const struct hs_slot_index *index = &chains->walk->index;
    while (number != HS_NO_OBJECT && number < HS_NODE_NUMBERS && !hs_bit_p(index, chains->marked, number)) {
        hs_bit_set(index, chains->marked, number);
        number = *hs_index_from(index, number);
    }
}

/* -- chains ------------------------------------------------------------------------------- */

/* The node where the chain begins: one that was made before, or a new one for the reference from a root. */
static uint32_t
first_node(struct hs_chains *chains, uint32_t number, uint32_t from)
{
    struct hs_edge edge;
    if (from < HS_ROOT_NUMBERS) return from - HS_NODE_NUMBERS;
    enum hs_top root = (enum hs_top)(from - HS_ROOT_NUMBERS);
    VALUE object = hs_index_object(&chains->walk->index, number);
    if (object == rb_cObject) return root;
    if (root == HS_TOP_STUCK) rb_hs_waiter_edge(object, &edge);
    else rb_hs_root_edge(root, object, &edge);
    return rb_hs_chain_node_below(chains, root, &edge, object);
}

struct naming {
    struct hs_chains *chains;
    uint32_t node, parent;      /* the parent's, and its number */
    uint32_t child;             /* the wanted object: it does not lead to the parent any more */
    struct hs_edge edge;        /* to that */
    bool found;
};

/* All others on chains that were reached from this parent get their nodes now. */
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
    else if (*hs_index_from(index, number) == naming->parent && hs_bit_p(index, naming->chains->marked, number)) {
        struct hs_edge edge;
        rb_hs_reference_name(reference, &edge);
        *hs_index_from(index, number) = HS_NODE_NUMBERS + rb_hs_chain_node_below(naming->chains, naming->node, &edge, reference->child);
    }
    return true;
}

static uint32_t
node_below(struct hs_chains *chains, uint32_t node, uint32_t parent, uint32_t child)
{
    struct naming naming = {.chains = chains, .node = node, .parent = parent, .child = child};
    VALUE from = hs_index_object(&chains->walk->index, parent), object = hs_index_object(&chains->walk->index, child);
    rb_hs_references(from, name_reference, &naming);
    if (!naming.found) rb_hs_edge_unknown(from, &naming.edge);
    return rb_hs_chain_node_below(chains, node, &naming.edge, object);
}

uint32_t
rb_hs_chain_node_of(struct hs_chains *chains, uint32_t number)
{
    const struct hs_slot_index *index = &chains->walk->index;
    uint32_t below = HS_NO_OBJECT, from;
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

void
rb_hs_chains_count_entries(struct hs_chains *chains)
{
    struct hs_found *found = chains->walk->found;
    struct hs_edge edge;
    for (uint32_t i = 0; i < found->node_count; i++) {
        struct hs_retainer *node = &found->nodes[i];
        bool single = i >= HS_TOP_COUNT && node->objects == 1 && !node->folded;
        node->entries = single ? rb_hs_entries(chains->objects[i]) : HS_NO_ENTRIES;
        if (node->entries == HS_NO_ENTRIES || !rb_hs_bound_edge(chains->objects[node->parent], chains->objects[i], &edge)) continue;
        node->bound = text_number(chains, (struct hs_text){edge.text, (uint32_t)edge.length});
    }
}

bool
rb_hs_chains_make(struct hs_chains *chains, struct hs_walk *walk)
{
    struct hs_found *found = walk->found;
    *chains = (struct hs_chains){
        .walk = walk,
        .objects = rb_hs_arena_map(HS_NODES_MOST * sizeof(*chains->objects)),
        .marked = hs_bits_make(&walk->index),
    };
    found->text_count = EVICTED;
    word_number(chains, HS_EVICTED);
    chains->constant = word_number(chains, rb_hs_edge_words[HS_EDGE_CONSTANT]);
    for (uint32_t root = 0; root < HS_TOP_COUNT; root++) {
        found->nodes[found->node_count++] = (struct hs_retainer){
            .parent = root,
            .kind = word_number(chains, rb_hs_edge_words[HS_EDGE_ROOT]),
            .name = word_number(chains, rb_hs_top_names[root]),
        };
    }
    return chains->objects && chains->marked && !found->figures.evicted;
}
