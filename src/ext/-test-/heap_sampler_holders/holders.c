/*
 * Bug::HeapSamplerHolders, for test/ruby/test_heap_sampler_holders.rb: an object whose mark function crashes or calls
 * malloc in any process but the one where it was made; objects that C code pins; threads unknown to Ruby, which call
 * malloc all the time; the end of a machine stack.
 */
#include "ruby/ruby.h"

#include <alloca.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct trouble {
    pid_t home;
    char how;
};

/* -- the end of a machine stack -------------------------------------------------------------------- */

/* with_stack(bytes) { … }: so many are left for the block. MRI subtracts the size of the guard, which musl has twice as large as
 * glibc, and so do we. Of a thread's own stack, no fiber's. (What an exception jumps over would stay marked in the eyes of
 * AddressSanitizer.) */
__attribute__((no_sanitize("address"))) static VALUE
s_with_stack(VALUE self, VALUE wanted)
{
    pthread_attr_t attributes;
    void *lowest;
    size_t size, guard;
    char here;
    if (pthread_getattr_np(pthread_self(), &attributes)) rb_bug("no attributes");
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_destroy(&attributes);
    size_t left = (size_t)(&here - (char *)lowest) - guard, keep = NUM2SIZET(wanted);
    volatile char *taken = left > keep ? alloca(left - keep) : &here;
    *taken = 0;
    return rb_yield(Qnil);
}

/* -- malloc ----------------------------------------------------------------------------------- */

enum { BLOCKS = 256,
       LARGE = 40000 };         /* no cache of a thread has it: each takes a lock */

/* The threads take each other's blocks and free them, so that locks of all arenas are taken. */
static void *blocks[BLOCKS];
static bool busy;

static void
exchange(unsigned number)
{
    free(__atomic_exchange_n(&blocks[number % BLOCKS], malloc(LARGE + number % 64 * 4096), __ATOMIC_ACQ_REL));
}

static void *
allocate_all_the_time(void *unused)
{
    for (unsigned i = 0; __atomic_load_n(&busy, __ATOMIC_ACQUIRE); i += 7) exchange(i);
    return unused;
}

static void
allocate_once(void)
{
    for (unsigned i = 0; i < BLOCKS; i++) exchange(i);
}

/* while_allocating(threads) { … } */
static VALUE
s_while_allocating(VALUE self, VALUE count)
{
    pthread_t threads[16];
    int number = NUM2INT(count), status;
    if (number < 0 || number > 16) rb_raise(rb_eArgError, "0 to 16 threads");
    __atomic_store_n(&busy, true, __ATOMIC_RELEASE);
    for (int i = 0; i < number; i++) {
        if (pthread_create(&threads[i], NULL, allocate_all_the_time, NULL)) rb_bug("no thread");
    }
    VALUE result = rb_protect(rb_yield, Qnil, &status);
    __atomic_store_n(&busy, false, __ATOMIC_RELEASE);
    for (int i = 0; i < number; i++) pthread_join(threads[i], NULL);
    if (status) rb_jump_tag(status);
    return result;
}

/* -- mark functions ---------------------------------------------------------------------------- */

static void
trouble_mark(void *ptr)
{
    const struct trouble *trouble = ptr;
    if (trouble->home == getpid()) return;
    switch (trouble->how) {
    case 'h':
        for (;;) pause();
    case 's': *(volatile int *)sizeof(int) = 0; break;
    case 'a': abort();
    case 'b': rb_bug("a mark function went wrong");
    case 'e': exit(0);
    case 'm': allocate_once();
    }
}

static const rb_data_type_t trouble_type = {
    "Bug::Trouble",
    {trouble_mark, RUBY_DEFAULT_FREE, 0},
    0,
    0,
    RUBY_TYPED_FREE_IMMEDIATELY,
};

/* trouble("hang"), "segv", "abort", "bug", "exit", "malloc" */
static VALUE
s_trouble(VALUE self, VALUE how)
{
    struct trouble *trouble;
    VALUE object = TypedData_Make_Struct(rb_cObject, struct trouble, &trouble_type, trouble);
    trouble->home = getpid();
    trouble->how = *StringValueCStr(how);
    return object;
}

/* -- what GC.compact must not move ---------------------------------------------------------------- */

struct pins {
    bool maybe;
    long count;
    VALUE objects[];
};

static void
pins_mark(void *ptr)
{
    const struct pins *pins = ptr;
    if (pins->maybe) rb_gc_mark_locations(pins->objects, pins->objects + pins->count);
    else
        for (long i = 0; i < pins->count; i++) rb_gc_mark(pins->objects[i]);
}

static const rb_data_type_t pins_type = {
    "Bug::Pins",
    {pins_mark, RUBY_DEFAULT_FREE, 0},
    0,
    0,
    RUBY_TYPED_FREE_IMMEDIATELY,
};

/* pin(objects, maybe): an object in C that pins them; `maybe`: as memory that may hold no references */
static VALUE
s_pin(VALUE self, VALUE objects, VALUE maybe)
{
    long count = RARRAY_LEN(objects);
    struct pins *pins = ruby_xcalloc(1, sizeof(*pins) + (size_t)count * sizeof(VALUE));
    VALUE object = TypedData_Wrap_Struct(self, &pins_type, pins);
    pins->maybe = RTEST(maybe);
    for (; pins->count < count; pins->count++) pins->objects[pins->count] = RARRAY_AREF(objects, pins->count);
    return object;
}

VALUE heap_sampler_holders_registered;

/* register_address(object): a variable of this library has it */
static VALUE
s_register_address(VALUE self, VALUE object)
{
    heap_sampler_holders_registered = object;
    rb_gc_register_address(&heap_sampler_holders_registered);
    return Qnil;
}

static VALUE
s_register_object(VALUE self, VALUE object)
{
    rb_gc_register_mark_object(object);
    return Qnil;
}

/* on_machine_stack([objects]) { … }: meanwhile this stack alone has them; the array is emptied */
static VALUE
s_on_machine_stack(VALUE self, VALUE objects)
{
    volatile VALUE here[64];
    long count = RARRAY_LEN(objects);
    if (count > 64) rb_raise(rb_eArgError, "64 at most");
    for (long i = 0; i < count; i++) here[i] = RARRAY_AREF(objects, i);
    rb_ary_clear(objects);
    rb_yield(Qnil);
    for (long i = 0; i < count; i++) rb_ary_push(objects, here[i]);
    return objects;
}

/* -- blocks that C code has lost ------------------------------------------------------------------ */

enum { LOST_MOST = 512,
       LOST_BYTES = 8192 };

/* Inverted: no word of this library is the address of such a block. */
static uintptr_t lost[LOST_MOST];
static long lost_count;

/* lose(count): so many blocks, instead of the blocks of the call before */
static VALUE
s_lose(VALUE self, VALUE count)
{
    lost_count = NUM2LONG(count);
    if (lost_count < 0 || lost_count > LOST_MOST) rb_raise(rb_eArgError, "0 to 512 blocks");
    for (long i = 0; i < lost_count; i++) lost[i] = ~(uintptr_t)malloc(LOST_BYTES);
    return Qnil;
}

/* An object without such a function has write barriers. */
static void
document_mark(void *ptr)
{
    (void)ptr;
}

static const rb_data_type_t document_type = {
    "Bug::Document",
    {document_mark, RUBY_DEFAULT_FREE, 0},
    0,
    0,
    RUBY_TYPED_FREE_IMMEDIATELY,
};

static const rb_data_type_t protected_document_type = {
    "Bug::Document",
    {0, RUBY_DEFAULT_FREE, 0},
    0,
    0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

/* document(protected, offset): an object of C code whose memory has the addresses of all lost blocks, as memory that is used again
 * may, or of the bytes there; `protected`: with write barriers, so that it has an age */
static VALUE
s_document(VALUE self, VALUE protected, VALUE offset)
{
    uintptr_t *words = ruby_xmalloc(sizeof(lost));
    for (long i = 0; i < LOST_MOST; i++) words[i] = i < lost_count ? ~lost[i] + NUM2ULONG(offset) : 0;
    return TypedData_Wrap_Struct(rb_cObject, RTEST(protected) ? &protected_document_type : &document_type, words);
}

enum { CROWD = 12,
       CROWD_BYTES = 1 << 16,
       CROWD_WORDS = 512 };
static char *crowd[CROWD];

/* allocate_crowd: some blocks, which the allocator does not sample if sampling is off */
static VALUE
s_allocate_crowd(VALUE self)
{
    for (int i = 0; i < CROWD; i++) crowd[i] = calloc(1, CROWD_BYTES);
    return Qnil;
}

/* crowd: an object of C code whose memory has the addresses of the first words of each of these blocks. The last word of the first
 * block leads to the addresses of all lost blocks. */
static VALUE
s_crowd(VALUE self)
{
    char **words = ruby_xmalloc(CROWD * CROWD_WORDS * sizeof(*words));
    uintptr_t *last = malloc(sizeof(lost));
    for (int i = 0; i < CROWD * CROWD_WORDS; i++) words[i] = crowd[i / CROWD_WORDS] + i % CROWD_WORDS * sizeof(*words);
    for (long i = 0; i < LOST_MOST; i++) last[i] = i < lost_count ? ~lost[i] : 0;
    ((uintptr_t **)crowd[0])[CROWD_BYTES / sizeof(*words) - 1] = last;
    return TypedData_Wrap_Struct(rb_cObject, &document_type, words);
}

void
Init_heap_sampler_holders(void)
{
    VALUE bug = rb_define_module("Bug");
    VALUE holders = rb_define_module_under(bug, "HeapSamplerHolders");
    rb_define_singleton_method(holders, "trouble", s_trouble, 1);
    VALUE pins = rb_define_class_under(bug, "Pins", rb_cObject);
    rb_undef_alloc_func(pins);
    rb_define_singleton_method(pins, "pin", s_pin, 2);
    rb_define_singleton_method(pins, "register_address", s_register_address, 1);
    rb_define_singleton_method(pins, "register_object", s_register_object, 1);
    rb_define_singleton_method(pins, "on_machine_stack", s_on_machine_stack, 1);
    rb_define_singleton_method(holders, "with_stack", s_with_stack, 1);
    rb_define_singleton_method(holders, "lose", s_lose, 1);
    rb_define_singleton_method(holders, "allocate_crowd", s_allocate_crowd, 0);
    rb_define_singleton_method(holders, "crowd", s_crowd, 0);
    rb_define_singleton_method(holders, "document", s_document, 2);
    rb_define_singleton_method(holders, "while_allocating", s_while_allocating, 1);
}
