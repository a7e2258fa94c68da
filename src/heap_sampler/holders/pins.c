/* What pins samples: see holders/chains.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/holders/chains.h"
#include "heap_sampler/holders/roots.h"
#include "heap_sampler/holders/slot_index.h"

/* Of a pinned sample. */
static struct pin {
    uint32_t object;            /* its number; HS_NO_OBJECT: nothing is here */
    uint32_t position;
    uint32_t from;              /* number of what pins it, a root's too; 0: nothing yet */
    bool maybe;
} *pins;                        /* by object; linear probing */
static uint32_t mask;

/* -- in the walk ------------------------------------------------------------------------------ */

static struct pin *
place_of(uint32_t object)
{
    uint32_t place = (uint32_t)hs_mix(object) & mask;
    while (pins[place].object && pins[place].object != object) place = (place + 1) & mask;
    return &pins[place];
}

static void
note_pin(struct hs_walk *walk, VALUE object, uint32_t from, bool maybe)
{
    uint32_t number = hs_index_number(&walk->index, object);
    struct pin *pin = place_of(number);
    if (number == HS_NO_OBJECT || !pin->object) return;
    if (pin->from && (maybe || !pin->maybe)) return;
    pin->from = from;
    pin->maybe = maybe;
}

static void
add_pins(const struct hs_walk *walk, const struct hs_wanted *wanted)
{
    for (uint32_t i = 0; i < wanted->objects; i++) {
        if (!wanted->pinned(wanted->data, i)) continue;
        uint32_t number = hs_index_number(&walk->index, (VALUE)wanted->object(wanted->data, i));
        *place_of(number) = (struct pin){.object = number, .position = i};
    }
}

bool
rb_hs_pins_read(struct hs_walk *walk, const struct hs_wanted *wanted)
{
    uint32_t count = 0, places = 64;
    for (uint32_t i = 0; i < wanted->objects; i++) count += wanted->pinned(wanted->data, i);
    while (places < count * 4) places *= 2;
    mask = places - 1;
    pins = rb_hs_arena_map(places * sizeof(*pins));
    if (!pins) return false;
    add_pins(walk, wanted);
    if (count) walk->pin = note_pin;
    return true;
}

/* -- by name ----------------------------------------------------------------------------------- */

/* A stack's execution context; NULL: it is none. */
static const rb_execution_context_t *
stack_of(VALUE object)
{
    if (!RB_TYPE_P(object, T_DATA) || !RTYPEDDATA_P(object) || !RTYPEDDATA_GET_DATA(object)) return NULL;
    if (RTYPEDDATA_TYPE(object) == &ruby_threadptr_data_type) return ((const rb_thread_t *)RTYPEDDATA_GET_DATA(object))->ec;
    return rb_obj_is_fiber(object) ? rb_fiberptr_get_ec(RTYPEDDATA_GET_DATA(object)) : NULL;
}

/* On a machine stack, whose C function is not known: where its thread stands is. */
static void
name_on_machine_stack(VALUE stack, VALUE object, struct hs_edge *edge)
{
    const rb_execution_context_t *ec = stack_of(stack);
    rb_hs_edge_unknown(stack, object, edge);
    rb_hs_edge_stands_at(edge, ec, ec->cfp);
}

static void
name_of_root(enum hs_top root, VALUE object, struct hs_edge *edge)
{
    if (root == HS_TOP_MACHINE_STACK) name_on_machine_stack(GET_EC()->thread_ptr->self, object, edge);
    else rb_hs_root_edge(rb_hs_root_category(root), object, edge);
}

/* Keys of a Hash that compares by identity are pinned, values are not: which may be the same object. */
static bool
find_key(const struct hs_reference *reference, void *data)
{
    struct hs_reference *wanted = data;
    if (reference->child != wanted->child || reference->kind != HS_EDGE_KEY) return true;
    *wanted = *reference;
    return false;
}

static void
name_of_key(VALUE hash, VALUE object, struct hs_edge *edge)
{
    struct hs_reference key = {.child = object, .parent = hash, .kind = HS_EDGE_KEY, .what = "{} key"};
    rb_hs_references(hash, find_key, &key);
    rb_hs_reference_name(&key, edge);
}

static void
name_of_reference(VALUE from, VALUE object, bool maybe, struct hs_edge *edge)
{
    if (maybe && stack_of(from)) name_on_machine_stack(from, object, edge);
    else if (maybe) rb_hs_edge_unknown(from, object, edge);
    else if (RB_TYPE_P(from, T_HASH) && object != rb_heap_sampler_gc_finalizers(from)) name_of_key(from, object, edge);
    else rb_hs_edge(from, object, edge);
}

static struct hs_pin_nodes
nodes_of(struct hs_chains *chains, const struct pin *pin)
{
    const struct hs_slot_index *index = &chains->walk->index;
    struct hs_edge edge;
    VALUE object = hs_index_object(index, pin->object);
    bool root = pin->from >= HS_ROOT_NUMBERS;
    VALUE from = root ? 0 : hs_index_object(index, pin->from);
    if (root) name_of_root((enum hs_top)(pin->from - HS_ROOT_NUMBERS), object, &edge);
    else name_of_reference(from, object, pin->maybe, &edge);
    return (struct hs_pin_nodes){
        .pin = rb_hs_chain_node_below(chains, HS_TOP_PINS, &edge, object),
        .holder = root ? pin->from - HS_ROOT_NUMBERS : rb_hs_chain_node_of(chains, from),
    };
}

static void
mark_holders(struct hs_chains *chains)
{
    for (uint32_t i = 0; i <= mask; i++) {
        if (pins[i].from && pins[i].from < HS_ROOT_NUMBERS) rb_hs_chain_mark(chains, hs_index_object(&chains->walk->index, pins[i].from));
    }
}

const struct hs_pin_nodes *
rb_hs_pins_name(struct hs_chains *chains, const struct hs_wanted *wanted)
{
    struct hs_pin_nodes *nodes = rb_hs_arena_map(wanted->objects * sizeof(*nodes));
    chains->walk->pin = NULL;
    chains->settled = true;
    if (!nodes) return NULL;
    for (uint32_t i = 0; i < wanted->objects; i++) nodes[i] = (struct hs_pin_nodes){HS_TOP_NO_PIN, HS_TOP_NO_PIN};
    mark_holders(chains);
    for (uint32_t i = 0; i <= mask; i++) {
        if (pins[i].from) nodes[pins[i].position] = nodes_of(chains, &pins[i]);
    }
    return nodes;
}
