/* See vm.h. */
#include "ruby/internal/config.h"
#include "internal.h"
#include "internal/gc.h"
#include "internal/heap_sampler.h"
#include "ruby/debug.h"
#include "ruby/ruby.h"
#include "vm_core.h"
#include "heap_sampler/memory/threads.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/sampling/listeners.h"
#include "heap_sampler/ruby/ruby_api.h"
#include "heap_sampler/heap_walk/launch.h"
#include "heap_sampler/process/process.h"
#include "heap_sampler/server/service.h"
#include "heap_sampler/settings/options.h"
#include "heap_sampler/store/store.h"
#include "heap_sampler/sampling/capture.h"
#include "heap_sampler/store/class_table.h"
#include "heap_sampler/store/label_sets.h"
#include "heap_sampler/sampling/sessions.h"
#include "heap_sampler/sampling/malloc_hooks.h"
#include "heap_sampler/store/malloc_table.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/store/stack_table.h"
#include "heap_sampler/store/page_table.h"
#include "vm.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#undef snprintf
#undef vsnprintf

enum { PAGES = 24,
       PAGE_BYTES = 1 << 16,
       SLOT_BYTES = 40,
       SLOTS = PAGE_BYTES / SLOT_BYTES,
       CODES = 600,
       DEEPEST = 8 };

struct slot {
    VALUE flags;                /* 0: free */
    VALUE moved_to;             /* of T_MOVED */
    uint64_t serial;            /* of code: its label and its native address */
    VALUE unused[2];
};

static struct page {
    struct rb_heap_sampler_page *samples;
    struct slot *slots;
    uintptr_t mark_bits[SLOTS / 64 + 1];
} pages[PAGES];

static struct slot *codes[CODES];
static uint64_t code_serials;
static size_t gc_count;
static pthread_mutex_t gvl = PTHREAD_MUTEX_INITIALIZER;
/* Held for reading by each Ractor that runs; GC is alone. */
static pthread_rwlock_t running = PTHREAD_RWLOCK_INITIALIZER;

uint32_t
vm_random(uint32_t below)
{
    static uint64_t threads;
    static _Thread_local uint64_t state;
    if (!state) state = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED) * UINT64_C(0x9e3779b97f4a7c15);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % below;
}

static _Thread_local bool gvl_held;

void
vm_lock(void)
{
    pthread_mutex_lock(&gvl);
    gvl_held = true;
}

void
vm_unlock(void)
{
    gvl_held = false;
    pthread_mutex_unlock(&gvl);
}

/* -- slots --------------------------------------------------------------------- */

static struct page *
page_of(uintptr_t address)
{
    for (int i = 0; i < PAGES; i++) {
        uintptr_t body = (uintptr_t)pages[i].slots;
        if (address >= body && address < body + SLOTS * SLOT_BYTES) return &pages[i];
    }
    return NULL;
}

static unsigned
number_of(const struct page *page, const struct slot *slot)
{
    return (unsigned)(slot - page->slots);
}

static void
set_mark(const struct slot *slot, bool marked)
{
    struct page *page = page_of((uintptr_t)slot);
    unsigned number = number_of(page, slot);
    uintptr_t bit = (uintptr_t)1 << number % 64;
    if (marked) page->mark_bits[number / 64] |= bit;
    else page->mark_bits[number / 64] &= ~bit;
}

static bool
marked_p(const struct slot *slot)
{
    const struct page *page = page_of((uintptr_t)slot);
    unsigned number = number_of(page, slot);
    return page->mark_bits[number / 64] >> number % 64 & 1;
}

static struct slot *
find_free(void)
{
    for (int tries = 0; tries < 64; tries++) {
        struct slot *slot = &pages[vm_random(PAGES)].slots[vm_random(SLOTS)];
        if (!slot->flags) return slot;
    }
    return NULL;
}

static void
new_code(int i)
{
    struct slot *slot = find_free();
    codes[i] = slot;
    if (!slot) return;
    slot->serial = ++code_serials;
    slot->flags = T_IMEMO;
}

static void name_classes(void);

void
vm_boot(void)
{
    vm_lock();
    rb_hs_safe_point_boot();
    name_classes();
    vm_unlock();
    for (int i = 0; i < PAGES; i++) pages[i].slots = calloc(SLOTS, SLOT_BYTES);
    for (int i = 0; i < CODES; i++) new_code(i);
    rb_hs_options_default(&rb_hs_options);
    rb_hs_use_files(&rb_hs_options.files);
    rb_hs_session_limits(&rb_hs_options.limits);
    rb_hs_random_seed(&rb_hs_slot_store.random, 42);
    rb_hs_malloc_seed(43);
}

void
vm_allocate(void)
{
    static const VALUE types[] = {T_STRING, T_ARRAY, T_OBJECT};
    struct slot *slot = find_free();
    uint64_t drawn_at;
    if (!slot) return;
    VALUE flags = types[vm_random(3)];
    if (rb_heap_sampler_drawing && rb_heap_sampler_on_install(SLOT_BYTES, 1, &drawn_at)) {
        struct page *page = page_of((uintptr_t)slot);
        rb_heap_sampler_on_take(&page->samples, (uintptr_t)page->slots, page->mark_bits, number_of(page, slot), SLOT_BYTES, SLOT_BYTES,
                                Qtrue, flags, drawn_at);
    }
    slot->flags = flags;
}

static void
move(struct slot *from)
{
    struct slot *to = find_free();
    if (!to) return;
    struct page *from_page = page_of((uintptr_t)from), *to_page = page_of((uintptr_t)to);
    *to = *from;
    set_mark(to, true);
    from->flags = T_MOVED;
    from->moved_to = (VALUE)to;
    if (from_page->samples) {
        rb_heap_sampler_on_move(from_page->samples, number_of(from_page, from), &to_page->samples, (uintptr_t)to_page->slots,
                                to_page->mark_bits, number_of(to_page, to));
    }
}

static void
each_slot(void (*visit)(struct slot *slot))
{
    for (int p = 0; p < PAGES; p++) {
        for (int i = 0; i < SLOTS; i++) {
            if (pages[p].slots[i].flags) visit(&pages[p].slots[i]);
        }
    }
}

static void
mark_some(struct slot *slot)
{
    set_mark(slot, vm_random(8) > 1);
}
static void
move_some(struct slot *slot)
{
    if (slot->flags != T_MOVED && vm_random(16) == 0) move(slot);
}
static void
forget_moved(struct slot *slot)
{
    if (slot->flags == T_MOVED) slot->flags = 0;
}
static void
sweep(struct slot *slot)
{
    if (!marked_p(slot)) slot->flags = 0;
}

void
vm_gc(bool full, bool compact)
{
    pthread_rwlock_wrlock(&running);
    __atomic_add_fetch(&gc_count, 1, __ATOMIC_RELAXED);
    rb_heap_sampler_on_gc_start(full);
    each_slot(mark_some);
    rb_heap_sampler_on_mark_end(full);
    for (int i = 0; i < CODES; i++) {
        if (!codes[i] || !marked_p(codes[i])) codes[i] = NULL;
    }
    each_slot(sweep);
    if (compact) {
        each_slot(move_some);
        for (int i = 0; i < CODES; i++) codes[i] = (struct slot *)rb_gc_location((VALUE)codes[i]);
        rb_heap_sampler_on_update_references();
        each_slot(forget_moved);
    }
    for (int i = 0; i < CODES; i++) {
        if (!codes[i]) new_code(i);
    }
    pthread_rwlock_unlock(&running);
}

void
vm_free_pages(void)
{
    for (int i = 0; i < PAGES; i++) {
        if (pages[i].samples) rb_heap_sampler_on_page_free(pages[i].samples);
        memset(pages[i].slots, 0, SLOTS * SLOT_BYTES);
    }
}

/* -- what the sampler asks of MRI ------------------------------------------------- */

static rb_vm_t vm = {.default_params = {.thread_machine_stack_size = 1 << 20}};
rb_vm_t *ruby_current_vm_ptr = &vm;
struct rb_ractor_struct *ruby_single_main_ractor = (struct rb_ractor_struct *)&vm;      /* not NULL: there is one */
const char *rb_dynamic_description = "a VM for tests";
VALUE rb_eArgError;
uint64_t rb_hs_classes_dropped;

void
rb_vm_barrier(void)
{
}
void
rb_vm_lock_enter_body(unsigned int *lev)
{
    abort();
}
void
rb_vm_lock_leave_body(unsigned int *lev)
{
    abort();
}
size_t
rb_gc_count(void)
{
    return gc_count;
}
int *
rb_errno_ptr(void)
{
    return __errno_location();
}
void *
rb_asan_poisoned_object_p(VALUE object)
{
    return NULL;
}
void
rb_heap_sampler_gc_recut(void)
{
}
void
rb_hs_malloc_settings(bool is_off, uint64_t interval)
{
    (void)is_off;
    (void)interval;
}

void
rb_hs_malloc_boot(bool wanted)
{
}

bool
rb_hs_malloc_raw_stacks_p(void)
{
    struct hs_malloc_table_stat stat;
    rb_hs_malloc_table_stat(&stat);
    return stat.raw != 0;
}

/* -- postponed jobs ---------------------------------------------------------------------- */

static rb_postponed_job_func_t jobs[8];
static unsigned job_count;
static unsigned jobs_triggered; /* atomic: a bit for each */

rb_postponed_job_handle_t
rb_postponed_job_preregister(unsigned flags, rb_postponed_job_func_t function, void *data)
{
    (void)flags, (void)data;
    if (job_count == sizeof(jobs) / sizeof(jobs[0])) abort();
    jobs[job_count] = function;
    return job_count++;
}

void
rb_postponed_job_trigger(rb_postponed_job_handle_t handle)
{
    __atomic_or_fetch(&jobs_triggered, 1u << handle, __ATOMIC_RELEASE);
}

void
vm_safe_point(void)
{
    unsigned triggered = __atomic_exchange_n(&jobs_triggered, 0, __ATOMIC_ACQ_REL);
    for (unsigned i = 0; i < job_count; i++) {
        if (triggered & (1u << i)) jobs[i](NULL);
    }
}

/* -- contracts ------------------------------------------------------------------------- */

bool
rb_hs_gvl_p(void)
{
    return gvl_held;
}
bool
rb_hs_vm_locked_p(void)
{
    return gvl_held;
}
bool
rb_hs_in_gc_p(void)
{
    return gvl_held;
}

void
rb_hs_fault(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    abort();
}

void
rb_hs_unwind_refresh(void)
{
}
void
rb_raise(VALUE error, const char *format, ...)
{
    abort();
}

void
rb_bug(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

int
ruby_vsnprintf(char *to, size_t size, const char *format, va_list args)
{
    return vsnprintf(to, size, format, args);
}

int
ruby_snprintf(char *to, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(to, size, format, args);
    va_end(args);
    return len;
}

VALUE
rb_gc_location(VALUE object)
{
    /* It may have moved more than once, unlike MRI's. */
    while (object && ((const struct slot *)object)->flags == T_MOVED) object = ((const struct slot *)object)->moved_to;
    return object;
}

int
rb_heap_sampler_gc_liveness(VALUE object)
{
    return marked_p((const struct slot *)object);
}

bool
rb_gc_pointer_to_heap_p(VALUE object)
{
    const struct page *page = page_of(object);
    return page && (object - (uintptr_t)page->slots) % SLOT_BYTES == 0;
}

struct rb_heap_sampler_page *
rb_heap_sampler_gc_table_of(VALUE object, unsigned int *slot)
{
    const struct page *page = page_of(object);
    if (!page) return NULL;
    *slot = number_of(page, (const struct slot *)object);
    return page->samples;
}

VALUE
rb_heap_sampler_gc_slot_address(uintptr_t body, unsigned int slot)
{
    return body + slot * SLOT_BYTES;
}

void
rb_heap_sampler_gc_each_table(void (*visit)(struct rb_heap_sampler_page **, uintptr_t, void *), void *data)
{
    for (int i = 0; i < PAGES; i++) {
        if (pages[i].samples) visit(&pages[i].samples, (uintptr_t)pages[i].slots, data);
    }
}

void
rb_heap_sampler_gc_counts(struct rb_heap_sampler_gc_counts *counts)
{
    /* The account reads it without a lock: a word that may be a GC old. */
    size_t gc = __atomic_load_n(&gc_count, __ATOMIC_RELAXED);
    *counts = (struct rb_heap_sampler_gc_counts){.gc = gc, .heap_count = 1, .heap = {{SLOT_BYTES, PAGES * SLOTS, 0}}};
}

size_t
rb_heap_sampler_gc_page_count(void)
{
    return PAGES;
}

static unsigned
marked_slots(const struct page *page)
{
    unsigned live = 0;
    for (size_t i = 0; i < sizeof(page->mark_bits) / sizeof(*page->mark_bits); i++) live += (unsigned)__builtin_popcountl(page->mark_bits[i]);
    return live;
}

/* Nothing is pinned, and a move leaves the marks right. */
void
rb_heap_sampler_gc_page_use(struct rb_heap_sampler_page *const *table, bool moved, struct rb_heap_sampler_page_use *use)
{
    static const uintptr_t no_pins[SLOTS / 64 + 1];
    const struct page *page = (const struct page *)((const char *)table - offsetof(struct page, samples));
    unsigned live = marked_slots(page);
    (void)moved;
    *use = (struct rb_heap_sampler_page_use){live, SLOTS - live, SLOT_BYTES, no_pins};
}

void
rb_heap_sampler_gc_heap_use(unsigned int heap, bool moved, struct rb_heap_sampler_heap_use *use)
{
    (void)heap, (void)moved;
    *use = (struct rb_heap_sampler_heap_use){0};
    for (int i = 0; i < PAGES; i++) {
        unsigned live = marked_slots(&pages[i]);
        if (!live) continue;
        use->pages++;
        use->live_slots += live;
        use->free_slots += SLOTS - live;
    }
}

/* GCs are begun by main.c alone. */
bool
rb_heap_sampler_gc_start_major(size_t step_slots)
{
    (void)step_slots;
    return false;
}
void
rb_heap_sampler_gc_step_major(size_t slots)
{
    (void)slots;
}
bool
rb_heap_sampler_gc_compact(struct rb_heap_sampler_gc_moves *moves)
{
    (void)moves;
    return false;
}

/* Classes: one of each type. */
uint32_t
rb_hs_class_of_allocation(VALUE klass, VALUE flags)
{
    return (uint32_t)flags;
}
static uint32_t thing, t_string, t_object;

static void
name_classes(void)
{
    rb_hs_lock();
    thing = rb_hs_text_cstr("Thing");
    t_string = rb_hs_text_cstr("T_STRING");
    t_object = rb_hs_text_cstr("T_OBJECT");
    rb_hs_unlock();
}

uint32_t
rb_hs_class_text(uint32_t class_id)
{
    return thing;
}
uint32_t
rb_hs_class_type_text(uint32_t class_id)
{
    return class_id == T_STRING ? t_string : t_object;
}
bool
rb_hs_class_has_type(uint32_t class_id, VALUE flags)
{
    return class_id == (uint32_t)flags;
}
void
rb_hs_classes_sweep(bool full)
{
}
void
rb_hs_classes_move(void)
{
}
void
rb_hs_classes_rename(void)
{
}
bool
rb_hs_classes_crowded(unsigned sixteenths)
{
    return false;
}
uint32_t
rb_hs_class_count(void)
{
    return 0;
}
void
rb_hs_classes_keep(const bool *used, bool *texts)
{
    texts[thing] = texts[t_string] = texts[t_object] = true;
}
bool
rb_hs_class_used_p(uint32_t class_id)
{
    return true;
}
void
rb_hs_classes_check(void)
{
}
void
rb_hs_classes_check_living(bool (*alive)(uintptr_t))
{
}

/* -- stacks ------------------------------------------------------------------------- */

uint32_t
rb_hs_capture_thread(void)
{
    return 1;
}

/* One of some label sets, or none. The lock is held. */
uint16_t
rb_hs_labels_now(void)
{
    char text[32];
    unsigned number = (unsigned)vm_random(40);
    return number ? rb_hs_label_set(text, (size_t)snprintf(text, sizeof(text), "tenant=%u", number)) : HS_LABELS_NONE;
}

static bool
name_code(uintptr_t address)
{
    char label[32];
    snprintf(label, sizeof(label), "code %llu", (unsigned long long)((const struct slot *)address)->serial);
    rb_hs_lock();
    const struct hs_code *code = rb_hs_code_add((struct hs_code){.address = address, .label = rb_hs_text_cstr(label), .path = rb_hs_text_cstr("a.rb")});
    rb_hs_unlock();
    return code;
}

/* Takes and leaves the lock as sampling/capture.c does. */
uint32_t
rb_hs_capture_resolve(const struct hs_raw_frame *frames, uint32_t depth, bool truncated)
{
    uint32_t node = HS_NODE_EMPTY;
    for (uint32_t i = depth; i-- > 0;) {
        if (!rb_hs_code_find(frames[i].code) && !name_code(frames[i].code)) return UINT32_MAX;
    }
    for (uint32_t i = depth; i-- > 0;) {
        rb_hs_lock();
        node = rb_hs_node_child(node, rb_hs_code_frame(rb_hs_code_find(frames[i].code), 1, UINT32_MAX));
        rb_hs_unlock();
    }
    return node;
}

static uint32_t
some_frames(struct hs_raw_frame *frames, uint32_t depth, uint64_t *key)
{
    uint32_t count = 0;
    struct hs_stack_hash hash = {0, 0};
    while (depth-- > 0) {
        const struct slot *code = codes[vm_random(CODES)];
        if (!code) continue;
        frames[count++] = (struct hs_raw_frame){(uintptr_t)code, code->serial, 0};
        hs_stack_hash_add(&hash, code->serial);
    }
    *key = rb_hs_stack_key(hash, count, false);
    return count;
}

uint32_t
rb_hs_capture_stack(void)
{
    struct hs_raw_frame frames[DEEPEST];
    uint64_t key;
    uint32_t node, depth = some_frames(frames, vm_random(DEEPEST), &key);
    if (rb_hs_stack_find(key, &node)) return node;
    node = rb_hs_capture_resolve(frames, depth, false);
    if (node == UINT32_MAX) return HS_NODE_EMPTY;
    rb_hs_lock();
    rb_hs_stack_remember(key, node);
    rb_hs_unlock();
    return node;
}

/* -- malloc ---------------------------------------------------------------------------- */

#define NATIVE_BASE UINT64_C(0x100000)          /* no file is mapped there */
enum { LIVE_MOST = 4096,
       DRAWN_AT = 256 };

/* What a real malloc gives is of one thread until it frees it: the mutex is not held while the table is updated. */
static pthread_mutex_t blocks_mutex = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t live[LIVE_MOST];
static uint32_t live_count;
static uint64_t addresses;      /* atomic */

static void
copy_frame(const void *stack, struct hs_raw_frame *frames, uint32_t depth)
{
    if (depth) *frames = *(const struct hs_raw_frame *)stack;
}

static uintptr_t
some_block(void)
{
    uintptr_t address = 0;
    pthread_mutex_lock(&blocks_mutex);
    if (live_count > LIVE_MOST / 8) {
        uint32_t at = vm_random(live_count);
        address = live[at];
        live[at] = live[--live_count];
    }
    pthread_mutex_unlock(&blocks_mutex);
    return address;
}

static void
keep_block(uintptr_t address)
{
    pthread_mutex_lock(&blocks_mutex);
    bool room = live_count < LIVE_MOST;
    if (room) live[live_count++] = address;
    pthread_mutex_unlock(&blocks_mutex);
    if (!room) rb_hs_malloc_on_free(address, 0);
}

/* An allocation; now and then at the address of a block whose free is reported after it, as realloc(3) does. */
void
vm_malloc(void)
{
    struct hs_raw_frame frame;
    struct hs_malloc_allocation allocation = {
        .size = 16u << vm_random(12),
        .drawn_at = DRAWN_AT,
        .thread = 1 + vm_random(3),
        .native_count = 1,
        .copy = copy_frame,
    };
    pthread_rwlock_rdlock(&running);
    allocation.gc = (uint32_t)gc_count;
    allocation.depth = some_frames(&frame, 1, &allocation.stack_key);
    if (allocation.depth) {
        uintptr_t native = NATIVE_BASE + frame.pc * 16, old = vm_random(4) ? 0 : some_block();
        bool in_place = old && vm_random(2);
        allocation.kind = HS_MALLOC_STACK;
        allocation.native = &native;
        allocation.stack = &frame;
        allocation.address = in_place ? old : __atomic_add_fetch(&addresses, 1, __ATOMIC_RELAXED) * 16;
        rb_hs_malloc_on_allocation(&allocation);
        if (old) rb_hs_malloc_on_free(old, allocation.gc);
        keep_block(allocation.address);
    }
    pthread_rwlock_unlock(&running);
}

void
vm_free(void)
{
    pthread_rwlock_rdlock(&running);
    uintptr_t address = some_block();
    if (address) rb_hs_malloc_on_free(address, (uint32_t)gc_count);
    pthread_rwlock_unlock(&running);
}

void
vm_settle(void)
{
    pthread_rwlock_wrlock(&running);
    pthread_rwlock_unlock(&running);
}

struct hs_yjit_memory
rb_hs_yjit_memory(int session)
{
    (void)session;
    return (struct hs_yjit_memory){0, 0};
}

/* As sampling/malloc_hooks.c does. */
void
rb_hs_malloc_name_stacks(void)
{
    static struct hs_raw_frame frames[HS_DEPTH_MAX];
    bool truncated;
    for (uint32_t depth; (depth = rb_hs_malloc_next_raw(frames, &truncated));) {
        rb_hs_make_room_for_stack(depth);
        uint32_t node = rb_hs_capture_resolve(frames, depth, truncated);
        rb_hs_malloc_named(node == UINT32_MAX ? HS_NODE_EMPTY : node);
    }
    rb_hs_join_blocks();
    rb_hs_fold_blocks(vm_random(64) == 0);
}

bool
rb_hs_malloc_start(int session, uint64_t interval, uint32_t thread)
{
    return rb_hs_malloc_session(session).on ? rb_hs_malloc_retune(session, interval) : rb_hs_malloc_begin(session, interval, thread);
}

void
rb_hs_malloc_stop(int session)
{
    rb_hs_malloc_lock();
    rb_hs_store_end(&rb_hs_malloc_store, session);
    rb_hs_malloc_unlock();
}

/* -- what retains it: it needs Ruby's objects, and is left out ------------------------------- */

bool
rb_hs_retainers_prepare(struct hs_walk_child *child, struct hs_retainers *into, unsigned seconds, bool by_itself)
{
    (void)child, (void)seconds, (void)by_itself;
    *into = (struct hs_retainers){.refusal = HS_REFUSED_NO_CHILD};
    return false;
}

void
rb_hs_retainers_fork(struct hs_walk_child *child, const struct hs_wanted *wanted)
{
    (void)child, (void)wanted;
}

bool
rb_hs_retainers_wait(struct hs_walk_child *child, const volatile bool *interrupted)
{
    (void)child, (void)interrupted;
    return true;
}

void
rb_hs_retainers_end(struct hs_walk_child *child)
{
    (void)child;
}

void
rb_hs_retainers_after_fork(void)
{
}

/* -- what the service asks of Ruby: GC.start, and GC::SampleProfile's start and stop ------ */

void
rb_gc(void)
{
    vm_gc(true, false);
}
VALUE
rb_protect(VALUE (*function)(VALUE), VALUE data, int *state)
{
    *state = 0;
    return function(data);
}
/* Keywords are made, and thrown away: as many Strings as a request has, at most. */
VALUE(rb_str_new_cstr)(const char *text)
{
    enum { STRINGS = 64 };
    static struct RString strings[STRINGS];
    static char texts[STRINGS][256];
    static unsigned next;
    unsigned i = next++ % STRINGS;
    snprintf(texts[i], sizeof(texts[i]), "%s", text);
    strings[i].basic.flags = T_STRING | RSTRING_NOEMBED;
    strings[i].len = (long)strlen(texts[i]);
    strings[i].as.heap.ptr = texts[i];
    return (VALUE)&strings[i];
}
VALUE
rb_str_intern(VALUE string)
{
    return string;
}
VALUE
rb_hash_new(void)
{
    return Qtrue;
}
VALUE
rb_hash_aset(VALUE hash, VALUE key, VALUE value)
{
    (void)hash, (void)key;
    return value;
}
ID
rb_intern2(const char *name, long len)
{
    (void)name, (void)len;
    return 1;
}
/* Nothing raises here. */
VALUE
rb_errinfo(void)
{
    abort();
}
void
rb_set_errinfo(VALUE error)
{
    (void)error;
    abort();
}
VALUE
rb_check_funcall(VALUE receiver, ID method, int count, const VALUE *arguments)
{
    (void)receiver, (void)method, (void)count, (void)arguments;
    abort();
}
VALUE
rb_path2class(const char *path)
{
    (void)path;
    return Qtrue;
}
VALUE
rb_funcall(VALUE receiver, ID method, int count, ...)
{
    (void)receiver, (void)method, (void)count;
    vm_stop();
    return Qnil;
}
VALUE
rb_funcallv_kw(VALUE receiver, ID method, int count, const VALUE *arguments, int keywords)
{
    (void)receiver, (void)method, (void)count, (void)arguments, (void)keywords;
    vm_start();
    return Qnil;
}

/* -- listeners: there are none ---------------------------------------------------------- */

void
rb_hs_listeners_sampled(const struct hs_sampled *sampled)
{
    (void)sampled;
}
struct hs_listener_call *
rb_hs_listener_called(void)
{
    return NULL;
}
void
rb_hs_extending_boot(bool usdt)
{
    (void)usdt;
}
void
rb_hs_extending_after_fork(void)
{
}

bool
rb_hs_stack_short_p(void)
{
    return false;
}

void
rb_hs_call_masked(void (*function)(void *data), void *data)
{
    function(data);
}

void
rb_hs_wake_main_thread(void)
{
}

void
rb_hs_wake_after_fork(void)
{
}

int
rb_during_gc(void)
{
    return 0;
}

/* -- jemalloc's own figures ---------------------------------------------------------------- */

void
rb_hs_malloc_describe(struct hs_malloc_meta *meta, int session)
{
    *meta = (struct hs_malloc_meta){.state = HS_MALLOC_ON, .interval = rb_hs_malloc_session(session).interval};
}

/* -- fibers ------------------------------------------------------------------------ */

struct fiber {
    struct rb_heap_sampler_alive alive;
    uintptr_t stack;
};

/* Each thread has its own; who counts looks at all. */
void
vm_fiber(void)
{
    enum { FIBERS = 300 };
    static _Thread_local struct fiber *fibers[FIBERS];
    struct fiber **place = &fibers[vm_random(FIBERS)];
    if (*place) {
        rb_hs_thread_list_remove(&(*place)->alive);
        memset(*place, 0xee, sizeof(**place));
        free(*place);
        *place = NULL;
        return;
    }
    struct hs_creation_place made = {.origin = HS_CREATION_FIXED};
    made.len = (uint32_t)snprintf(made.text, sizeof(made.text), "file%u.rb:%u", vm_random(100), 1 + vm_random(20));
    *place = calloc(1, sizeof(**place));
    (*place)->stack = (uintptr_t)*place & ~(uintptr_t)4095;
    rb_hs_thread_list_add(vm_random(2) ? HS_THREADS : HS_FIBERS, &(*place)->alive, &made);
}

void
rb_hs_fiber_look(const struct rb_heap_sampler_alive *alive, struct hs_thread_look *look)
{
    const struct fiber *fiber = (const struct fiber *)alive;
    *look = (struct hs_thread_look){.state = HS_SUSPENDED, .mapped = {fiber->stack, 4096}};
}

void
rb_hs_thread_look(const struct rb_heap_sampler_alive *alive, struct hs_thread_look *look)
{
    rb_hs_fiber_look(alive, look);
    look->state = HS_SLEEPING;
}

const struct hs_allocator *
rb_hs_allocator(void)
{
    static const struct hs_allocator allocator = {.jemalloc = true, .prof_opened = true, .name = "a malloc for tests"};
    return &allocator;
}

void
rb_hs_allocator_give_back(void)
{
}

bool
rb_hs_mallctl_read(const char *name, void *value, size_t size)
{
    return false;
}

bool
rb_hs_mallctl_write(const char *name, const void *value, size_t size)
{
    return false;
}

static bool
row_agrees(const struct hs_profile *profile, const struct hs_row *row)
{
    char label[32];
    const struct hs_node *native = &profile->nodes[row->node];
    const struct hs_text *own = &profile->texts[profile->frames[native->frame].label];
    /* Of a stack that found no room nothing is said. */
    if (own->len == strlen("(evicted)") && memcmp(own->ptr, "(evicted)", own->len) == 0) return true;
    if (native->parent == HS_NODE_EMPTY) {
        fprintf(stderr, "a row stands on %.*s alone\n", (int)own->len, own->ptr);
        return false;
    }
    const struct hs_frame *ruby = &profile->frames[profile->nodes[native->parent].frame];
    const struct hs_text *text = &profile->texts[ruby->label];
    uint64_t address = profile->frames[native->frame].address + 1;      /* it is reported within the call */
    int len = snprintf(label, sizeof(label), "code %llu", (unsigned long long)(address - NATIVE_BASE) / 16);
    if (text->len == (uint32_t)len && memcmp(text->ptr, label, text->len) == 0) return true;
    static const char *const unknown[] = {"(not named yet)", "(evicted)"};
    for (int i = 0; i < 2; i++) {
        if (text->len == strlen(unknown[i]) && memcmp(text->ptr, unknown[i], text->len) == 0) return true;
    }
    fprintf(stderr, "a block of %s stands on %.*s\n", label, (int)text->len, text->ptr);
    return false;
}

long
vm_check_malloc_rows(const struct hs_profile *profile)
{
    long rows = 0;
    for (size_t i = 0; i < profile->row_count; i++) {
        if (!profile->rows[i].malloced) continue;
        rows++;
        if (!row_agrees(profile, &profile->rows[i])) return -1;
    }
    return rows;
}
