/*
 * What a walk found, as the field `kept` of what a profile says about itself: what would be freed, threads that can never
 * wake, what pins objects, and what the walk cost, or why there is no answer.
 */
#include "heap_sampler/profile/encode.h"

#define ESTIMATE(name, value) N(name, (uint64_t)rb_hs_round(value))

/* The root first; of a very long chain its end. */
static void
put_chain(const struct hs_object *object, enum hs_field list, const struct hs_profile *profile, uint32_t node)
{
    enum { STEPS_MOST = 64 };
    const struct hs_retainer *nodes = profile->retainers.nodes;
    uint32_t names[STEPS_MOST], count = 0;
    for (;; node = nodes[node].parent) {
        names[count++] = nodes[node].name;
        if (nodes[node].parent == node || count == STEPS_MOST) break;
    }
    rb_hs_open_list(object, list);
    while (count) rb_hs_put_element(object, list, profile->texts[names[--count]]);
    rb_hs_close_list(object);
}

/* Where the code stands that has the reference; an empty path: in no code. */
static void
put_place(const struct hs_object *object, const struct hs_profile *profile, const struct hs_retainer *node)
{
    rb_hs_put_text(object, HS_F_path, profile->texts[node->path]);
    rb_hs_put(object, HS_F_line, node->line);
}

static void
put_freed(const struct hs_object *object, const struct hs_profile *profile)
{
    rb_hs_open_list(object, HS_F_freed);
    const struct hs_found *found = profile->retainers.found;
    for (uint32_t i = 0; found && i < found->freed_count; i++) {
        const struct hs_freed *freed = &found->freed[i];
        size_t at = rb_hs_open_element(object, HS_F_freed);
        put_chain(object, HS_F_chain, profile, freed->node);
        put_place(object, profile, &profile->retainers.nodes[freed->node]);
        HS_PUT(object, ESTIMATE(objects, freed->objects), ESTIMATE(space, freed->space), ESTIMATE(var, freed->variance));
        rb_hs_close(object, at);
    }
    rb_hs_close_list(object);
}

/* What is reached through a node and those below it. */
static double
space_below(const struct hs_profile *profile, uint32_t top)
{
    double space = 0;
    for (size_t i = 0; i < profile->kept_count; i++) {
        uint32_t node = profile->kept[i].node;
        while (node > top) node = profile->retainers.nodes[node].parent;
        if (node == top) space += profile->kept[i].sum.space;
    }
    return space;
}

/* Threads by the line where they wait. */
static void
put_stuck(const struct hs_object *object, const struct hs_profile *profile)
{
    const struct hs_retainers *retainers = &profile->retainers;
    rb_hs_open_list(object, HS_F_stuck);
    for (uint32_t i = HS_TOP_COUNT; i < retainers->node_count; i++) {
        const struct hs_retainer *node = &retainers->nodes[i];
        if (node->parent != HS_TOP_STUCK) continue;
        size_t at = rb_hs_open_element(object, HS_F_stuck);
        rb_hs_put_text(object, HS_F_name, profile->texts[node->name]);
        put_place(object, profile, node);
        HS_PUT(object, N(threads, node->objects), ESTIMATE(space, space_below(profile, i)));
        rb_hs_close(object, at);
    }
    rb_hs_close_list(object);
}

static void
put_pin_names(const struct hs_object *object, const struct hs_profile *profile, const struct hs_part *pin)
{
    const struct hs_retainer *node = &profile->retainers.nodes[pin->of];
    rb_hs_put_text(object, HS_F_name, profile->texts[node->name]);
    rb_hs_put_text(object, HS_F_kind, profile->texts[node->kind]);
    rb_hs_put_text(object, HS_F_class, profile->texts[node->klass]);
    put_place(object, profile, node);
    put_chain(object, HS_F_holder, profile, pin->node);
    if (pin->frame == UINT32_MAX) return;
    const struct hs_frame *frame = &profile->frames[pin->frame];
    rb_hs_put_text(object, HS_F_made_in, profile->texts[frame->label]);
    rb_hs_put_text(object, HS_F_made_path, profile->texts[frame->path]);
    rb_hs_put(object, HS_F_made_line, frame->line);
}

/* All after the first PINS_MOST are added up in one entry without names. */
static void
put_pins(const struct hs_object *object, const struct hs_profile *profile)
{
    enum { PINS_MOST = 256 };
    struct hs_part others = {0};
    rb_hs_open_list(object, HS_F_pins);
    for (size_t i = 0; i < profile->pin_count; i++) {
        const struct hs_part *pin = &profile->pins[i];
        if (i >= PINS_MOST) {
            rb_hs_estimate_add(&others.sum, &pin->sum);
            if (i + 1 < profile->pin_count) continue;
            pin = &others;
        }
        size_t at = rb_hs_open_element(object, HS_F_pins);
        if (pin != &others) put_pin_names(object, profile, pin);
        HS_PUT(object, N(samples, pin->sum.samples), ESTIMATE(objects, pin->sum.objects), ESTIMATE(free, pin->sum.space),
               ESTIMATE(var, pin->sum.variance));
        rb_hs_close(object, at);
    }
    rb_hs_close_list(object);
}

void
rb_hs_put_kept(const struct hs_object *object, const struct hs_profile *profile)
{
    const struct hs_retainers *retainers = &profile->retainers;
    const struct hs_walk_figures *figures = &retainers->figures;
    const struct hs_memory_room *room = &retainers->room;
    size_t at = rb_hs_open(object, HS_F_kept);
    rb_hs_put_known_text(object, HS_F_refused, rb_hs_refusal_text(retainers->refusal), SIZE_MAX);
    rb_hs_put_known_text(object, HS_F_ended_in, retainers->type, sizeof(retainers->type));
    HS_PUT(object, N(signal, (uint64_t)retainers->signal), N(objects, figures->objects), N(edges, figures->edges), N(slots, figures->slots));
    put_freed(object, profile);
    put_stuck(object, profile);
    put_pins(object, profile);
    HS_PUT(object, N(without_ns, figures->without_ns), N(hold_up_ns, retainers->hold_up_ns), N(stop_estimate_ns, retainers->stop_estimate_ns), N(ns, retainers->ns),
           N(walk_ns, figures->walk_ns), N(name_ns, figures->name_ns));
    if (room->limit) {
        HS_PUT(object, N(room_bytes, room->left), N(limit_bytes, room->limit));
        rb_hs_put_known_text(object, HS_F_cgroup, room->group, SIZE_MAX);
    }
    HS_PUT(object, N(demand_bytes, retainers->demand), N(estimate_bytes, retainers->estimate), N(child_bytes, figures->child_bytes),
           N(evicted, figures->evicted));
    rb_hs_close(object, at);
}
