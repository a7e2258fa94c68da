/*
 * References of compiled code and of what the VM keeps beside it: environments
 * of blocks, methods, scopes, caches.
 */
#include "heap_sampler/holders/edge_visit.h"

#include <string.h>

/* -- environments --------------------------------------------------------- */

static void
code_visit_env(struct hs_visit *visit, const rb_env_t *env)
{
    if (!env->ep) return;
    const rb_iseq_t *iseq = hs_iseq(env->iseq);
    hs_visit_in(visit, iseq, NULL, hs_method_of_ep(env->ep));
    if (iseq) {
        const struct rb_iseq_constant_body *body = ISEQ_BODY(iseq);
        const VALUE *locals = env->ep - (VM_ENV_DATA_SIZE - 1) - body->local_table_size;
        for (unsigned int i = 0; i < body->local_table_size && !visit->enough; i++) {
            hs_visit(visit, HS_EDGE_LOCAL, "local", body->local_table[i], locals[i]);
        }
    }
    if (!VM_ENV_LOCAL_P(env->ep)) {
        hs_visit(visit, HS_EDGE_ENVIRONMENT, "locals outside", 0, (VALUE)rb_vm_env_prev_env(env));
    }
    hs_visit(visit, HS_EDGE_CODE, "code", 0, (VALUE)env->iseq);
    hs_visit(visit, HS_EDGE_METHOD, "method", 0, env->ep[VM_ENV_DATA_INDEX_ME_CREF]);
    if (VM_ENV_LOCAL_P(env->ep)) hs_visit(visit, HS_EDGE_BLOCK, "block argument", 0, VM_ENV_BLOCK_HANDLER(env->ep));
    for (unsigned int i = 0; i < env->env_size && !visit->enough; i++) {
        hs_visit(visit, HS_EDGE_STACK, "argument", 0, env->env[i]);
    }
}

/* Of a Proc or Binding: what it is a block of, with its self and the locals around it. */
static void
code_visit_captured(struct hs_visit *visit, const struct rb_captured_block *captured)
{
    const rb_iseq_t *iseq = hs_iseq(captured->code.iseq);
    if (captured->ep) hs_visit_in(visit, iseq, NULL, hs_method_of_ep(captured->ep));
    hs_visit(visit, HS_EDGE_SELF, "self", 0, captured->self);
    if (captured->ep) hs_visit(visit, HS_EDGE_ENVIRONMENT, "locals outside", 0, captured->ep[VM_ENV_DATA_INDEX_ENV]);
    hs_visit(visit, HS_EDGE_CODE, "code", 0, captured->code.val);
}

void
rb_hs_visit_block(struct hs_visit *visit, const struct rb_block *block)
{
    switch (block->type) {
    case block_type_iseq:
    case block_type_ifunc:
        code_visit_captured(visit, &block->as.captured);
        break;
    case block_type_symbol:
        hs_visit(visit, HS_EDGE_BLOCK, "symbol", 0, block->as.symbol);
        break;
    case block_type_proc:
        hs_visit(visit, HS_EDGE_BLOCK, "block", 0, block->as.proc);
        break;
    }
}

/* -- TracePoints that are enabled ----------------------------------------- */

/* The head of rb_event_hook_t (vm_trace.c). */
struct code_event_hook {
    rb_event_hook_flag_t flags;
    rb_event_flag_t events;
    void *function;
    VALUE trace_point;          /* or what a C function wants to have */
    const struct code_event_hook *next;
};

void
rb_hs_visit_hooks(struct hs_visit *visit, const struct rb_hook_list_struct *hooks)
{
    if (!hooks) return;
    for (const struct code_event_hook *hook = (const void *)hooks->hooks; hook && !visit->enough; hook = hook->next) {
        hs_visit(visit, HS_EDGE_DATA, "enabled TracePoint", 0, hook->trace_point);
    }
}

/* -- methods and scopes --------------------------------------------------- */

static void
code_visit_definition(struct hs_visit *visit, const rb_method_definition_t *definition)
{
    switch (definition->type) {
    case VM_METHOD_TYPE_ISEQ:
        hs_visit(visit, HS_EDGE_CODE, "code", 0, (VALUE)definition->body.iseq.iseqptr);
        hs_visit(visit, HS_EDGE_CODE, "scope", 0, (VALUE)definition->body.iseq.cref);
        break;
    case VM_METHOD_TYPE_ATTRSET:
    case VM_METHOD_TYPE_IVAR:
        hs_visit(visit, HS_EDGE_CODE, "place", 0, definition->body.attr.location);
        break;
    case VM_METHOD_TYPE_BMETHOD:
        hs_visit(visit, HS_EDGE_BLOCK, "block", 0, definition->body.bmethod.proc);
        rb_hs_visit_hooks(visit, definition->body.bmethod.hooks);
        break;
    case VM_METHOD_TYPE_ALIAS:
        hs_visit(visit, HS_EDGE_METHOD, "original", 0, (VALUE)definition->body.alias.original_me);
        break;
    case VM_METHOD_TYPE_REFINED:
        hs_visit(visit, HS_EDGE_METHOD, "original", 0, (VALUE)definition->body.refined.orig_me);
        break;
    default:
        break;
    }
}

static void
code_visit_method(struct hs_visit *visit, const rb_method_entry_t *method)
{
    if (method->def) code_visit_definition(visit, method->def);
    if (method->def && method->def->iseq_overload) hs_visit(visit, HS_EDGE_METHOD, "itself", 0, (VALUE)method);
    hs_visit(visit, HS_EDGE_CLASS, "owner", 0, method->owner);
    hs_visit(visit, HS_EDGE_CLASS, "class", 0, method->defined_class);
}

static void
code_visit_scope(struct hs_visit *visit, const rb_cref_t *scope)
{
    hs_visit(visit, HS_EDGE_CODE, "class of scope", 0, scope->klass_or_self);
    hs_visit(visit, HS_EDGE_CODE, "outer scope", 0, (VALUE)scope->next);
    hs_visit(visit, HS_EDGE_CODE, "refinements of scope", 0, scope->refinements);
}

static void
code_visit_special_variables(struct hs_visit *visit, const struct vm_svar *variables)
{
    hs_visit(visit, HS_EDGE_LOCAL, "$_", 0, variables->lastline);
    hs_visit(visit, HS_EDGE_LOCAL, "$~", 0, variables->backref);
    hs_visit(visit, HS_EDGE_LOCAL, "flip-flops", 0, variables->others);
    hs_visit(visit, HS_EDGE_METHOD, "method", 0, variables->cref_or_me);
}

/* -- compiled code -------------------------------------------------------- */

static void
code_visit_literals(struct hs_visit *visit, const rb_iseq_t *iseq)
{
    const struct rb_iseq_constant_body *body = ISEQ_BODY(iseq);
    if (!body->mark_bits.list) return;
    const iseq_bits_t *bits = ISEQ_MBITS_BUFLEN(body->iseq_size) == 1 ? &body->mark_bits.single : body->mark_bits.list;
    for (unsigned int i = 0; i < body->iseq_size && !visit->enough; i++) {
        if (!ISEQ_MBITS_SET_P(bits, i)) continue;
        bool block = hs_iseq((const void *)body->iseq_encoded[i]) != NULL;
        hs_visit_in(visit, iseq, body->iseq_encoded + i, NULL);
        hs_visit(visit, HS_EDGE_CODE, block ? "block" : "literal", 0, body->iseq_encoded[i]);
    }
    hs_visit_in(visit, iseq, NULL, NULL);
}

static void
code_visit_inline_caches(struct hs_visit *visit, const struct rb_iseq_constant_body *body)
{
    if (!body->is_entries) return;
    const union iseq_inline_storage_entry *at = body->is_entries + body->ivc_size;
    for (unsigned int i = 0; i < body->icvarc_size; i++, at++) {
        const struct iseq_inline_cvar_cache_entry *cache = (const void *)at;
        if (cache->entry) hs_visit(visit, HS_EDGE_CACHE, "cache of a class variable", 0, cache->entry->class_value);
    }
    for (unsigned int i = 0; i < body->ise_size; i++, at++) {
        hs_visit(visit, HS_EDGE_CODE, "value that is made once", 0, at->once.value);
    }
    for (unsigned int i = 0; i < body->ic_size; i++, at++) {
        hs_visit(visit, HS_EDGE_CACHE, "cached constant", 0, (VALUE)at->ic_cache.entry);
    }
}

static void
code_visit_calls(struct hs_visit *visit, const struct rb_iseq_constant_body *body)
{
    if (!body->call_data) return;
    for (unsigned int i = 0; i < body->ci_size && !visit->enough; i++) {
        hs_visit(visit, HS_EDGE_CODE, "call", 0, (VALUE)body->call_data[i].ci);
        hs_visit(visit, HS_EDGE_CACHE, "call cache", 0, (VALUE)body->call_data[i].cc);
    }
}

static void
code_visit_keywords(struct hs_visit *visit, const struct rb_iseq_constant_body *body)
{
    const struct rb_iseq_param_keyword *keyword = body->param.keyword;
    if (!body->param.flags.has_kw || !keyword || !keyword->default_values) return;
    for (int i = 0; i < keyword->num - keyword->required_num; i++) {
        hs_visit(visit, HS_EDGE_CODE, "default of a keyword", 0, keyword->default_values[i]);
    }
}

static void
code_visit_rescues(struct hs_visit *visit, const struct rb_iseq_constant_body *body)
{
    const struct iseq_catch_table *table = body->catch_table;
    for (unsigned int i = 0; table && i < table->size; i++) {
        hs_visit(visit, HS_EDGE_CODE, "rescue", 0, (VALUE)table->entries[i].iseq);     /* by way of the table: it is packed */
    }
}

static void
code_visit_iseq(struct hs_visit *visit, const rb_iseq_t *iseq)
{
    const struct rb_iseq_constant_body *body = ISEQ_BODY(iseq);
    if (!body) return;
    hs_visit_in(visit, iseq, NULL, NULL);
    code_visit_literals(visit, iseq);
    code_visit_keywords(visit, body);
    code_visit_rescues(visit, body);
    hs_visit(visit, HS_EDGE_CODE, "code outside", 0, (VALUE)body->parent_iseq);
    hs_visit(visit, HS_EDGE_CODE, "method outside", 0, (VALUE)body->local_iseq);
    hs_visit(visit, HS_EDGE_CODE, "short form", 0, (VALUE)body->mandatory_only_iseq);
    hs_visit(visit, HS_EDGE_CODE, "name", 0, body->location.label);
    hs_visit(visit, HS_EDGE_CODE, "name", 0, body->location.base_label);
    hs_visit(visit, HS_EDGE_CODE, "path", 0, body->location.pathobj);
    hs_visit(visit, HS_EDGE_CODE, "coverage", 0, body->variable.coverage);
    hs_visit(visit, HS_EDGE_CODE, "coverage", 0, body->variable.pc2branchindex);
    hs_visit(visit, HS_EDGE_CODE, "source", 0, body->variable.script_lines);
    hs_visit(visit, HS_EDGE_CODE, "RubyVM::InstructionSequence", 0, iseq->wrapper);
    code_visit_inline_caches(visit, body);
    code_visit_calls(visit, body);
    if (!FL_TEST_RAW((VALUE)iseq, ISEQ_NOT_LOADED_YET | ISEQ_USE_COMPILE_DATA)) rb_hs_visit_hooks(visit, iseq->aux.exec.local_hooks);
}

/* -- the others ----------------------------------------------------------- */

static void
code_visit_memo(struct hs_visit *visit, const struct MEMO *memo)
{
    hs_visit(visit, HS_EDGE_STACK, "value", 0, memo->v1);
    hs_visit(visit, HS_EDGE_STACK, "value", 0, memo->v2);
    hs_visit(visit, HS_EDGE_STACK, "value", 0, memo->u3.value);
}

static void
code_visit_buffer(struct hs_visit *visit, const rb_imemo_tmpbuf_t *buffer)
{
    for (; buffer; buffer = buffer->next) {
        for (size_t i = 0; i < buffer->cnt && !visit->enough; i++) {
            hs_visit(visit, HS_EDGE_STACK, "value", 0, buffer->ptr[i]);
        }
    }
}

static void
code_visit_call_cache(struct hs_visit *visit, const struct rb_callcache *cache)
{
    if (!vm_cc_super_p(cache) && !vm_cc_refinement_p(cache)) return;
    hs_visit(visit, HS_EDGE_CACHE, "method", 0, (VALUE)cache->cme_);
    hs_visit(visit, HS_EDGE_CACHE, "class", 0, cache->klass);
}

void
rb_hs_visit_imemo(struct hs_visit *visit, VALUE imemo)
{
    const void *object = (const void *)imemo;
    switch (imemo_type(imemo)) {
    case imemo_env:
        code_visit_env(visit, object);
        break;
    case imemo_ment:
        code_visit_method(visit, object);
        break;
    case imemo_cref:
        code_visit_scope(visit, object);
        break;
    case imemo_svar:
        code_visit_special_variables(visit, object);
        break;
    case imemo_iseq:
        code_visit_iseq(visit, object);
        break;
    case imemo_ifunc:
        hs_visit(visit, HS_EDGE_DATA, "data of a block in C", 0, (VALUE)((const struct vm_ifunc *)object)->data);
        break;
    case imemo_memo:
        code_visit_memo(visit, object);
        break;
    case imemo_tmpbuf:
        code_visit_buffer(visit, object);
        break;
    case imemo_throw_data:
        hs_visit(visit, HS_EDGE_STACK, "thrown value", 0, ((const struct vm_throw_data *)object)->throw_obj);
        break;
    case imemo_constcache:
        hs_visit(visit, HS_EDGE_CACHE, "value", 0, ((const struct iseq_inline_constant_cache_entry *)object)->value);
        break;
    case imemo_callcache:
        code_visit_call_cache(visit, object);
        break;
    default:
        break;
    }
}
