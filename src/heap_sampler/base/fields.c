/* See base/fields.h. */
#include "heap_sampler/base/fields.h"

const char *
rb_hs_field_name(enum hs_field field)
{
    switch (field) {
#define HS_FIELD(name, number) \
    case HS_F_##name: return #name;
        HS_META_FIELDS(HS_FIELD)
        HS_ANSWER_FIELDS(HS_FIELD)
#undef HS_FIELD
    }
    return "";
}
