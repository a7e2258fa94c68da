/* Frames of a video, in three ways:
   Frames::Frame.new(bytes) has a buffer that is freed with the object. Frames::Leaky is the same, but its data type has no
   function that frees. Frames.filter(text) compiles a filter, registers it with the GC for ever, and returns it. */
#include <ruby.h>
#include <stdlib.h>
#include <string.h>

struct frame {
    size_t size;
    unsigned char *bytes;
};

static void
frame_free(void *data)
{
    struct frame *frame = data;

    free(frame->bytes);
    ruby_xfree(frame);
}

static const rb_data_type_t frame_type = {"frame", {NULL, frame_free, NULL}, NULL, NULL, RUBY_TYPED_FREE_IMMEDIATELY};
static const rb_data_type_t leaky_type = {"leaky frame", {NULL, RUBY_NEVER_FREE, NULL}, NULL, NULL, RUBY_TYPED_FREE_IMMEDIATELY};

static VALUE
allocate(VALUE klass, const rb_data_type_t *type)
{
    struct frame *frame;
    return TypedData_Make_Struct(klass, struct frame, type, frame);
}

static VALUE
frame_allocate(VALUE klass)
{
    return allocate(klass, &frame_type);
}

static VALUE
leaky_allocate(VALUE klass)
{
    return allocate(klass, &leaky_type);
}

static VALUE
frame_initialize(VALUE self, VALUE size)
{
    struct frame *frame = RTYPEDDATA_GET_DATA(self);

    frame->size = NUM2SIZET(size);
    frame->bytes = malloc(frame->size);
    if (!frame->bytes) rb_memerror();
    memset(frame->bytes, 7, frame->size);
    return self;
}

static VALUE
frame_sum(VALUE self)
{
    struct frame *frame = RTYPEDDATA_GET_DATA(self);
    size_t sum = 0;

    for (size_t i = 0; i < frame->size; i += 64)
        sum += frame->bytes[i];
    return SIZET2NUM(sum);
}

static VALUE
frames_filter(VALUE self, VALUE text)
{
    VALUE steps = rb_str_split(text, ",");

    rb_gc_register_mark_object(steps);
    return steps;
}

void
Init_frames(void)
{
    VALUE frames = rb_define_module("Frames");
    VALUE frame = rb_define_class_under(frames, "Frame", rb_cObject);
    VALUE leaky = rb_define_class_under(frames, "Leaky", rb_cObject);

    rb_define_alloc_func(frame, frame_allocate);
    rb_define_alloc_func(leaky, leaky_allocate);
    rb_define_method(frame, "initialize", frame_initialize, 1);
    rb_define_method(leaky, "initialize", frame_initialize, 1);
    rb_define_method(frame, "sum", frame_sum, 0);
    rb_define_method(leaky, "sum", frame_sum, 0);
    rb_define_singleton_method(frames, "filter", frames_filter, 1);
}
