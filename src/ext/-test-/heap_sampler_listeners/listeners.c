/*
 * Bug::HeapSamplerListeners, for test/ruby/test_heap_sampler_listeners.rb: listeners of sampled allocations that record
 * what they get.  In a call they do what a Proc returns.
 */
#include "ruby/ruby.h"
#include "ruby/debug.h"
#include "ruby/heap_sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LISTENERS = 16 };

/* Plain memory: what a call passes is kept without an object. */
struct listening {
    rb_heap_sampler_allocation_t *allocations;
    rb_heap_sampler_change_t *changes;
    size_t allocation_count, allocation_room, change_count, change_room;
    unsigned long calls;
    rb_heap_sampler_listener_t listener;
    VALUE act;                  /* a Proc, called at safe points with the name of the call; a Symbol: do_at_once; nil */
    struct listening *other;    /* for :unlisten */
    long done;
    bool used;
};
static struct listening listenings[LISTENERS];

static void *
grow(void *list, size_t *room, size_t needed, size_t size)
{
    if (needed <= *room) return list;
    *room = *room ? *room * 2 : 1024;
    if (*room < needed) *room = needed;
    list = realloc(list, *room * size);
    if (!list) abort();
    return list;
}

/* In the middle of an allocation, where no Ruby code may run. */
static void
do_at_once(struct listening *mine, const rb_heap_sampler_allocation_t *now)
{
    const char *what = rb_id2name(SYM2ID(mine->act));
    mine->done++;
    if (strcmp(what, "raise") == 0) rb_raise(rb_eRuntimeError, "out of a call");
    if (strcmp(what, "overflow") == 0) rb_raise(rb_eSysStackError, "as where the program is deep in its stack");
    if (strcmp(what, "throw") == 0) rb_throw("out", Qnil);
    if (strcmp(what, "allocate") == 0) {
        VALUE list = rb_ary_new();
        for (int i = 0; i < 5; i++) rb_ary_push(list, rb_str_new_cstr("a string that is long enough for malloc, a string that is long enough"));
        rb_hash_aset(rb_hash_new(), INT2FIX(1), list);
        RB_GC_GUARD(list);
    }
    if (strcmp(what, "unlisten") == 0) {
        if (mine->other) rb_heap_sampler_unlisten(mine->other->listener);
        rb_heap_sampler_unlisten(mine->listener);
    }
    if (strcmp(what, "listen") == 0) {
        rb_heap_sampler_listener_type_t type = {.struct_size = sizeof(type), .interval = 1};
        if (rb_heap_sampler_listen(&type, NULL) || errno != EDEADLK) abort();
    }
    if (strcmp(what, "call") == 0) rb_funcall(rb_cObject, rb_intern("ruby_code"), 0);
    if (strcmp(what, "call_c") == 0) rb_funcall(rb_ary_new(), rb_intern("clear"), 0);
    if (strcmp(what, "enable") == 0) rb_gc_enable();
    if (strcmp(what, "change") == 0) OBJ_FREEZE(now->object);
    if (mine->done > 1) return;
    if (strcmp(what, "interrupt") == 0) rb_raise(rb_eInterrupt, "now");
    if (strcmp(what, "exit") == 0) rb_exit(7);
    if (strcmp(what, "kill") == 0) rb_thread_kill(rb_thread_current());
    if (strcmp(what, "fork") == 0) {
        VALUE pid = rb_funcall(rb_mProcess, rb_intern("fork"), 0);
        if (NIL_P(pid)) _exit(7);
        mine->done = NUM2LONG(pid);
        mine->act = Qnil;
    }
}

static void
act(struct listening *mine, const char *name, const rb_heap_sampler_allocation_t *now)
{
    mine->calls++;
    if (SYMBOL_P(mine->act)) do_at_once(mine, now);
    else if (!NIL_P(mine->act) && !now) rb_funcall(mine->act, rb_intern("call"), 1, ID2SYM(rb_intern(name)));
}

static void
keep_allocations(struct listening *mine, const rb_heap_sampler_allocation_t *list, size_t count)
{
    mine->allocations = grow(mine->allocations, &mine->allocation_room, mine->allocation_count + count, sizeof(*list));
    memcpy(mine->allocations + mine->allocation_count, list, count * sizeof(*list));
    mine->allocation_count += count;
}

static void
allocated(const rb_heap_sampler_allocation_t *allocation, void *data)
{
    keep_allocations(data, allocation, 1);
    act(data, "allocated", allocation);
}

static void
malloced(const rb_heap_sampler_allocation_t *allocations, size_t count, void *data)
{
    keep_allocations(data, allocations, count);
    act(data, "malloced", NULL);
}

static void
changed(const rb_heap_sampler_change_t *changes, size_t count, void *data)
{
    struct listening *mine = data;
    mine->changes = grow(mine->changes, &mine->change_room, mine->change_count + count, sizeof(*changes));
    memcpy(mine->changes + mine->change_count, changes, count * sizeof(*changes));
    mine->change_count += count;
    act(mine, "changed", NULL);
}

static struct listening *
listening_of(VALUE number)
{
    int i = NUM2INT(number);
    if (i < 0 || i >= LISTENERS || !listenings[i].used) rb_raise(rb_eArgError, "no listener %d", i);
    return &listenings[i];
}

static struct listening *
new_listening(VALUE proc)
{
    for (int i = 0; i < LISTENERS; i++) {
        if (listenings[i].used) continue;
        free(listenings[i].allocations);
        free(listenings[i].changes);
        listenings[i] = (struct listening){.used = true, .act = proc};
        return &listenings[i];
    }
    rb_raise(rb_eRuntimeError, "too many");
}

/* listen(interval, malloc_interval, follow, proc = nil) -> Integer, or an error's name */
static VALUE
s_listen(VALUE self, VALUE interval, VALUE malloc_interval, VALUE follow, VALUE proc)
{
    rb_heap_sampler_listener_type_t type = {
        .struct_size = sizeof(type),
        .interval = NUM2ULL(interval),
        .malloc_interval = NUM2ULL(malloc_interval),
        .allocated = allocated,
        .malloced = malloced,
        .changed = RTEST(follow) ? changed : NULL,
    };
    struct listening *mine = new_listening(proc);
    mine->listener = rb_heap_sampler_listen(&type, mine);
    if (mine->listener) return INT2FIX((int)(mine - listenings));
    int error = errno;
    mine->used = false;
    switch (error) {
    case EINVAL: return ID2SYM(rb_intern("EINVAL"));
    case EAGAIN: return ID2SYM(rb_intern("EAGAIN"));
    case ENOMEM: return ID2SYM(rb_intern("ENOMEM"));
    case EDEADLK: return ID2SYM(rb_intern("EDEADLK"));
    default: return INT2FIX(-error);
    }
}

/* What an extension of another version says: listen_as(struct_size) */
static VALUE
s_listen_as(VALUE self, VALUE size)
{
    rb_heap_sampler_listener_type_t type = {.struct_size = NUM2SIZET(size), .interval = 1024, .allocated = allocated};
    struct listening *mine = new_listening(Qnil);
    mine->listener = rb_heap_sampler_listen(&type, mine);
    if (mine->listener) return INT2FIX((int)(mine - listenings));
    mine->used = false;
    return Qnil;
}

/* unlisten_too(number, other): for :unlisten */
static VALUE
s_unlisten_too(VALUE self, VALUE number, VALUE other)
{
    listening_of(number)->other = listening_of(other);
    return Qnil;
}

/* what :fork has got, or how often something else was done */
static VALUE
s_done(VALUE self, VALUE number)
{
    return LONG2NUM(listening_of(number)->done);
}

/* act(number, :symbol): from now on */
static VALUE
s_act(VALUE self, VALUE number, VALUE act)
{
    listening_of(number)->act = act;
    return Qnil;
}

static VALUE
s_unlisten(VALUE self, VALUE number)
{
    return rb_heap_sampler_unlisten(listening_of(number)->listener) ? Qtrue : Qfalse;
}

/* release(number): it listens no more, and what it got is forgotten; the number may be given again. */
static VALUE
s_release(VALUE self, VALUE number)
{
    struct listening *mine = listening_of(number);
    rb_heap_sampler_unlisten(mine->listener);
    mine->act = Qnil;
    mine->used = false;
    return Qnil;
}

/* counts(number) -> [allocations, changes] */
static VALUE
s_counts(VALUE self, VALUE number)
{
    const struct listening *mine = listening_of(number);
    return rb_assoc_new(SIZET2NUM(mine->allocation_count), SIZET2NUM(mine->change_count));
}

static VALUE
symbol(const char *name)
{
    return ID2SYM(rb_intern(name));
}

static VALUE leaf;

/* Cut to 8 bytes, it is the beginning of the whole. */
static VALUE
label_text(uint32_t labels)
{
    char text[2048], beginning[8];
    size_t len = rb_heap_sampler_labels(labels, text, sizeof(text));
    if (rb_heap_sampler_labels(labels, NULL, 0) != len) return Qnil;
    if (rb_heap_sampler_labels(labels, beginning, sizeof(beginning)) != len) return Qnil;
    if (memcmp(text, beginning, len < sizeof(beginning) ? len : sizeof(beginning))) return Qnil;
    return rb_utf8_str_new(text, (long)len);
}

static VALUE
allocation_hash(const rb_heap_sampler_allocation_t *allocation)
{
    VALUE hash = rb_hash_new();
    rb_hash_aset(hash, symbol("id"), ULL2NUM(allocation->id));
    rb_hash_aset(hash, symbol("memory"), symbol(allocation->memory == RB_HEAP_SAMPLER_MALLOC ? "malloc" : "slot"));
    rb_hash_aset(hash, symbol("type"), INT2FIX(allocation->type));
    rb_hash_aset(hash, symbol("leaf"), allocation->klass && allocation->klass == leaf ? Qtrue : Qfalse);
    rb_hash_aset(hash, symbol("size"), ULL2NUM(allocation->size));
    rb_hash_aset(hash, symbol("slot_size"), ULL2NUM(allocation->slot_size));
    rb_hash_aset(hash, symbol("weight"), DBL2NUM(allocation->weight));
    rb_hash_aset(hash, symbol("weight_bytes"), DBL2NUM(allocation->weight_bytes));
    rb_hash_aset(hash, symbol("interval"), ULL2NUM(allocation->interval));
    rb_hash_aset(hash, symbol("thread"), UINT2NUM(allocation->thread));
    rb_hash_aset(hash, symbol("labels"), UINT2NUM(allocation->labels));
    rb_hash_aset(hash, symbol("label_text"), label_text(allocation->labels));
    rb_hash_aset(hash, symbol("stack"), ULL2NUM(allocation->stack));
    rb_hash_aset(hash, symbol("gc_count"), ULL2NUM(allocation->gc_count));
    rb_hash_aset(hash, symbol("struct_size"), SIZET2NUM(allocation->struct_size));
    return hash;
}

/* hashes of the sampled allocations; leaf: it is of the class Leaf (others may be freed by now) */
static VALUE
s_allocations(VALUE self, VALUE number)
{
    const struct listening *mine = listening_of(number);
    size_t count = mine->allocation_count;
    leaf = rb_const_defined(rb_cObject, rb_intern("Leaf")) ? rb_const_get(rb_cObject, rb_intern("Leaf")) : 0;
    VALUE list = rb_ary_new_capa((long)count);
    for (size_t i = 0; i < count; i++) {
        rb_heap_sampler_allocation_t allocation = mine->allocations[i]; /* more may come, and move the others */
        rb_ary_push(list, allocation_hash(&allocation));
    }
    return list;
}

/* sums(number) -> [samples, objects, bytes]: of slots, or of malloc */
static VALUE
s_sums(VALUE self, VALUE number, VALUE of_malloc)
{
    const struct listening *mine = listening_of(number);
    double samples = 0, objects = 0, bytes = 0;
    for (size_t i = 0; i < mine->allocation_count; i++) {
        const rb_heap_sampler_allocation_t *allocation = &mine->allocations[i];
        if ((allocation->memory == RB_HEAP_SAMPLER_MALLOC) != RTEST(of_malloc)) continue;
        samples++;
        objects += allocation->weight;
        bytes += allocation->weight_bytes;
    }
    return rb_ary_new_from_args(3, DBL2NUM(samples), DBL2NUM(objects), DBL2NUM(bytes));
}

/* changes(number) -> [[kind, memory, id, value], ...] */
static VALUE
s_changes(VALUE self, VALUE number)
{
    static const char *const kinds[] = {"freed", "forgotten", "moved", "interval"};
    const struct listening *mine = listening_of(number);
    size_t count = mine->change_count;
    VALUE list = rb_ary_new_capa((long)count);
    for (size_t i = 0; i < count; i++) {
        rb_heap_sampler_change_t change = mine->changes[i];     /* more may come, and move the others */
        rb_ary_push(list, rb_ary_new_from_args(4, symbol(kinds[change.kind]), symbol(change.memory == RB_HEAP_SAMPLER_MALLOC ? "malloc" : "slot"), ULL2NUM(change.id), ULL2NUM(change.value)));
    }
    return list;
}

static VALUE
s_calls(VALUE self, VALUE number)
{
    return ULONG2NUM(listening_of(number)->calls);
}

static VALUE
s_interval(VALUE self, VALUE number, VALUE of_malloc)
{
    return ULL2NUM(rb_heap_sampler_interval(listening_of(number)->listener, RTEST(of_malloc) ? RB_HEAP_SAMPLER_MALLOC : RB_HEAP_SAMPLER_SLOT));
}

static VALUE
s_frames(VALUE self, VALUE stack)
{
    static char lines[64][1024];        /* names may go when Ruby objects are allocated */
    rb_heap_sampler_frame_t frames[64];
    size_t count = rb_heap_sampler_stack_frames(NUM2ULL(stack), frames, 64);
    for (size_t i = 0; i < count && i < 64; i++) {
        snprintf(lines[i], sizeof(lines[i]), "%.*s:%d:in '%.*s'", (int)frames[i].path_length, frames[i].path, frames[i].line, (int)frames[i].label_length, frames[i].label);
    }
    VALUE list = rb_ary_new();
    for (size_t i = 0; i < count && i < 64; i++) rb_ary_push(list, rb_str_new_cstr(lines[i]));
    return list;
}

static VALUE
s_flush(VALUE self)
{
    rb_heap_sampler_flush();
    return Qnil;
}

static VALUE
s_weight(VALUE self, VALUE size, VALUE interval)
{
    return DBL2NUM(rb_heap_sampler_weight(NUM2ULL(size), NUM2ULL(interval)));
}

/* Bytes of a VALUE */
static VALUE
s_word(VALUE self)
{
    return SIZET2NUM(sizeof(VALUE));
}

static VALUE
s_missed(VALUE self)
{
    return ULL2NUM(rb_heap_sampler_missed());
}

/* -- the event -------------------------------------------------------------------- */

static void
trace(VALUE tracepoint, void *data)
{
    struct listening *mine = data;
    rb_trace_arg_t *arg = rb_tracearg_from_tracepoint(tracepoint);
    const rb_heap_sampler_allocation_t *allocation = rb_heap_sampler_tracearg(arg);
    if (!allocation || allocation->object != rb_tracearg_object(arg)) abort();
    keep_allocations(mine, allocation, 1);
    if (!NIL_P(mine->act) && mine->act == ID2SYM(rb_intern("disable"))) {
        mine->done++;
        rb_tracepoint_disable(tracepoint);
    }
    else {
        act(mine, "allocated", allocation);
    }
}

/* tracepoint(proc) -> [number, TracePoint] */
static VALUE
s_tracepoint(VALUE self, VALUE proc)
{
    struct listening *mine = new_listening(proc);
    return rb_ary_new_from_args(2, INT2FIX((int)(mine - listenings)),
                                rb_tracepoint_new(0, RUBY_INTERNAL_EVENT_SAMPLED_NEWOBJ, trace, mine));
}

static VALUE
s_tracepoint_interval(VALUE self, VALUE interval)
{
    return rb_heap_sampler_tracepoint_interval(NUM2ULL(interval)) ? Qtrue : Qfalse;
}

void
Init_heap_sampler_listeners(void)
{
    VALUE bug = rb_define_module("Bug");
    VALUE listeners = rb_define_module_under(bug, "HeapSamplerListeners");
    for (int i = 0; i < LISTENERS; i++) {
        listenings[i].act = Qnil;
        rb_gc_register_address(&listenings[i].act);
    }
    rb_define_singleton_method(listeners, "listen", s_listen, 4);
    rb_define_singleton_method(listeners, "listen_as", s_listen_as, 1);
    rb_define_singleton_method(listeners, "unlisten", s_unlisten, 1);
    rb_define_singleton_method(listeners, "unlisten_too", s_unlisten_too, 2);
    rb_define_singleton_method(listeners, "act", s_act, 2);
    rb_define_singleton_method(listeners, "done", s_done, 1);
    rb_define_singleton_method(listeners, "release", s_release, 1);
    rb_define_singleton_method(listeners, "counts", s_counts, 1);
    rb_define_singleton_method(listeners, "allocations", s_allocations, 1);
    rb_define_singleton_method(listeners, "sums", s_sums, 2);
    rb_define_singleton_method(listeners, "changes", s_changes, 1);
    rb_define_singleton_method(listeners, "calls", s_calls, 1);
    rb_define_singleton_method(listeners, "interval", s_interval, 2);
    rb_define_singleton_method(listeners, "frames", s_frames, 1);
    rb_define_singleton_method(listeners, "flush", s_flush, 0);
    rb_define_singleton_method(listeners, "weight", s_weight, 2);
    rb_define_singleton_method(listeners, "missed", s_missed, 0);
    rb_define_singleton_method(listeners, "word", s_word, 0);
    rb_define_singleton_method(listeners, "tracepoint", s_tracepoint, 1);
    rb_define_singleton_method(listeners, "tracepoint_interval", s_tracepoint_interval, 1);
}
