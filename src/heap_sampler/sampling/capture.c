/*
 * From control frames to a stack's number.
 *
 * The walk hashes one word a frame; a stack that has been met before costs
 * nothing more.  Only a new one is copied and has its frames named, which
 * reads iseqs and method entries and allocates no Ruby object.
 *
 * Frames are as in Thread.each_caller_location and Exception#backtrace: C
 * methods, methods written in Ruby with `Primitive.attr! :c_trace` and those
 * of <internal: files carry their caller's file and line; a rescue or ensure
 * frame stands for its method.  If several classes share a block or an iseq
 * (define_method), the label names the class in which it was first seen.
 *
 * YJIT calls some C methods without a frame; what they allocate is charged to
 * the line that called them.  Stacks from before there is a Ruby frame, such as
 * the compilation of the main script, are `(no Ruby frame)`.  Frames above the
 * innermost HS_DEPTH_MAX are under `(truncated)`.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/sampling/capture.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/store/page_table.h"
#include "heap_sampler/store/class_table.h"
#include "heap_sampler/store/stack_table.h"

/* One stack is captured at a time: VM lock. */
static struct hs_raw_frame raw_stack[HS_DEPTH_MAX];

uint32_t
rb_hs_capture_thread(void)
{
    const rb_execution_context_t *ec = rb_current_execution_context(false);
    return ec ? rb_th_serial(rb_ec_thread_ptr(ec)) : 0;
}

/* As rb_vm_frame_method_entry, at every moment: a malloc may stand between the
 * move of a method's environment to the heap, which leaves the environment's
 * object in place of the flags on the stack, and the change of the blocks' that
 * point to it (vm_make_env_each; YJIT allocates there). */
static const rb_callable_method_entry_t *
method_of(const rb_control_frame_t *cfp)
{
    const VALUE *ep = cfp->ep;
    while (RB_LIKELY(FIXNUM_P(ep[VM_ENV_DATA_INDEX_FLAGS]))) {
        if (VM_ENV_LOCAL_P(ep)) return rb_vm_frame_method_entry(cfp);
        VALUE me = ep[VM_ENV_DATA_INDEX_ME_CREF];
        if (me && imemo_type_p(me, imemo_ment)) return (const rb_callable_method_entry_t *)me;
        ep = VM_ENV_PREV_EP(ep);
    }
    rb_control_frame_t moved = {.ep = ((const rb_env_t *)ep[VM_ENV_DATA_INDEX_FLAGS])->ep};
    return rb_vm_frame_method_entry(&moved);
}

/* What identifies a control frame: the iseq, or the method entry of a C method.
 * 0: it has no place in a stack (an iseq that has not begun, an ifunc). */
static inline uintptr_t
frame_code(const rb_control_frame_t *cfp)
{
    if (RB_LIKELY(hs_iseq_of(cfp) && cfp->pc)) return (uintptr_t)hs_iseq_of(cfp);
    if (hs_iseq_of(cfp) || cfp->pc) return 0;
    return (uintptr_t)method_of(cfp);
}

/* The most frequent loop of the sampler: per frame two loads, two
 * multiplications and little else. */
uint32_t
rb_hs_capture_key(const rb_execution_context_t *ec, uint64_t *key, bool *truncated)
{
    *truncated = false;
    const rb_control_frame_t *cfp = ec->cfp;
    if (!ec->vm_stack || !cfp) return 0;
    const rb_control_frame_t *end = RUBY_VM_NEXT_CONTROL_FRAME(RUBY_VM_END_CONTROL_FRAME(ec));
    uint32_t left = HS_DEPTH_MAX;
    struct hs_stack_hash sum = {0, 0};

    for (; cfp < end; cfp = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp)) {
        uintptr_t word = (uintptr_t)cfp->pc;
        if (RB_UNLIKELY(!word || !hs_iseq_of(cfp))) {
            uintptr_t code = frame_code(cfp);
            if (!code) continue;
            if (!word) word = code;
        }
        if (RB_UNLIKELY(!left)) {
            *truncated = true;
            break;
        }
        left--;
        hs_stack_hash_add(&sum, word);
    }
    uint32_t depth = HS_DEPTH_MAX - left;
    *key = rb_hs_stack_key(sum, depth, *truncated);
    return depth;
}

void
rb_hs_capture_frames(const void *ec, struct hs_raw_frame *frames, uint32_t depth)
{
    const rb_control_frame_t *cfp = ((const rb_execution_context_t *)ec)->cfp;
    for (uint32_t i = 0; i < depth; cfp = RUBY_VM_PREVIOUS_CONTROL_FRAME(cfp)) {
        uintptr_t code = frame_code(cfp);
        if (!code) continue;
        frames[i++] = (struct hs_raw_frame){code, (uintptr_t)cfp->pc, (uintptr_t)method_of(cfp)};
    }
}

static uint32_t
text_of(VALUE string)
{
    return RB_TYPE_P(string, T_STRING) ? rb_hs_text(RSTRING_PTR(string), (size_t)RSTRING_LEN(string)) : 0;
}

/* Not under the lock: reads heap slots. The lock is taken around each write. */
static struct hs_code *
name_code(const struct hs_raw_frame *frame)
{
    char label[HS_LABEL_MAX];
    size_t len = 0;
    VALUE path = Qnil, absolute_path = Qnil;
    bool shown_at_caller = true, merges_caller = false;
    const rb_callable_method_entry_t *me = (const rb_callable_method_entry_t *)frame->method;

    if (frame->pc) {
        const rb_iseq_t *iseq = (const rb_iseq_t *)frame->code;
        path = rb_iseq_path(iseq);
        absolute_path = rb_iseq_realpath(iseq);
        shown_at_caller = rb_iseq_attr_p(iseq, BUILTIN_ATTR_C_TRACE) ||
            strncmp(RSTRING_PTR(path), "<internal:", 10) == 0;
        merges_caller = ISEQ_BODY(iseq)->type == ISEQ_TYPE_RESCUE || ISEQ_BODY(iseq)->type == ISEQ_TYPE_ENSURE;
        if (shown_at_caller && me && ISEQ_BODY(iseq)->type == ISEQ_TYPE_METHOD) {
            len = rb_hs_label_of_method(label, me);
        }
        else {
            len = rb_hs_label_of_code(label, iseq, me);
        }
    }
    else if (me) {
        len = rb_hs_label_of_method(label, me);
    }

    rb_hs_lock();
    struct hs_code *code = rb_hs_code_add((struct hs_code){
        .address = frame->code,
        .label = rb_hs_text(label, len),
        .path = text_of(path),
        .absolute_path = text_of(absolute_path),
        .shown_at_caller = shown_at_caller,
        .merges_caller = merges_caller,
    });
    rb_hs_unlock();
    return code;
}

/* A frame's pc, 0 if it does not point into the frame's code: a JIT pushes a
 * frame without, and what the VM's stack held before stands there until code
 * that may raise or allocate sets it.  RJIT's compiler, itself in Ruby, runs on
 * top of such frames.  The line is that where the code begins then; what stands
 * there may also be an older place in the same code. */
static uintptr_t
pc_within(const struct hs_raw_frame *frame)
{
    if (!frame->pc) return 0;           /* no iseq either */
    const struct rb_iseq_constant_body *body = ISEQ_BODY((const rb_iseq_t *)frame->code);
    uintptr_t begin = (uintptr_t)body->iseq_encoded;
    uintptr_t end = begin + body->iseq_size * sizeof(VALUE);
    return begin && frame->pc >= begin && frame->pc <= end ? frame->pc : 0;
}

static uint32_t
synthetic_stack(const char *label)
{
    rb_hs_lock();
    uint32_t node = rb_hs_node_child(HS_NODE_EMPTY, rb_hs_frame_synthetic(label));
    rb_hs_unlock();
    return node;
}

/* UINT32_MAX: no memory, or the tree is full; *leaf is the innermost frame then, or UINT32_MAX. */
static uint32_t
resolve(const struct hs_raw_frame *raw, uint32_t depth, bool truncated, uint32_t *leaf)
{
    uint32_t node = HS_NODE_EMPTY;
    uint32_t caller = UINT32_MAX;       /* the nearest frame below that has a line of its own */

    /* Name what is new first, since naming takes and leaves the lock; an entry
     * may move when another is added, so only addresses are kept. */
    for (uint32_t i = depth; i-- > 0;) {
        if (!rb_hs_code_find(raw[i].code) && !name_code(&raw[i])) return UINT32_MAX;
    }
    if (truncated) node = synthetic_stack(HS_TRUNCATED);
    for (uint32_t i = depth; i-- > 0;) {
        const struct hs_code *code = rb_hs_code_find(raw[i].code);
        /* A rescue or ensure frame hides the method's frame below it. */
        if (i > 0 && rb_hs_code_find(raw[i - 1].code)->merges_caller) continue;

        uint32_t line = code->shown_at_caller ? 0 : (uint32_t)rb_hs_line_of((const rb_iseq_t *)raw[i].code, (const VALUE *)pc_within(&raw[i]));
        rb_hs_lock();
        *leaf = rb_hs_code_frame(code, line, caller);
        node = rb_hs_node_child(node, *leaf);   /* without a parent: none */
        rb_hs_unlock();
        if (!code->shown_at_caller) caller = *leaf;
    }
    return node;
}

uint32_t
rb_hs_capture_resolve(const struct hs_raw_frame *frames, uint32_t depth, bool truncated)
{
    HS_CONTRACT(vm);
    HS_CONTRACT(free);
    uint32_t leaf = UINT32_MAX, node = resolve(frames, depth, truncated, &leaf);
    if (node != UINT32_MAX) return node;

    /* The tree is full of live samples: keep the line, without its callers. */
    rb_hs_lock();
    rb_hs_stack_drops.stacks++;
    uint32_t evicted = rb_hs_node_evicted();
    node = rb_hs_node_child(evicted, leaf);
    rb_hs_unlock();
    return node == UINT32_MAX ? evicted : node;
}

uint32_t
rb_hs_capture_stack(void)
{
    HS_CONTRACT(vm);
    HS_CONTRACT(free);
    const rb_execution_context_t *ec = rb_current_execution_context(false);
    bool truncated;
    uint64_t key;
    uint32_t node, depth = ec && ec->cfp ? rb_hs_capture_key(ec, &key, &truncated) : 0;
    if (!depth) {
        node = synthetic_stack(ec && ec->cfp ? "(no Ruby frame)" : "(boot)");
        return node == UINT32_MAX ? HS_NODE_EMPTY : node;
    }
    if (rb_hs_stack_find(key, &node)) return node;
    rb_hs_capture_frames(ec, raw_stack, depth);
    node = rb_hs_capture_resolve(raw_stack, depth, truncated);
    if (node == UINT32_MAX) return HS_NODE_EMPTY;
    rb_hs_lock();
    rb_hs_stack_remember(key, node);
    rb_hs_unlock();
    return node;
}

/* -- what code is called ------------------------------------------------------------- */

static size_t
append(char *buffer, size_t len, const char *text, size_t text_len)
{
    size_t room = HS_LABEL_MAX - len;
    if (text_len > room) text_len = room;
    memcpy(buffer + len, text, text_len);
    return len + text_len;
}

static size_t
append_string(char *buffer, size_t len, VALUE string)
{
    return append(buffer, len, RSTRING_PTR(string), (size_t)RSTRING_LEN(string));
}

static bool
module_p(VALUE object)
{
    return !RB_SPECIAL_CONST_P(object) && (RB_TYPE_P(object, T_CLASS) || RB_TYPE_P(object, T_MODULE));
}

static size_t
append_method(char *buffer, size_t len, VALUE owner, VALUE name)
{
    char class_name[256];
    bool singleton = module_p(owner) && RB_TYPE_P(owner, T_CLASS) && RCLASS_SINGLETON_P(owner);
    VALUE named = singleton ? RCLASS_ATTACHED_OBJECT(owner) : owner;
    if (module_p(named) && rb_hs_class_name(named, class_name, sizeof(class_name))) {
        len = append(buffer, len, class_name, strlen(class_name));
        len = append(buffer, len, singleton ? "." : "#", 1);
    }
    return RB_TYPE_P(name, T_STRING) ? append_string(buffer, len, name) : len;
}

size_t
rb_hs_label_of_code(char *buffer, const rb_iseq_t *iseq, const rb_callable_method_entry_t *me)
{
    size_t len = 0;
    for (;;) {
        const struct rb_iseq_constant_body *body = ISEQ_BODY(iseq);
        switch (body->type) {
        case ISEQ_TYPE_METHOD: return append_method(buffer, len, me ? me->owner : Qnil, body->location.label);
        case ISEQ_TYPE_BLOCK:
        case ISEQ_TYPE_PLAIN: {
            if (len) return append_string(buffer, len, body->location.label);     /* the outermost code is such a one */
            char levels[48] = "block in ";
            int level = 0;
            for (; iseq != body->local_iseq && ISEQ_BODY(iseq)->parent_iseq; iseq = ISEQ_BODY(iseq)->parent_iseq) {
                level += ISEQ_BODY(iseq)->type == ISEQ_TYPE_BLOCK;
            }
            if (level > 1) snprintf(levels, sizeof(levels), "block (%d levels) in ", level);
            len = append(buffer, len, levels, strlen(levels));
            break;
        }
        case ISEQ_TYPE_RESCUE:
        case ISEQ_TYPE_ENSURE:
        case ISEQ_TYPE_EVAL:
            iseq = body->parent_iseq;
            if (iseq) break;
            /* fall through */
        default: return append_string(buffer, len, body->location.label);
        }
    }
}

size_t
rb_hs_label_of_method(char *buffer, const rb_callable_method_entry_t *me)
{
    return append_method(buffer, 0, me->owner, rb_id2str(me->def->original_id));
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
