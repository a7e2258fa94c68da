/*
 * A profile as arrays of numbers, for lib/heapsample.
 *
 * Arrays, and not the bytes of a file: a profile of 3,700 rows on 24,000 nodes takes 11 ms of CPU time, its arrays 2 ms
 * more, and the library's reader of pprof 18 ms.  And the samples of a snapshot name nodes, which a file does not have.
 */
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/ruby/ruby_api.h"
#include "heap_sampler/kernel.h"

/* The columns of a row, in the order of lib/heapsample/profile/columns.rb: COLUMN(name, value). */
#define ESTIMATE(name, field) \
    COLUMN(name##_samples, ULL2NUM(row->name.samples)) \
    COLUMN(name##_objects, DBL2NUM(row->name.objects)) \
    SHARE_OF(name, name##_space, name##_variance)
#define SHARE(name, field) SHARE_OF(name, name, name##_variance)
#define SHARE_OF(name, space_name, variance_name) \
    COLUMN(space_name, DBL2NUM(row->name.space)) \
    COLUMN(variance_name, DBL2NUM(row->name.variance))
#define SUM(name, field, absent) COLUMN(name, DBL2NUM(row->name))

#define ROW_COLUMNS \
    COLUMN(stack, UINT2NUM(row->node)) \
    COLUMN(class, UINT2NUM(row->class_name)) \
    COLUMN(type, UINT2NUM(row->type)) \
    COLUMN(slot_size, UINT2NUM(row->slot_size)) \
    COLUMN(thread, UINT2NUM(row->thread)) \
    COLUMN(allocation_gc, row->has_allocation_gc ? ULL2NUM(row->allocation_gc) : Qnil) \
    COLUMN(library, UINT2NUM(row->library)) \
    COLUMN(malloc, RBOOL(row->malloced)) \
    COLUMN(label_set, UINT2NUM(row->labels)) \
    HS_ROW_FIGURES(ESTIMATE, SHARE, SUM)

#define COLUMN(name, value) COLUMN_##name,
enum { ROW_COLUMNS COLUMNS };
#undef COLUMN

/*
 * Each of what may be hundreds of thousands is a chance for other threads, signals and
 * Timeout.
 */
static VALUE
raw_rows(const struct hs_profile *profile)
{
    VALUE rows = rb_ary_new_capa((long)profile->row_count);
    for (size_t i = 0; i < profile->row_count; i++) {
        rb_thread_check_ints();
        const struct hs_row *row = &profile->rows[i];
        VALUE array = rb_ary_new_capa(COLUMNS);
#define COLUMN(name, value) rb_ary_push(array, value);
        ROW_COLUMNS
#undef COLUMN
        rb_ary_push(rows, array);
    }
    return rows;
}

static VALUE
raw_texts(const struct hs_profile *profile)
{
    VALUE texts = rb_ary_new_capa(profile->text_count);
    for (uint32_t i = 0; i < profile->text_count; i++) {
        rb_thread_check_ints();
        rb_ary_push(texts, rb_hs_text_value(&profile->texts[i]));
    }
    return texts;
}

/* Fields of structs that have nothing else. */
static VALUE
raw_numbers(const uint32_t *numbers, size_t count)
{
    VALUE list = rb_ary_new_capa((long)count);
    for (size_t i = 0; i < count; i++) {
        if (i % 8 == 0) rb_thread_check_ints();
        rb_ary_push(list, UINT2NUM(numbers[i]));
    }
    return list;
}
enum { NODE_NUMBERS = 2,
       HOLDER_NUMBERS = 10 };
_Static_assert(sizeof(struct hs_node) == NODE_NUMBERS * sizeof(uint32_t), "numbers alone");
_Static_assert(sizeof(struct hs_retainer) == HOLDER_NUMBERS * sizeof(uint32_t), "numbers alone");

static VALUE
raw_kept(const struct hs_profile *profile)
{
    if (!profile->retainers.nodes) return Qnil;
    VALUE list = rb_ary_new_capa((long)profile->kept_count * 5);
    for (size_t i = 0; i < profile->kept_count; i++) {
        const struct hs_part *kept = &profile->kept[i];
        rb_thread_check_ints();
        const VALUE part[] = {UINT2NUM(kept->of), UINT2NUM(kept->node), DBL2NUM(kept->sum.objects), DBL2NUM(kept->sum.space), DBL2NUM(kept->sum.variance)};
        rb_ary_cat(list, part, 5);
    }
    return list;
}

/*
 * call-seq:
 *   profile.raw -> hash
 *
 * Returns the profile as arrays of numbers, for HeapSample::Profile.from_raw. It is internal: the
 * arrays may change. #rows and #to_profile return the same as objects.
 *
 * [:meta_message] what the profile says about itself, a String for HeapSample::MetaMessage.decode
 * [:texts]     every String that is named by its index
 * [:frames]    five numbers for each: texts of label, path and absolute path, line, address
 * [:nodes]     two numbers for each: parent and frame
 * [:rows]      an Array for each; ::raw_columns has the index of each column
 * [:mappings]  three numbers for each mapping of native code: start, end, offset in the file
 * [:holders]   with why: ten numbers for each node of the chains: parent, texts of kind, name, class and path, line,
 *              objects, folded ones, entries (2**32 - 1: no container), text of bound; +nil+ where there is no answer
 * [:kept]      with why: five numbers for each part of a row: row, node, objects, space, variance
 */
static VALUE
profile_raw(VALUE self)
{
    const struct hs_profile *profile = rb_hs_profile_data(self)->profile;
    const struct hs_retainers *holders = &profile->retainers;
    VALUE hash = rb_hash_new();

    struct hs_buffer message = {0};
    int error = rb_hs_encode_meta(profile, &message);
    VALUE meta = error ? Qnil : rb_str_new(message.ptr, (long)message.len);
    rb_hs_buffer_free(&message);
    if (error) rb_memerror();
    rb_hash_aset(hash, ID2SYM(rb_intern("meta_message")), meta);

    VALUE frames = rb_ary_new_capa((long)profile->frame_count * 5);
    for (uint32_t i = 0; i < profile->frame_count; i++) {
        const struct hs_frame *frame = &profile->frames[i];
        const VALUE five[] = {UINT2NUM(frame->label), UINT2NUM(frame->path), UINT2NUM(frame->absolute_path), UINT2NUM(frame->line), ULL2NUM(frame->address)};
        rb_ary_cat(frames, five, 5);
    }
    VALUE mappings = rb_ary_new_capa((long)profile->mapping_count * 3);
    for (uint32_t i = 0; i < profile->mapping_count; i++) {
        const struct hs_mapping *mapping = &profile->mappings[i];
        const VALUE three[] = {ULL2NUM(mapping->start), ULL2NUM(mapping->end), ULL2NUM(mapping->offset)};
        rb_ary_cat(mappings, three, 3);
    }
    rb_hash_aset(hash, ID2SYM(rb_intern("texts")), raw_texts(profile));
    rb_hash_aset(hash, ID2SYM(rb_intern("frames")), frames);
    rb_hash_aset(hash, ID2SYM(rb_intern("nodes")), raw_numbers(&profile->nodes->parent, (size_t)profile->node_count * NODE_NUMBERS));
    rb_hash_aset(hash, ID2SYM(rb_intern("rows")), raw_rows(profile));
    rb_hash_aset(hash, ID2SYM(rb_intern("mappings")), mappings);
    rb_hash_aset(hash, ID2SYM(rb_intern("holders")), holders->nodes ? raw_numbers(&holders->nodes->parent, (size_t)holders->node_count * HOLDER_NUMBERS) : Qnil);
    rb_hash_aset(hash, ID2SYM(rb_intern("kept")), raw_kept(profile));
    RB_GC_GUARD(self);
    return hash;
}

/*
 * call-seq:
 *   profile.raw_samples -> array
 *
 * Returns the live samples as arrays: id, node, texts of class and type, slot size, weight, GC
 * count at allocation, age in GCs, memsize or +nil+, young or not, thread. It is internal: the arrays
 * may change. #samples returns the same as objects.
 */
static VALUE
profile_raw_samples(VALUE self)
{
    const struct sample_profile *data = rb_hs_profile_data(self);
    VALUE list = rb_ary_new_capa((long)data->profile->samples.count);
    for (size_t i = 0; i < data->profile->samples.count; i++) {
        rb_thread_check_ints();
        const struct hs_live_sample *sample = &data->profile->samples.list[i];
        const struct hs_row *row = &data->profile->rows[sample->row];
        size_t memsize = data->memsizes ? data->memsizes[i] : SIZE_MAX;
        rb_ary_push(list, rb_ary_new_from_args(11, ULL2NUM(sample->id), UINT2NUM(row->node), UINT2NUM(row->class_name), UINT2NUM(row->type), UINT2NUM(row->slot_size), DBL2NUM(sample->weight), ULL2NUM(row->allocation_gc), ULL2NUM(data->profile->meta.gc_count - row->allocation_gc), memsize == SIZE_MAX ? Qnil : SIZET2NUM(memsize), RBOOL(sample->young), UINT2NUM(sample->thread)));
    }
    RB_GC_GUARD(self);
    return list;
}

/*
 * call-seq:
 *   GC::SampleProfile.raw_columns -> hash
 *
 * Returns the columns of a row of #raw by name: the index of each.
 */
static VALUE
s_raw_columns(VALUE klass)
{
    VALUE columns = rb_hash_new();
#define COLUMN(name, value) rb_hash_aset(columns, ID2SYM(rb_intern(#name)), INT2FIX(COLUMN_##name));
    ROW_COLUMNS
#undef COLUMN
    return columns;
}

void
rb_hs_init_raw(VALUE rb_cSampleProfile)
{
    rb_define_singleton_method(rb_cSampleProfile, "raw_columns", s_raw_columns, 0);
    rb_define_method(rb_cSampleProfile, "raw", profile_raw, 0);
    rb_define_method(rb_cSampleProfile, "raw_samples", profile_raw_samples, 0);
}
