/*
 * What a listener of sampled allocations costs that does nothing but to count. LISTENER_INTERVAL: bytes; LISTENERS: how many
 * (1); LISTENER_FOLLOWS=1: it gets what becomes of its samples, too.
 */
#include <ruby.h>
#include <ruby/heap_sampler.h>

#include <stdlib.h>

static unsigned long calls, changes;

static void
allocated(const rb_heap_sampler_allocation_t *allocation, void *data)
{
    (void)allocation;
    (void)data;
    calls++;
}

static void
changed(const rb_heap_sampler_change_t *list, size_t count, void *data)
{
    (void)list;
    (void)data;
    changes += count;
}

/* Listener.calls -> how many samples there were */
static VALUE
s_calls(VALUE self)
{
    return ULONG2NUM(calls);
}

static unsigned long
setting(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);
    return text ? strtoul(text, NULL, 10) : otherwise;
}

void
Init_listener(void)
{
    rb_heap_sampler_listener_type_t type = {
        .struct_size = sizeof(type),
        .interval = setting("LISTENER_INTERVAL", 512 * 1024),
        .allocated = allocated,
        .changed = setting("LISTENER_FOLLOWS", 0) ? changed : NULL,
    };
    rb_define_singleton_method(rb_define_module("Listener"), "calls", s_calls, 0);
    for (unsigned long i = setting("LISTENERS", 1); i; i--) {
        if (!rb_heap_sampler_listen(&type, NULL)) rb_sys_fail("rb_heap_sampler_listen");
    }
}
