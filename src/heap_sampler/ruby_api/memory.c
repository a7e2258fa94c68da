/* GC::SampleProfile.memory: the account of the process. */
#include "heap_sampler/account/account.h"
#include "heap_sampler/profile/malloc_rows.h"
#include "heap_sampler/ruby_api/ruby_api.h"

static void *
account_without_gvl(void *account)
{
    struct hs_account_excess excess;
    rb_hs_malloc_look(&excess);
    rb_hs_account_take(account, &excess, true);
    return NULL;
}

void
rb_hs_account_now(struct hs_account *account)
{
    rb_thread_call_without_gvl(account_without_gvl, account, NULL, NULL);
}

static VALUE
hash_of_fields(const struct hs_account_field *fields, size_t count)
{
    VALUE hash = rb_hash_new();
    for (size_t i = 0; i < count; i++) {
        rb_hash_aset(hash, ID2SYM(rb_intern(fields[i].name)), fields[i].known ? ULL2NUM(fields[i].bytes) : Qnil);
    }
    return hash;
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
 * [:malloc_waste]    memory that malloc(3) holds and nobody uses: fragmentation and caches
 * [:malloc_metadata] jemalloc's own memory; 0 with another malloc
 * [:stacks]          stacks of threads and fibers
 * [:code_and_files]  the program, its libraries, and other mapped files
 * [:jit]             executable memory that belongs to no file: YJIT's code
 * [:sampler]         the sampler's own memory
 * [:unattributed]    what is left
 *
 * Memory that was allocated and never touched is not resident, so no field counts it. A thread
 * that maps memory meanwhile may wait, some 10 ms for each resident gigabyte.
 *
 * Four more fields stand beside the sum:
 *
 * [:pss]       like +:rss+, but a page that several processes share counts in parts
 * [:allocator] the name and version of malloc(3), a String
 * [:jemalloc]  what jemalloc says about itself, which is virtual memory: a Hash of +:allocated+,
 *              +:active+, +:resident+, +:dirty+, +:retained+ and +:metadata+; +nil+ with another malloc
 * [:cost_ns]   how long this call took, in nanoseconds
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
    struct hs_account_field fields[HS_ACCOUNT_FIELDS], jemalloc[HS_JEMALLOC_FIELDS];
    rb_hs_account_now(&account);
    rb_hs_account_fields(&account, fields);
    rb_hs_jemalloc_fields(&account, jemalloc);

    VALUE hash = hash_of_fields(fields, HS_ACCOUNT_FIELDS);
    rb_hash_aset(hash, ID2SYM(rb_intern("allocator")), rb_utf8_str_new_cstr(account.allocator));
    rb_hash_aset(hash, ID2SYM(rb_intern("jemalloc")),
                 account.jemalloc ? hash_of_fields(jemalloc, HS_JEMALLOC_FIELDS) : Qnil);
    rb_hash_aset(hash, ID2SYM(rb_intern("cost_ns")), ULL2NUM(account.cost_ns));
    return hash;
}

void
rb_hs_init_memory(VALUE rb_cSampleProfile)
{
    rb_define_singleton_method(rb_cSampleProfile, "memory", s_memory, 0);
}
