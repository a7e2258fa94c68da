/*
 * The words of names: of kinds, IDs, types and classes.
 */
#include "heap_sampler/holders/edge_visit.h"
#include "heap_sampler/stacks/class_table.h"

#include <string.h>

const char *
rb_hs_edge_kind_word(enum hs_edge_kind kind)
{
    static const char *const words[] = {
#define HS_EDGE_KIND(kind, word) word,
        HS_EDGE_KINDS(HS_EDGE_KIND)
#undef HS_EDGE_KIND
    };
    return kind < HS_EDGE_KIND_COUNT ? words[kind] : words[HS_EDGE_OTHER];
}

struct hs_text
rb_hs_id_text(ID id)
{
    VALUE name = id ? rb_id2str(id) : 0;
    if (!name || !RB_TYPE_P(name, T_STRING)) return (struct hs_text){"", 0};
    return (struct hs_text){RSTRING_PTR(name), (uint32_t)RSTRING_LEN(name)};
}

bool
rb_hs_vm_type_p(const rb_data_type_t *type, const char *name)
{
    return type->wrap_struct_name && strcmp(type->wrap_struct_name, name) == 0 &&
        rb_hs_same_library_p(type, &ruby_threadptr_data_type);
}

size_t
rb_hs_object_class_name(VALUE object, char *name, size_t size)
{
    rb_hs_class_name_of(RBASIC(object)->klass, RBASIC(object)->flags, name, size);
    return strlen(name);
}
