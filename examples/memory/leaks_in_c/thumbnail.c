/*
 * Makes thumbnails, and leaks: the pixels of each are malloc'd and never freed.
 * Ruby's GC knows nothing of them.
 */
#include <ruby.h>
#include <stdint.h>
#include <stdlib.h>

/* What a decoder would do: one byte each for red, green, blue and alpha. */
__attribute__((noinline)) uint8_t *
thumbnail_decode(const uint8_t *image, size_t image_len, size_t width, size_t height)
{
    size_t size = width * height * 4;
    uint8_t *pixels = malloc(size);
    if (!pixels) return NULL;
    for (size_t i = 0; i < size; i++) pixels[i] = image[i % image_len] ^ (uint8_t)(i >> 8);
    return pixels;
}

/* Thumbnail.brightness(image, width, height) -> Float */
static VALUE
thumbnail_brightness(VALUE module, VALUE image, VALUE width, VALUE height)
{
    size_t w = NUM2SIZET(width), h = NUM2SIZET(height), sum = 0;
    StringValue(image);
    if (!RSTRING_LEN(image) || !w || !h || w > 4096 || h > 4096) rb_raise(rb_eArgError, "no image of that size");

    uint8_t *pixels = thumbnail_decode((const uint8_t *)RSTRING_PTR(image), (size_t)RSTRING_LEN(image), w, h);
    if (!pixels) rb_memerror();
    RB_GC_GUARD(image);
    for (size_t i = 0; i < w * h * 4; i++) sum += pixels[i];
    /* here is free(pixels) missing */
    return DBL2NUM((double)sum / (double)(w * h * 4));
}

void
Init_thumbnail(void)
{
    VALUE module = rb_define_module("Thumbnail");
    rb_define_module_function(module, "brightness", thumbnail_brightness, 3);
}
