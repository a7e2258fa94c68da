/* GC::SampleProfile.memory: the account of the process. */
#include "heap_sampler/memory/account.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/memory/threads.h"
#include "heap_sampler/ruby/ruby_api.h"

struct taking {
    struct hs_account *account;
    struct hs_census *census;   /* NULL: not asked for */
};

static void *
account_without_gvl(void *data)
{
    struct taking *taking = data;
    if (taking->census) rb_hs_census_take(taking->census, true);
    rb_hs_account_take(taking->account, NULL, taking->census, true);
    return NULL;
}

void
rb_hs_account_now(struct hs_account *account)
{
    struct taking taking = {account, NULL};
    rb_thread_call_without_gvl(account_without_gvl, &taking, NULL, NULL);
}

static VALUE
hash_of_fields(const struct hs_account_field *fields, size_t count)
{
    VALUE hash = rb_hash_new();
    for (size_t i = 0; i < count; i++) {
        rb_hash_aset(hash, ID2SYM(rb_intern(rb_hs_field_name(fields[i].field))), fields[i].known ? ULL2NUM(fields[i].value) : Qnil);
    }
    return hash;
}

static VALUE
hash_of_population(const struct hs_census *census, enum hs_alive_kind kind, const struct hs_population *population)
{
    VALUE hash = rb_hash_new();
    rb_hash_aset(hash, ID2SYM(rb_intern("count")), UINT2NUM(population->count));
    for (int i = 0; i < HS_ALIVE_STATES; i++) {
        enum hs_field state = rb_hs_alive_state_field(kind, (enum hs_alive_state)i);
        if (state) rb_hash_aset(hash, ID2SYM(rb_intern(rb_hs_field_name(state))), UINT2NUM(population->states[i]));
    }
    rb_hash_aset(hash, ID2SYM(rb_intern("stacks")), census->stacks_known ? ULL2NUM(population->stacks) : Qnil);
    return hash;
}

static VALUE
hash_of_creation_site(const struct hs_census *census, const struct hs_creation_site *place)
{
    VALUE hash = hash_of_population(census, place->kind, &place->population);
    rb_hash_aset(hash, ID2SYM(rb_intern("path")), rb_hs_text_value(&place->path));
    rb_hash_aset(hash, ID2SYM(rb_intern("line")), place->line ? UINT2NUM(place->line) : Qnil);
    return hash;
}

static VALUE
hash_of_kind(const struct hs_census *census, enum hs_alive_kind kind)
{
    VALUE hash = hash_of_population(census, kind, &census->of[kind]), made = rb_ary_new();
    for (uint32_t i = 0; i < census->place_count; i++) {
        if (census->places[i].kind == kind) rb_ary_push(made, hash_of_creation_site(census, &census->places[i]));
    }
    rb_hash_aset(hash, ID2SYM(rb_intern("made")), made);
    return hash;
}

/* Other threads run meanwhile; what they raise here may end it. */
static VALUE
take_and_hash(VALUE data)
{
    struct taking *taking = (struct taking *)data;
    rb_thread_call_without_gvl(account_without_gvl, taking, NULL, NULL);
    const struct hs_census *census = taking->census;
    VALUE hash = rb_hash_new();
    rb_hash_aset(hash, ID2SYM(rb_intern("threads")), hash_of_kind(census, HS_THREADS));
    rb_hash_aset(hash, ID2SYM(rb_intern("fibers")), hash_of_kind(census, HS_FIBERS));
    return hash;
}

static VALUE
free_census(VALUE data)
{
    rb_hs_census_free(((struct taking *)data)->census);
    return Qnil;
}

/*
 * call-seq:
 *   GC::SampleProfile.memory -> hash
 *
 * Returns where the resident memory of this process is, in bytes. It works whether sampling is
 * on or off. Ruby code runs on meanwhile. These fields add up to +:rss+:
 *
 * [:slots_live]      heap slots that are allocated and not yet swept
 * [:slots_free]      the rest of the heap pages: free slots and page headers
 * [:malloc_live]     memory that callers of malloc(3) use: buffers of strings, arrays and hashes, C libraries
 * [:malloc_waste]    memory that malloc(3) holds and no code uses: fragmentation and caches
 * [:malloc_metadata] jemalloc's own memory; 0 with another malloc
 * [:stacks]          stacks of threads and fibers, those for Ruby's own frames included
 * [:code_and_files]  the program, its libraries, and other mapped files
 * [:jit]             executable memory that belongs to no file: YJIT's code
 * [:sampler]         the sampler's own memory
 * [:unattributed]    what is left
 *
 * Memory that was allocated and never touched is not resident, so no field counts it. A thread
 * that maps memory meanwhile may wait, some 10 ms for each resident gigabyte.
 *
 * More fields are not part of the sum:
 *
 * [:pss]       like +:rss+, but a page that several processes share counts in parts
 * [:allocator] the name and version of malloc(3), a String
 * [:jemalloc]  what jemalloc says about itself, which is virtual memory: a Hash of +:allocated+,
 *              +:active+, +:resident+, +:dirty+, +:retained+ and +:metadata+; +nil+ with another malloc
 * [:cost_ns]   how long this call took, in nanoseconds
 * [:threads]   how many threads live; +:thread_stacks+: bytes of +:stacks+ that are theirs
 * [:fibers]    how many fibers live, without those that threads begin with; +:fiber_stacks+: bytes of
 *              +:stacks+ that are theirs
 * [:alive]     what these threads and fibers do and where they were made: a Hash of +:threads+ and
 *              +:fibers+. Each has +:count+, +:stacks+ (resident bytes), how many are in each state, and
 *              +:made+, the same by +:path+ and +:line+ of their blocks, for 64 places at most
 *
 * A thread is +:running+ (it has the GVL), +:runnable+ (it waits for the GVL), +:sleeping+ (until a
 * time, or in +sleep+), +:waiting+ (for another thread: Mutex, Queue, ConditionVariable, join), or
 * +:blocked+ (without the GVL, in a system call or C code). A fiber is +:created+, +:resumed+ or
 * +:suspended+. +:ended+ are those that are over while their objects are still there; they do not
 * count.
 *
 * A field is +nil+ where it cannot be known. +:malloc_live+, +:malloc_waste+ and
 * +:malloc_metadata+ are +nil+ with a malloc(3) that says nothing about itself; its memory is
 * unattributed then. +:rss+, +:pss+, +:stacks+, +:code_and_files+, +:jit+ and +:unattributed+ are
 * +nil+ where /proc cannot be read.
 *
 *   GC::SampleProfile.memory.values_at(:rss, :slots_free, :malloc_waste)
 *   # => [84213760, 1064960, 20905984]
 */
static VALUE
s_memory(VALUE klass)
{
    struct hs_account account;
    struct hs_account_field fields[HS_ACCOUNT_FIELDS + HS_JEMALLOC_FIELDS];
    struct hs_census census = {.taken = false};
    struct taking taking = {&account, &census};
    rb_hs_need_stack();
    VALUE alive = rb_ensure(take_and_hash, (VALUE)&taking, free_census, (VALUE)&taking);
    rb_hs_account_fields(&account, fields);

    VALUE hash = hash_of_fields(fields, HS_ACCOUNT_FIELDS);
    rb_hash_aset(hash, ID2SYM(rb_intern("allocator")), rb_utf8_str_new_cstr(account.allocator));
    rb_hash_aset(hash, ID2SYM(rb_intern("jemalloc")),
                 account.jemalloc ? hash_of_fields(fields + HS_ACCOUNT_FIELDS, HS_JEMALLOC_FIELDS) : Qnil);
    rb_hash_aset(hash, ID2SYM(rb_intern("cost_ns")), ULL2NUM(account.cost_ns));
    rb_hash_aset(hash, ID2SYM(rb_intern("alive")), alive);
    return hash;
}

void
rb_hs_init_memory(VALUE rb_cSampleProfile)
{
    rb_define_singleton_method(rb_cSampleProfile, "memory", s_memory, 0);
}
