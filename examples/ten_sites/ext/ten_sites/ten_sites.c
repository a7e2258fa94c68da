/* TenSites.start and .stop: how much each stack allocates, by samples of Ruby's heap. */
#include "ruby/ruby.h"

#ifdef HAVE_RUBY_HEAP_SAMPLER_H
#include "ruby/encoding.h"
#include "ruby/heap_sampler.h"
#include "ruby/st.h"

struct site {
    rb_heap_sampler_frame_t frame;      /* the innermost; C methods have the line of their caller */
    double bytes;
};

static st_table *sites;                 /* the number of a stack => its site */
static rb_heap_sampler_listener_t listener;

static const char *
copy(const char *text, size_t length)
{
    return memcpy(ALLOC_N(char, length + 1), text, length);
}

static struct site *
new_site(uint64_t stack)
{
    struct site *site = ALLOC(struct site);
    *site = (struct site){{"(no Ruby code)", "", 14, 0, 0}, 0};
    rb_heap_sampler_stack_frames(stack, &site->frame, 1);
    site->frame.label = copy(site->frame.label, site->frame.label_length);      /* the sampler may free its texts after this call */
    site->frame.path = copy(site->frame.path, site->frame.path_length);
    st_insert(sites, (st_data_t)stack, (st_data_t)site);
    return site;
}

/* In the middle of an allocation: no Ruby code here, only sums. */
static void
allocated(const rb_heap_sampler_allocation_t *allocation, void *unused)
{
    st_data_t site;
    if (!st_lookup(sites, (st_data_t)allocation->stack, &site)) site = (st_data_t)new_site(allocation->stack);
    ((struct site *)site)->bytes += allocation->weight_bytes;
}

static VALUE
s_start(VALUE self, VALUE interval)
{
    const rb_heap_sampler_listener_type_t type = {.struct_size = sizeof(type), .interval = NUM2ULL(interval), .allocated = allocated};
    sites = st_init_numtable();
    listener = rb_heap_sampler_listen(&type, NULL);
    if (!listener) rb_sys_fail("rb_heap_sampler_listen");
    return Qnil;
}

static int
add_row(st_data_t stack, st_data_t value, st_data_t rows)
{
    const struct site *site = (const struct site *)value;
    rb_heap_sampler_frame_t at = site->frame;
    VALUE line = rb_enc_sprintf(rb_utf8_encoding(), "%.*s:%d %.*s", (int)at.path_length, at.path, at.line, (int)at.label_length, at.label);
    rb_ary_push((VALUE)rows, rb_assoc_new(line, DBL2NUM(site->bytes)));
    return ST_CONTINUE;
}

/* [["path:line label", bytes], ...], a row for each stack */
static VALUE
s_stop(VALUE self)
{
    VALUE rows = rb_ary_new();
    rb_heap_sampler_unlisten(listener);
    st_foreach(sites, add_row, (st_data_t)rows);
    return rows;
}
#endif

void
Init_ten_sites(void)
{
    VALUE ten_sites = rb_define_module("TenSites");
#ifdef HAVE_RUBY_HEAP_SAMPLER_H
    rb_define_singleton_method(ten_sites, "start", s_start, 1);
    rb_define_singleton_method(ten_sites, "stop", s_stop, 0);
#else
    (void)ten_sites;
#endif
}
