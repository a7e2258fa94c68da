/* TenSites.start, .stop and .rows: how much each stack allocates, by samples of Ruby's heap. */
#include "ruby/ruby.h"

#ifdef HAVE_RUBY_HEAP_SAMPLER_H
#include "ruby/heap_sampler.h"
#include "ruby/st.h"

#include <errno.h>
#include <string.h>

static st_table *bytes_by_stack;        /* the number of a stack => an index in `bytes` and `frames` */
static double *bytes;
static rb_heap_sampler_frame_t *frames; /* the innermost of each stack that has a line */
static size_t count, room;
static rb_heap_sampler_listener_t listener;

/* The innermost frame; C methods have the line of their caller. */
static rb_heap_sampler_frame_t
line_of(uint64_t stack)
{
    rb_heap_sampler_frame_t frame = {"(no Ruby frame)", "", 15, 0, 0};
    rb_heap_sampler_stack_frames(stack, &frame, 1);
    return frame;
}

static size_t
index_of(uint64_t stack)
{
    st_data_t index;
    if (st_lookup(bytes_by_stack, (st_data_t)stack, &index)) return (size_t)index;
    if (count == room) {
        room = room ? room * 2 : 1024;
        bytes = realloc(bytes, room * sizeof(*bytes));
        frames = realloc(frames, room * sizeof(*frames));
        if (!bytes || !frames) rb_bug("ten_sites: out of memory");
    }
    frames[count] = line_of(stack);
    bytes[count] = 0;
    st_insert(bytes_by_stack, (st_data_t)stack, (st_data_t)count);
    return count++;
}

/* The VM lock is held, and GC is disabled: no Ruby objects here, only sums. */
static void
allocated(const rb_heap_sampler_allocation_t *allocation, void *unused)
{
    size_t index = index_of(allocation->stack);
    bytes[index] += allocation->weight_bytes;
}

static VALUE
s_start(VALUE self, VALUE interval)
{
    const rb_heap_sampler_listener_type_t type = {.struct_size = sizeof(type), .interval = NUM2ULL(interval), .allocated = allocated};
    if (!bytes_by_stack) bytes_by_stack = st_init_numtable();
    listener = rb_heap_sampler_listen(&type, NULL);
    if (!listener) rb_raise(rb_eRuntimeError, "ten_sites: %s", strerror(errno));
    return Qtrue;
}

static VALUE
s_stop(VALUE self)
{
    return rb_heap_sampler_unlisten(listener) ? Qtrue : Qfalse;
}

/* [[path, line, label, bytes], ...], a row for each stack */
static VALUE
s_rows(VALUE self)
{
    VALUE rows = rb_ary_new();
    for (size_t i = 0, all = count; i < all; i++) {
        rb_heap_sampler_frame_t frame = frames[i];
        rb_ary_push(rows, rb_ary_new_from_args(4, rb_utf8_str_new(frame.path, frame.path_length), INT2NUM(frame.line), rb_utf8_str_new(frame.label, frame.label_length), DBL2NUM(bytes[i])));
    }
    return rows;
}
#endif

void
Init_ten_sites(void)
{
    VALUE ten_sites = rb_define_module("TenSites");
    rb_define_const(ten_sites, "SAMPLES",
#ifdef HAVE_RUBY_HEAP_SAMPLER_H
                    Qtrue);
    rb_define_singleton_method(ten_sites, "start", s_start, 1);
    rb_define_singleton_method(ten_sites, "stop", s_stop, 0);
    rb_define_singleton_method(ten_sites, "rows", s_rows, 0);
#else
                    Qfalse);
#endif
}
