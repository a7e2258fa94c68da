#ifndef HEAP_SAMPLER_PROFILE_ENCODE_H
#define HEAP_SAMPLER_PROFILE_ENCODE_H
/* What the encoders of profiles share: private to encode_*.c. No MRI header. [any] */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/profile/formats.h"

/* Stands for a stack without frames, so that every format has a place to
 * show what was allocated there and the totals agree. */
#define HS_NO_STACK "(no stack)"
/* Stands for an empty label. */
#define HS_NO_LABEL "(unknown)"

/* Addresses of frames that are no native code: src/lib/heapsample/pprof/addresses.rb has the same. */
#define HS_RUBY_CODE (UINT64_C(1) << 62)
#define HS_RUBY_CODE_SIZE (UINT64_C(1) << 53)

/* 0, or EINVAL if an index of the profile points outside its arrays. */
int rb_hs_profile_check(const struct hs_profile *profile);

/* To the nearest integer, halves up; what does not fit saturates, what is negative is 0. */
int64_t rb_hs_round(double value);
int64_t rb_hs_saturate(uint64_t value);

/* Protobuf. */
void rb_hs_put_varint(struct hs_buffer *out, uint64_t value);
/* Even where it is 0. */
void rb_hs_put_number(struct hs_buffer *out, uint32_t field, uint64_t value);
/* A field of bytes: all that is appended between the two calls. The second call gets what the first one returned. */
size_t rb_hs_open_message(struct hs_buffer *out, uint32_t field);
void rb_hs_close_message(struct hs_buffer *out, size_t at);

/*
 * An object with the fields of memory/account.h: as a message of protobuf, or as JSON. A field is left out where nothing is known
 * of it.
 */
struct hs_object {
    struct hs_buffer *out;
    bool json;
};

void rb_hs_put(const struct hs_object *object, enum hs_field field, uint64_t value);
void rb_hs_put_flag(const struct hs_object *object, enum hs_field field, bool value);
void rb_hs_put_text(const struct hs_object *object, enum hs_field field, struct hs_text text);
/* A text in a buffer of `most` bytes, or a C string with SIZE_MAX; "": it is not known, and left out. */
void rb_hs_put_known_text(const struct hs_object *object, enum hs_field field, const char *text, size_t most);
/* An object within it. */
size_t rb_hs_open(const struct hs_object *object, enum hs_field field);
void rb_hs_close(const struct hs_object *object, size_t at);
/* A list, of texts or of objects, which rb_hs_close_list ends. */
void rb_hs_open_list(const struct hs_object *object, enum hs_field list);
void rb_hs_put_element(const struct hs_object *object, enum hs_field list, struct hs_text text);
size_t rb_hs_open_element(const struct hs_object *object, enum hs_field list);
void rb_hs_close_list(const struct hs_object *object);

/* Fields that are numbers; those that are not known are left out. */
void rb_hs_put_all(const struct hs_object *object, const struct hs_account_field *fields, size_t count);
#define HS_PUT(object, ...) \
    rb_hs_put_all(object, (const struct hs_account_field[]){__VA_ARGS__}, \
                  sizeof((const struct hs_account_field[]){__VA_ARGS__}) / sizeof(struct hs_account_field))
#define N(name, value) {HS_F_##name, value, true}
#define KNOWN(name, value) {HS_F_##name, value, (value) != 0}
/* An object that has no others. */
#define HS_PUT_OBJECT(object, field, ...) \
    do { \
        size_t hs_at = rb_hs_open(object, field); \
        HS_PUT(object, __VA_ARGS__); \
        rb_hs_close(object, hs_at); \
    } while (0)

/* What a walk found, or why there was none: the field `kept`. */
void rb_hs_put_kept(const struct hs_object *object, const struct hs_profile *profile);

/* Append as UTF-8: every byte that is no part of a character as U+FFFD. `json`: as what stands between the quotes of a JSON string. */
void rb_hs_append_utf8(struct hs_buffer *out, struct hs_text text, bool json);

/* The index of the mapping that an address is in, or mapping_count. */
uint32_t rb_hs_mapping_of(const struct hs_profile *profile, uint64_t address);

/* A row of a file: file_rows.c. */
struct hs_file_row {
    const struct hs_row *row;
    /* The number of a node, of the whole stack; from node_count on, of a frame; and behind these (evicted) alone. */
    uint64_t stack;
};

/* The keys by which rows are sorted. Rows of one sample agree in the first keys. Rows that become one agree in all keys but the
 * last, which is the place in the profile. */
enum { HS_SAMPLE_KEYS = 5,
       HS_ROW_KEYS = 9,
       HS_ALL_KEYS = 10 };
bool rb_hs_file_rows_agree(const struct hs_file_row *a, const struct hs_file_row *b, int keys);

/* All rows of a profile that has passed rb_hs_profile_check(); rb_hs_free(HS_MEM_SNAPSHOTS, …) is the caller's.  NULL: no memory. */
struct hs_file_row *rb_hs_file_rows(const struct hs_profile *profile);

#endif
