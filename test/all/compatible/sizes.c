/* Prints what an extension is compiled with: sizes and offsets of public structs, numbers of types, flags and events. */
#include "ruby/ruby.h"
#include "ruby/atomic.h"
#include "ruby/debug.h"
#include "ruby/encoding.h"
#include "ruby/io.h"
#include "ruby/io/buffer.h"
#include "ruby/memory_view.h"
#include "ruby/random.h"
#include "ruby/re.h"
#include "ruby/st.h"
#include "ruby/thread.h"
#include "ruby/version.h"
#include <stdio.h>

#define SIZE(type) {"sizeof " #type, (long long)sizeof(type)}
#define PLACE(type, member) {#type "." #member, (long long)offsetof(type, member)}
#define NUMBER(name) {#name, (long long)(name)}

static const struct figure {
    const char *name;
    long long value;
} figures[] = {
    SIZE(VALUE),
    SIZE(ID),
    SIZE(struct RBasic),
    SIZE(struct RObject),
    SIZE(struct RString),
    SIZE(struct RArray),
    SIZE(struct RData),
    SIZE(struct RTypedData),
    SIZE(struct RFile),
    SIZE(struct RRegexp),
    SIZE(struct RMatch),
    SIZE(rb_data_type_t),
    SIZE(st_table),
    SIZE(struct st_hash_type),
    SIZE(struct re_registers),
    SIZE(OnigEncodingType),
    SIZE(rb_econv_t *),
    SIZE(rb_random_interface_t),
    SIZE(rb_random_t),
    SIZE(rb_memory_view_t),
    SIZE(rb_memory_view_entry_t),
    SIZE(rb_atomic_t),
    SIZE(rb_event_flag_t),
    SIZE(rb_postponed_job_handle_t),
    SIZE(struct rb_io_encoding),
    SIZE(rb_internal_thread_event_data_t),
    PLACE(struct RBasic, klass),
    PLACE(struct RString, len),
    PLACE(struct RString, as),
    PLACE(struct RArray, as),
    PLACE(struct RData, data),
    PLACE(struct RTypedData, type),
    PLACE(struct RTypedData, data),
    PLACE(rb_data_type_t, function),
    PLACE(rb_data_type_t, flags),
    PLACE(st_table, num_entries),
    PLACE(OnigEncodingType, name),
    NUMBER(RUBY_API_VERSION_CODE),
    NUMBER(RUBY_T_STRING),
    NUMBER(RUBY_T_DATA),
    NUMBER(RUBY_T_MASK),
    NUMBER(RUBY_FL_USHIFT),
    NUMBER(RUBY_FL_WB_PROTECTED),
    NUMBER(RUBY_FL_FREEZE),
    NUMBER(RUBY_FL_EXIVAR),
    NUMBER(RUBY_Qnil),
    NUMBER(RUBY_Qundef),
    NUMBER(RUBY_EVENT_ALL),
    NUMBER(RUBY_INTERNAL_EVENT_NEWOBJ),
    NUMBER(RUBY_INTERNAL_EVENT_MASK),
    NUMBER(ONIG_OPTION_DEFAULT),
    NUMBER(RUBY_TYPED_FREE_IMMEDIATELY),
    NUMBER(RUBY_TYPED_EMBEDDABLE),
    NUMBER(RUBY_ENCODING_SHIFT),
};

int
main(void)
{
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) printf("%s %lld\n", figures[i].name, figures[i].value);
    return 0;
}
