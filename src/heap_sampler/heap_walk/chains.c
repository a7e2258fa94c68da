/* See heap_walk/walk.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/heap_walk/walk.h"

#include <string.h>

enum { PERIOD_MOST = 4,
       EVICTED = 1 };           /* text */

/* -- texts ---------------------------------------------------------------------------- */

static bool
text_is(const struct hs_found *found, uint32_t number, const char *ptr, size_t len)
{
    const struct hs_found_text *text = &found->texts[number];
    return text->len == len && memcmp(found->bytes + text->at, ptr, len) == 0;
}

static uint32_t
text_number(struct hs_chains *chains, const char *ptr, size_t len)
{
    struct hs_found *found = chains->found;
    const uint32_t *known;
    uint64_t key = rb_hs_hash(ptr, len);
    if (!len) return 0;
    for (; (known = rb_hs_map_find(&chains->text_by_hash, key)); key += key == UINT64_MAX ? 2 : 1) {
        if (text_is(found, *known, ptr, len)) return *known;
    }
    bool room = found->text_count < HS_TEXTS_MOST && len <= HS_TEXT_BYTES_MOST - found->byte_count;
    if (!room || !rb_hs_arena_put(&chains->text_by_hash, key, found->text_count)) {
        chains->evicted++;
        return EVICTED;
    }
    found->texts[found->text_count] = (struct hs_found_text){found->byte_count, (uint32_t)len};
    memcpy(found->bytes + found->byte_count, ptr, len);
    found->byte_count += (uint32_t)len;
    return found->text_count++;
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
    struct hs_found *found = chains->found;
    const uint32_t *known;
    uint64_t key = rb_hs_hash((const char *)wanted, NAME_END);
    for (; (known = rb_hs_map_find(&chains->node_by_name, key)); key += key == UINT64_MAX ? 2 : 1) {
        if (same_words_p(&found->nodes[*known], wanted, 0)) return *known;
    }
    if (found->node_count == HS_NODES_MOST || !rb_hs_arena_put(&chains->node_by_name, key, found->node_count)) {
        chains->evicted++;
        return HS_TOP_EVICTED;
    }
    chains->objects[found->node_count] = object;
    found->nodes[found->node_count] = *wanted;
    return found->node_count++;
}

/* The node of this name among the last few of the chain that ends with `node`; UINT32_MAX: there is none. */
static uint32_t
repeated(const struct hs_found *found, uint32_t node, const struct hs_retainer *wanted)
{
    for (int steps = 0; steps < PERIOD_MOST && node >= HS_TOP_COUNT; steps++) {
        if (same_words_p(&found->nodes[node], wanted, NAME_AT)) return node;
        node = found->nodes[node].parent;
    }
    return UINT32_MAX;
}

/* The name of a constant has the modules around it: it stands below the root. */
static uint32_t
parent_of(const struct hs_chains *chains, uint32_t parent, enum hs_edge_kind kind)
{
    const struct hs_retainer *nodes = chains->found->nodes;
    uint32_t root = parent;
    while (root >= HS_TOP_COUNT && nodes[root].kind == chains->constant) root = nodes[root].parent;
    return kind == HS_EDGE_CONSTANT && root == HS_TOP_CONSTANTS ? root : parent;
}

static uint32_t
kind_text(struct hs_chains *chains, enum hs_edge_kind kind)
{
    const char *word = rb_hs_edge_kind_word(kind);
    return text_number(chains, word, strlen(word));
}

uint32_t
rb_hs_chain_node_below(struct hs_chains *chains, uint32_t parent, const struct hs_edge *edge, VALUE object)
{
    char klass[HS_EDGE_TEXT_MAX];
    size_t klass_len = rb_hs_object_class_name(object, klass, sizeof(klass));
    struct hs_retainer wanted = {
        .parent = parent_of(chains, parent, edge->kind),
        .kind = kind_text(chains, edge->kind),
        .name = text_number(chains, edge->text, edge->length),
        .klass = text_number(chains, klass, klass_len),
        .path = text_number(chains, edge->path.ptr, edge->path.len),
        .line = edge->line,
    };
    uint32_t node = repeated(chains->found, wanted.parent, &wanted);
    bool again = node != UINT32_MAX;
    if (!again) node = find_or_add(chains, &wanted, object);
    if (chains->settled) return node;
    chains->found->nodes[node].folded += again;
    chains->found->nodes[node].objects++;
    return node;
}

/* -- marks ------------------------------------------------------------------------------------ */

static bool
marked_p(const struct hs_chains *chains, uint32_t number)
{
    uint32_t place = hs_index_place(&chains->walk->index, number);
    return chains->marked[place / 64] >> place % 64 & 1;
}

void
rb_hs_chain_mark(struct hs_chains *chains, uint32_t number)
{
    while (number != HS_NO_OBJECT && number < HS_NODE_NUMBERS && !marked_p(chains, number)) {
        uint32_t place = hs_index_place(&chains->walk->index, number);
        chains->marked[place / 64] |= UINT64_C(1) << place % 64;
        number = *hs_index_from(&chains->walk->index, number);
    }
}

/* -- chains ------------------------------------------------------------------------------- */

/* From what stands in place of the first object's parent: a root, or a node that it was given before. */
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
    uint32_t child;             /* the one that is wanted: it is not led to the parent any more */
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
    else if (*hs_index_from(index, number) == naming->parent && marked_p(naming->chains, number)) {
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
    if (!naming.found) rb_hs_edge_unknown(from, object, &naming.edge);
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

bool
rb_hs_chains_make(struct hs_chains *chains, struct hs_walk *walk, struct hs_found *found)
{
    *chains = (struct hs_chains){
        .walk = walk,
        .found = found,
        .objects = rb_hs_arena_map(HS_NODES_MOST * sizeof(*chains->objects)),
        .marked = rb_hs_arena_map((walk->index.slots / 64 + 1) * sizeof(*chains->marked)),
    };
    found->text_count = EVICTED;
    text_number(chains, HS_EVICTED, strlen(HS_EVICTED));
    chains->constant = kind_text(chains, HS_EDGE_CONSTANT);
    for (uint32_t root = 0; root < HS_TOP_COUNT; root++) {
        uint32_t name = text_number(chains, rb_hs_top_names[root], strlen(rb_hs_top_names[root]));
        found->nodes[found->node_count++] = (struct hs_retainer){.parent = root, .kind = kind_text(chains, HS_EDGE_ROOT), .name = name};
    }
    return chains->objects && chains->marked && !chains->evicted;
}
