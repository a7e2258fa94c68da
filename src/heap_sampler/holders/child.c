/* What the forked child does, from its first instruction to its last: see holders/ask.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/account/cgroup.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/descriptors.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/holders/ask.h"
#include "heap_sampler/holders/blocks_of_c.h"
#include "heap_sampler/holders/chains.h"
#include "heap_sampler/holders/holders.h"
#include "heap_sampler/holders/roots.h"
#include "heap_sampler/holders/slot_index.h"
#include "heap_sampler/holders/waiters.h"
#include "heap_sampler/holders/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { LOOK_US = 10000,
       LOOK_STACK = 64 << 10 };
static const uint64_t second_ns = 1000000000;

/* -- manners --------------------------------------------------------------------------------- */

static const struct hs_child_order *watched;
static uint64_t deadline_ns;

/* A signal handler, since the child may be in a mark function for as long as that takes. At the deadline the signal has its
 * default action. */
static void
look_around(int number)
{
    int error = errno;
    if (rb_hs_steady_ns() >= deadline_ns) {
        signal(number, SIG_DFL);
        raise(number);
    }
    if (getppid() != watched->parent) _exit(HS_CHILD_NOT_WRITTEN);
    if (rb_hs_memory_short_p("", watched->reserve, watched->reserve, &watched->progress->room)) _exit(HS_CHILD_RAN_SHORT);
    errno = error;
}

/* Ruby's handlers are of a process that this one is not; a crash ends it, without a report and without a core. All signals
 * were blocked by the parent. The handler has a stack of its own, since the child's may be a fiber's. */
static void
take_default_signals(const struct hs_child_order *order)
{
    struct sigaction by_default = {.sa_handler = SIG_DFL}, look = {.sa_handler = look_around, .sa_flags = SA_RESTART | SA_ONSTACK};
    struct itimerval often = {{0, LOOK_US}, {0, LOOK_US}};
    stack_t stack = {.ss_sp = rb_hs_arena_map(LOOK_STACK), .ss_size = LOOK_STACK};
    struct rlimit none = {0, 0};
    sigset_t all;
    watched = order;
    deadline_ns = rb_hs_steady_ns() + order->seconds * second_ns;
    for (int number = 1; number < NSIG; number++) sigaction(number, &by_default, NULL);
    setrlimit(RLIMIT_CORE, &none);
    if (stack.ss_sp) sigaltstack(&stack, NULL);
    sigaction(SIGALRM, &look, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
}

/* If memory gets short the kernel is to end this process, and none other. */
static void
be_the_first_to_go(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (write(fd, "1000", 4) < 0) { /* it is a courtesy */
    }
    close(fd);
}

static void
give_way(bool nice)
{
    enum { NICER = 10 };
    if (nice) setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICER);
    prctl(PR_SET_NAME, "ruby-why", 0, 0, 0);
    be_the_first_to_go();
}

/* -- whose block is it? ------------------------------------------------------------------------ */

/* The wanted blocks by address, and the object that each belongs to. */
static struct {
    uintptr_t *addresses;       /* 0: empty; linear probing */
    uint32_t *positions;
    uint32_t mask;
    uint32_t *owners;           /* by position: the object's number; the first that is reached */
    uint32_t object;            /* that is looked at */
} blocks;

static bool
index_blocks(const struct hs_wanted *wanted)
{
    uint32_t places = 64;
    while (places < wanted->blocks * 4) places *= 2;
    blocks.mask = places - 1;
    blocks.addresses = rb_hs_arena_map(places * sizeof(*blocks.addresses));
    blocks.positions = rb_hs_arena_map(places * sizeof(*blocks.positions));
    blocks.owners = rb_hs_arena_map(wanted->blocks * sizeof(*blocks.owners));
    if (!blocks.addresses || !blocks.positions || !blocks.owners) return false;
    for (uint32_t i = 0; i < wanted->blocks; i++) {
        uintptr_t address = wanted->block(wanted->data, i);
        uint32_t place = (uint32_t)hs_mix(address) & blocks.mask;
        while (blocks.addresses[place]) place = (place + 1) & blocks.mask;
        blocks.addresses[place] = address;
        blocks.positions[place] = i;
    }
    return true;
}

static void
own(const void *pointer, uint32_t number)
{
    uint32_t place = (uint32_t)hs_mix((uintptr_t)pointer) & blocks.mask;
    for (; blocks.addresses[place]; place = (place + 1) & blocks.mask) {
        if (blocks.addresses[place] != (uintptr_t)pointer) continue;
        uint32_t *owner = &blocks.owners[blocks.positions[place]];
        if (!*owner) *owner = number;
        return;
    }
}

static void
own_block(const void *pointer, void *unused)
{
    (void)unused;
    own(pointer, blocks.object);
}

static void
look_for_blocks(struct hs_walk *walk, VALUE object, uint32_t number)
{
    (void)walk;
    blocks.object = number;
    rb_hs_owned_blocks(object, own_block, NULL);
    rb_hs_c_blocks_note(object, number);
}

/* -- the work ----------------------------------------------------------------------------------- */

static struct hs_walk walk;
static struct hs_chains chains;

static void
mark_stuck(VALUE thread, void *unused)
{
    (void)unused;
    rb_hs_chain_mark(&chains, thread);
}

static void
mark_all(const struct hs_wanted *wanted)
{
    rb_hs_waiters_each_stuck(mark_stuck, NULL);
    for (uint32_t i = 0; i < wanted->objects; i++) rb_hs_chain_mark(&chains, (VALUE)wanted->object(wanted->data, i));
    for (uint32_t i = 0; i < wanted->blocks; i++) {
        if (blocks.owners[i]) rb_hs_chain_mark(&chains, hs_index_object(&walk.index, blocks.owners[i]));
    }
}

/* Whether it keeps a sample or not. */
static void
name_stuck(VALUE thread, void *unused)
{
    (void)unused;
    rb_hs_chain_node_of(&chains, thread);
}

static bool
name_all(const struct hs_wanted *wanted, struct hs_child_answer *answer)
{
    uint32_t *objects = rb_hs_arena_map(wanted->objects * sizeof(*objects)), *owned = rb_hs_arena_map(wanted->blocks * sizeof(*owned));
    if (!objects || !owned) return false;
    mark_all(wanted);
    rb_hs_waiters_each_stuck(name_stuck, NULL);
    for (uint32_t i = 0; i < wanted->objects; i++) objects[i] = rb_hs_chain_node_of(&chains, wanted->object(wanted->data, i));
    for (uint32_t i = 0; i < wanted->blocks; i++) {
        uint32_t owner = blocks.owners[i];
        owned[i] = owner ? rb_hs_chain_node_of(&chains, hs_index_object(&walk.index, owner)) : HS_TOP_NOT_REACHED;
    }
    answer->object_nodes = objects;
    answer->block_nodes = owned;
    return true;
}

static bool
prepare(const struct hs_child_order *order)
{
    const struct hs_wanted *wanted = order->wanted;
    if (!rb_hs_walk_make(&walk, order->progress) || !rb_hs_chains_make(&chains, &walk) || !index_blocks(wanted)) return false;
    if (wanted->blocks && !rb_hs_c_blocks_make(&walk.index)) return false;
    if (wanted->blocks) walk.each = look_for_blocks;
    return rb_hs_pins_read(&walk, wanted) && rb_hs_roots_read(&walk) && rb_hs_waiters_read(&walk);
}

static int
answer(const struct hs_child_order *order)
{
    const struct hs_wanted *wanted = order->wanted;
    struct hs_child_answer answer = {.tree = &chains, .node = rb_hs_chain_holder, .object_count = wanted->objects, .block_count = wanted->blocks};
    uint64_t begun = rb_hs_steady_ns();
    if (!prepare(order)) return HS_CHILD_NO_ROOM;
    rb_hs_roots_walk(&walk);
    rb_hs_waiters_settle(&walk);
    if (wanted->blocks) rb_hs_c_blocks_follow(own);
    uint64_t walked = rb_hs_steady_ns();
    if (!name_all(wanted, &answer) || !(answer.object_pins = rb_hs_pins_name(&chains, wanted))) return HS_CHILD_NO_ROOM;
    uint64_t named = rb_hs_steady_ns(), objects = order->progress->objects, edges = order->progress->edges, bytes = rb_hs_arena_resident();
    struct hs_found found = {wanted, answer.object_nodes, answer.block_nodes, blocks.owners};
    answer.freed_count = rb_hs_without(&chains, &found, answer.freed, begun + order->seconds * second_ns / 2);
    answer.figures = (struct hs_holder_figures){
        .objects = objects,
        .edges = edges,
        .walk_ns = walked - begun,
        .name_ns = named - walked,
        .without_ns = rb_hs_steady_ns() - named,
        .child_bytes = bytes,
        .slots = walk.index.slots,
        .evicted = chains.evicted,
    };
    answer.texts = chains.texts;
    answer.bytes = chains.bytes;
    answer.node_count = chains.node_count;
    answer.text_count = chains.text_count;
    answer.byte_count = chains.byte_count;
    return rb_hs_answer_write(order->room, &answer) ? HS_CHILD_DONE : HS_CHILD_NOT_WRITTEN;
}

void
rb_hs_child_run(const struct hs_child_order *order)
{
    rb_hs_memory_stay_inside();
    take_default_signals(order);
    rb_hs_descriptors_close_all();
    give_way(order->nice);
    _exit(answer(order));
}
