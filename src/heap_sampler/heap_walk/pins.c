/* What pins samples: see heap_walk/walk.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/heap_walk/walk.h"

/* What pins each pinned sample, by position. */
static struct pin {
    uint32_t from;              /* number of what pins it, a root's too; 0: nothing yet */
    bool maybe;
} *pins;
static struct hs_map positions; /* by number of the object */

/* -- in the walk ------------------------------------------------------------------------------ */

static void
note_pin(struct hs_walk *walk, VALUE object, uint32_t from, bool maybe)
{
    const uint32_t *position = rb_hs_map_find(&positions, hs_index_number(&walk->index, object));
    if (!position) return;
    struct pin *pin = &pins[*position];
    if (!pin->from || (!maybe && pin->maybe)) *pin = (struct pin){from, maybe};
}

bool
rb_hs_pins_read(struct hs_walk *walk, const struct hs_wanted *wanted, const uint32_t *numbers)
{
    pins = rb_hs_arena_map(wanted->objects * sizeof(*pins));
    if (!pins) return false;
    for (uint32_t i = 0; i < wanted->objects; i++) {
        if (!numbers[i] || !wanted->sample(wanted->data, i).pinned) continue;
        if (!rb_hs_arena_put(&positions, numbers[i], i)) return false;
    }
    if (positions.count) walk->pin = note_pin;
    return true;
}

/* -- by name ----------------------------------------------------------------------------------- */

/* On a machine stack, whose C function is not known: where its thread stands is. */
static void
name_on_machine_stack(VALUE stack, struct hs_edge *edge)
{
    const rb_execution_context_t *ec = rb_hs_ec_of(stack);
    rb_hs_edge_unknown(stack, edge);
    rb_hs_edge_stands_at(edge, ec, ec->cfp);
}

/* Of a Hash that compares by identity the keys are pinned, not the values, among which the object may be, too. */
static void
name_of_reference(VALUE from, VALUE object, bool maybe, struct hs_edge *edge)
{
    struct hs_reference key = {.child = object, .parent = from, .kind = HS_EDGE_KEY, .what = "{} key"};
    if (maybe && rb_hs_ec_of(from)) name_on_machine_stack(from, edge);
    else if (maybe) rb_hs_edge_unknown(from, edge);
    else if (RB_TYPE_P(from, T_HASH) && object != rb_heap_sampler_gc_finalizers(from)) rb_hs_reference_name(&key, edge);
    else rb_hs_edge(from, object, edge);
}

static struct hs_pin_nodes
nodes_of(struct hs_chains *chains, uint32_t number, const struct pin *pin)
{
    struct hs_edge edge;
    VALUE object = hs_index_object(&chains->walk->index, number);
    bool root = pin->from >= HS_ROOT_NUMBERS;
    enum hs_top top = (enum hs_top)(pin->from - HS_ROOT_NUMBERS);
    if (root && top == HS_TOP_MACHINE_STACK) name_on_machine_stack(GET_EC()->thread_ptr->self, &edge);
    else if (root) rb_hs_root_edge(top, object, &edge);
    else name_of_reference(hs_index_object(&chains->walk->index, pin->from), object, pin->maybe, &edge);
    return (struct hs_pin_nodes){
        .pin = rb_hs_chain_node_below(chains, HS_TOP_PINS, &edge, object),
        .holder = root ? top : rb_hs_chain_node_of(chains, pin->from),
    };
}

void
rb_hs_pins_name(struct hs_chains *chains, const struct hs_wanted *wanted)
{
    struct hs_found_sample *samples = chains->walk->found->samples;
    chains->walk->pin = NULL;
    chains->counted_all = true;
    for (uint32_t i = 0; i < wanted->count; i++) samples[i].pins = (struct hs_pin_nodes){HS_TOP_NO_PIN, HS_TOP_NO_PIN};
    for (uint32_t i = 0; i < wanted->objects; i++) {
        if (pins[i].from && pins[i].from < HS_ROOT_NUMBERS) rb_hs_chain_mark(chains, pins[i].from);
    }
    for (uint32_t i = 0; i < wanted->objects; i++) {
        VALUE object = (VALUE)wanted->sample(wanted->data, i).address;
        if (pins[i].from) samples[i].pins = nodes_of(chains, hs_index_number(&chains->walk->index, object), &pins[i]);
    }
}
