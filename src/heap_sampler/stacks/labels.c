/* See stacks/labels.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/stacks/labels.h"
#include "heap_sampler/stacks/class_table.h"

static size_t
labels_append(char *buffer, size_t len, const char *text, size_t text_len)
{
    size_t room = HS_LABEL_MAX - len;
    if (text_len > room) text_len = room;
    memcpy(buffer + len, text, text_len);
    return len + text_len;
}

static size_t
labels_append_method(char *buffer, size_t len, VALUE owner, VALUE name)
{
    char class_name[256];
    const char *between = NULL;
    if (owner && !NIL_P(owner) && (RB_TYPE_P(owner, T_CLASS) || RB_TYPE_P(owner, T_MODULE))) {
        if (RB_TYPE_P(owner, T_CLASS) && RCLASS_SINGLETON_P(owner)) {
            VALUE attached = RCLASS_ATTACHED_OBJECT(owner);
            if (!RB_SPECIAL_CONST_P(attached) &&
                (RB_TYPE_P(attached, T_CLASS) || RB_TYPE_P(attached, T_MODULE)) &&
                rb_hs_class_name(attached, class_name, sizeof(class_name))) {
                between = ".";
            }
        }
        else if (rb_hs_class_name(owner, class_name, sizeof(class_name))) {
            between = "#";
        }
    }
    if (between) {
        len = labels_append(buffer, len, class_name, strlen(class_name));
        len = labels_append(buffer, len, between, 1);
    }
    if (RB_TYPE_P(name, T_STRING)) len = labels_append(buffer, len, RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
    return len;
}

size_t
rb_hs_label_of_code(char *buffer, const rb_iseq_t *iseq, const rb_callable_method_entry_t *me)
{
    VALUE owner = me ? me->owner : Qnil;
    size_t len = 0;
    for (;;) {
        const struct rb_iseq_constant_body *body = ISEQ_BODY(iseq);
        switch (body->type) {
        case ISEQ_TYPE_METHOD:
            return labels_append_method(buffer, len, owner, body->location.label);
        case ISEQ_TYPE_BLOCK:
        case ISEQ_TYPE_PLAIN: {
            if (!body->parent_iseq) {
                return labels_append(buffer, len, "block in ", 9);
            }
            int level = 0;
            const rb_iseq_t *local = body->local_iseq;
            while (iseq != local && ISEQ_BODY(iseq)->parent_iseq) {
                if (ISEQ_BODY(iseq)->type == ISEQ_TYPE_BLOCK) level++;
                iseq = ISEQ_BODY(iseq)->parent_iseq;
            }
            char levels[48];
            int n = level <= 1 ? snprintf(levels, sizeof(levels), "block in ")
                               : snprintf(levels, sizeof(levels), "block (%d levels) in ", level);
            len = labels_append(buffer, len, levels, (size_t)n);
            if (ISEQ_BODY(iseq)->type == ISEQ_TYPE_PLAIN || ISEQ_BODY(iseq)->type == ISEQ_TYPE_BLOCK) {
                VALUE label = ISEQ_BODY(iseq)->location.label;
                return labels_append(buffer, len, RSTRING_PTR(label), (size_t)RSTRING_LEN(label));
            }
            break;
        }
        case ISEQ_TYPE_RESCUE:
        case ISEQ_TYPE_ENSURE:
        case ISEQ_TYPE_EVAL:
            if (body->parent_iseq) {
                iseq = body->parent_iseq;
                break;
            }
            /* fall through */
        default:
            return labels_append(buffer, len, RSTRING_PTR(body->location.label),
                                 (size_t)RSTRING_LEN(body->location.label));
        }
    }
}

size_t
rb_hs_label_of_method(char *buffer, const rb_callable_method_entry_t *me)
{
    return labels_append_method(buffer, 0, me->owner, rb_id2str(me->def->original_id));
}

int
rb_hs_line_of(const rb_iseq_t *iseq, const VALUE *pc)
{
    if (!pc) return ISEQ_BODY(iseq)->location.first_lineno;
    /* pc stands behind the instruction that runs. */
    ptrdiff_t place = pc - ISEQ_BODY(iseq)->iseq_encoded;
    if (place > 0) place--;
    return (int)rb_iseq_line_no(iseq, (size_t)place);
}
