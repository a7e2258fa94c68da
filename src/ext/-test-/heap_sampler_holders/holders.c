/*
 * Bug::HeapSamplerHolders: an object whose mark function goes wrong in any other process than the one that made it, for
 * test/ruby/test_heap_sampler_holders.rb.
 */
#include "ruby/ruby.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct trouble {
    pid_t home;
    char how;
};

static void
trouble_mark(void *ptr)
{
    const struct trouble *trouble = ptr;
    if (trouble->home == getpid()) return;
    switch (trouble->how) {
    case 'h':
        for (;;) pause();
    case 's': *(volatile int *)1 = 0; break;
    case 'a': abort();
    case 'b': rb_bug("a mark function went wrong");
    case 'e': exit(0);
    }
}

static const rb_data_type_t trouble_type = {
    "Bug::Trouble",
    {trouble_mark, RUBY_DEFAULT_FREE, 0},
    0,
    0,
    RUBY_TYPED_FREE_IMMEDIATELY,
};

/* trouble("hang"), "segv", "abort", "bug", "exit" */
static VALUE
s_trouble(VALUE self, VALUE how)
{
    struct trouble *trouble;
    VALUE object = TypedData_Make_Struct(rb_cObject, struct trouble, &trouble_type, trouble);
    trouble->home = getpid();
    trouble->how = *StringValueCStr(how);
    return object;
}

void
Init_heap_sampler_holders(void)
{
    VALUE bug = rb_define_module("Bug");
    VALUE holders = rb_define_module_under(bug, "HeapSamplerHolders");
    rb_define_singleton_method(holders, "trouble", s_trouble, 1);
}
