/*
 * From a reference to its name; see heap_walk/edge.h.  Names have one form:
 *
 *   WORD NAME of PLACE          "local repo of block in Badge#initialize"
 *
 * where WORD or NAME may be missing, and PLACE is the code that the reference
 * is in, or the parent: its class, or what it is itself where it is a class, a
 * method or code.  A constant is its path, and a root has no PLACE.
 *
 *   class, module   Report::BADGES; @@all of class Report; @all of class Report; method label of class Badge;
 *                   superclass of class Badge; modules included in Badge
 *   any object      @label of Badge; finalizer of Badge; class of Badge
 *   Struct, Data    label of Point
 *   Array, Hash     [] of Array; shared memory of Array; {} key of Hash; {} value of Hash; default block of Hash
 *   Proc, Binding   self of block in Badge#keep; locals outside of block in Badge#keep; code of ...
 *   environment     local repo of Badge#keep; locals outside of block in Badge#keep; block argument of Badge#keep
 *   method, code    block of method Badge#kept; literal of Badge#pattern; cached constant of ...; call cache of ...
 *   thread, fiber   local repo of Badge#wait (with the line where it stands); self of ...; stack of ...;
 *                   :x of the main thread; :x of a fiber; fiber storage of a fiber; value of Thread;
 *                   thread variables of a thread (with the line of its block); of a pin C stack of Thread
 *   others in C     name of Symbol; receiver of Enumerator; items of Thread::Queue; receiver of Method
 *   extensions      data of Foo (foo/bar in foo.so)
 *   roots           $badges; rb_cFoo in foo.so; variable in foo.so; (constants); (threads); (trap); (at_exit);
 *                   (finalizer); (machine stack); (objects of C code); (cache of calls)
 *
 * The text of a key, a string or another value is in no name.  Names of variables, constants, methods, classes, types
 * and files are; so is the key of a fiber local, which is a Symbol.  The key of a thread variable is not.
 *
 * Not known are the field of an extension's object, the C function that has a value on a machine stack, and the message
 * of a Ractor.  src/test/ruby/test_heap_sampler_edges.rb names each reference of each object of a large program.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/heap_walk/edge.h"
#include "heap_sampler/base/libraries.h"

#include <elf.h>
#include <link.h>
#include <stdarg.h>
#include <string.h>

enum { CLASS_NAME = 256 };

const char *const rb_hs_edge_words[HS_EDGE_KIND_COUNT] = {
#define HS_EDGE_KIND(kind, word) word,
    HS_EDGE_KINDS(HS_EDGE_KIND)
#undef HS_EDGE_KIND
};

/*
 * -- libraries ------------------------------------------------------------------
 *
 * Which library an address lies in, and which variable, from what the dynamic
 * linker has mapped.  dladdr(3) takes the linker's lock, which a thread that
 * the child does not have may hold; rb_hs_library_of takes none.
 */

static const struct link_map *
map_of(const void *address)
{
    struct hs_library library;
    return rb_hs_library_of((uintptr_t)address, &library) ? library.map : NULL;
}

bool
rb_hs_same_library_p(const void *one, const void *other)
{
    const struct link_map *map = map_of(one);
    return map && map == map_of(other);
}

/* "libfoo.so", or "". */
static const char *
library_name(const void *address)
{
    const struct link_map *map = map_of(address);
    if (!map) return "";
    const char *path = map->l_name && map->l_name[0] ? map->l_name : "ruby";    /* the executable has no name */
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* What the dynamic section has under this tag, or NULL. glibc has made addresses of most entries; others are offsets from the
 * library's begin. */
static const void *
dynamic_entry(const struct link_map *map, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        ElfW(Addr) address = entry->d_un.d_ptr;
        if (entry->d_tag == tag) return (const void *)(address < map->l_addr ? map->l_addr + address : address);
    }
    return NULL;
}

/* From DT_GNU_HASH: the last chain of the hash table ends with the last symbol. */
static uint32_t
symbol_count(const uint32_t *hash)
{
    uint32_t bucket_count = hash[0], first = hash[1], bloom_size = hash[2], last = 0;
    const uint32_t *buckets = hash + 4 + (size_t)bloom_size * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    for (uint32_t i = 0; i < bucket_count; i++) {
        if (buckets[i] > last) last = buckets[i];
    }
    if (last < first) return first;
    const uint32_t *chains = buckets + bucket_count;
    while (!(chains[last - first] & 1)) last++;
    return last + 1;
}

/* The variable that the address lies in; NULL: no symbol says so. */
static const char *
variable_name(const void *address)
{
    const struct link_map *map = map_of(address);
    const ElfW(Sym) *symbols = map ? dynamic_entry(map, DT_SYMTAB) : NULL;
    const char *names = map ? dynamic_entry(map, DT_STRTAB) : NULL;
    const uint32_t *hash = map ? dynamic_entry(map, DT_GNU_HASH) : NULL;
    uint32_t count = symbols && names && hash ? symbol_count(hash) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const ElfW(Sym) *symbol = &symbols[i];
        ElfW(Addr) offset = (ElfW(Addr))address - map->l_addr;
        if (symbol->st_shndx == SHN_UNDEF || (symbol->st_info & 0xf) != STT_OBJECT) continue;
        if (offset >= symbol->st_value && offset - symbol->st_value < symbol->st_size) return names + symbol->st_name;
    }
    return NULL;
}

/* -- places --------------------------------------------------------------------- */

/* Behind what is there; cut where there is no more room. */
static void __attribute__((format(printf, 2, 3)))
add(struct hs_edge *edge, const char *format, ...)
{
    va_list args;
    size_t room = sizeof(edge->text) - edge->length;
    va_start(args, format);
    int length = vsnprintf(edge->text + edge->length, room, format, args);
    va_end(args);
    if (length > 0) edge->length += (size_t)length < room ? (size_t)length : room - 1;
}

static void
set_line(struct hs_edge *edge, const rb_iseq_t *iseq, const VALUE *pc)
{
    VALUE path = rb_iseq_path(iseq);
    if (!RB_TYPE_P(path, T_STRING)) return;
    edge->path = (struct hs_text){RSTRING_PTR(path), (uint32_t)RSTRING_LEN(path)};
    edge->line = (uint32_t)rb_hs_line_of(iseq, pc);
}

static void
add_code(struct hs_edge *edge, const rb_iseq_t *iseq, const VALUE *pc, const rb_callable_method_entry_t *me)
{
    char label[HS_LABEL_MAX];
    size_t length = rb_hs_label_of_code(label, iseq, me);
    add(edge, "%.*s", (int)length, label);
    set_line(edge, iseq, pc);
}

static void
add_method(struct hs_edge *edge, const rb_callable_method_entry_t *me)
{
    char label[HS_LABEL_MAX];
    size_t length = me->def ? rb_hs_label_of_method(label, me) : 0;
    add(edge, "%.*s", (int)length, label);
}

/* A name with what stands before it. */
static void
add_class_name(struct hs_edge *edge, const char *before, VALUE klass)
{
    char name[CLASS_NAME];
    rb_hs_class_full_name(klass, name, sizeof(name));
    add(edge, "%s%s", before, name);
}

static void
add_class_of(struct hs_edge *edge, const char *before, VALUE object)
{
    char name[CLASS_NAME];
    rb_hs_class_name_of(RBASIC(object)->klass, RBASIC(object)->flags, name, sizeof(name));
    add(edge, "%s%s", before, name);
}

/* "singleton class of Report", "singleton class of a Badge". */
static void
add_singleton(struct hs_edge *edge, VALUE klass)
{
    VALUE object = RCLASS_ATTACHED_OBJECT(klass);
    add(edge, "singleton class of ");
    if (RB_SPECIAL_CONST_P(object)) return;
    if (RB_TYPE_P(object, T_CLASS) || RB_TYPE_P(object, T_MODULE)) add_class_name(edge, "", object);
    else add_class_of(edge, "a ", object);
}

static void
add_module(struct hs_edge *edge, VALUE module, bool with_type)
{
    if (RB_TYPE_P(module, T_ICLASS)) module = RCLASS_INCLUDER(module) ? RCLASS_INCLUDER(module) : RBASIC_CLASS(module);
    if (!module) return;
    if (RB_TYPE_P(module, T_CLASS) && RCLASS_SINGLETON_P(module)) add_singleton(edge, module);
    else add_class_name(edge, !with_type ? "" : RB_TYPE_P(module, T_MODULE) ? "module "
                                                                            : "class ",
                        module);
}

/* "the main thread", "a thread", "a fiber", with the line of the block that it began with. A Thread has no name here: the program
 * may make one from data. */
static void
add_stack(struct hs_edge *edge, VALUE object)
{
    struct rb_heap_sampler_fiber_references references = {0};
    const rb_execution_context_t *ec = rb_hs_ec_of(object);
    const rb_thread_t *thread = rb_obj_is_fiber(object) ? ec ? ec->thread_ptr : NULL : RTYPEDDATA_GET_DATA(object);
    bool fiber = rb_obj_is_fiber(object) && !(thread && ec->fiber_ptr == thread->root_fiber);
    bool proc = !fiber && thread && thread->invoke_type == thread_invoke_type_proc;
    if (fiber) rb_heap_sampler_fiber_references(RTYPEDDATA_GET_DATA(object), &references);
    VALUE block = proc ? thread->invoke_arg.proc.proc : references.block;
    const rb_iseq_t *iseq = block && rb_obj_is_proc(block) ? rb_proc_get_iseq(block, NULL) : NULL;
    add(edge, "%s", fiber ? "a fiber" : thread == GET_VM()->ractor.main_thread ? "the main thread"
                                                                               : "a thread");
    if (iseq) set_line(edge, iseq, NULL);
}

static void
add_parent(struct hs_edge *edge, VALUE parent)
{
    if (RB_TYPE_P(parent, T_CLASS) || RB_TYPE_P(parent, T_MODULE) || RB_TYPE_P(parent, T_ICLASS)) {
        add_module(edge, parent, true);
    }
    else if (imemo_type_p(parent, imemo_ment)) {
        add(edge, "method ");
        add_method(edge, (const rb_callable_method_entry_t *)parent);
    }
    else {
        add_class_of(edge, "", parent);
    }
}

/* Is it a local of a thread or fiber, and none of a Ractor? */
static bool
local_of_stack_p(const struct hs_reference *reference)
{
    return reference->kind == HS_EDGE_FIBER_LOCAL || (reference->kind == HS_EDGE_THREAD_LOCAL && !rb_ractor_p(reference->parent));
}

static void
add_place(struct hs_edge *edge, const struct hs_reference *reference)
{
    if (!reference->code && !reference->method && !reference->parent) return;
    if (edge->length) add(edge, " of ");
    if (reference->code) add_code(edge, reference->code, reference->pc, reference->method);
    else if (reference->method) add_method(edge, reference->method);
    else if (local_of_stack_p(reference)) add_stack(edge, reference->parent);
    else add_parent(edge, reference->parent);
    if (reference->caller) set_line(edge, reference->caller, reference->caller_pc);
}

/* -- names ------------------------------------------------------------------------ */

/* "rb_cFoo in foo.so", "variable in foo.so". */
static void
name_address(struct hs_edge *edge, const void *address)
{
    const char *variable = variable_name(address), *library = library_name(address);
    add(edge, "%s%s%s", variable ? variable : "variable", *library ? " in " : "", library);
}

/* An ICLASS stands for a module among the ancestors of the class that includes it. Is it one of its two references? */
static bool
inclusion_p(const struct hs_reference *reference)
{
    if (reference->kind == HS_EDGE_CLASS) return RB_TYPE_P(reference->parent, T_ICLASS);
    return reference->kind == HS_EDGE_SUPERCLASS && RB_TYPE_P(reference->child, T_ICLASS);
}

void
rb_hs_reference_name(const struct hs_reference *reference, struct hs_edge *edge)
{
    struct hs_text name = rb_hs_id_text(reference->id);
    *edge = (struct hs_edge){.kind = reference->kind};
    if (reference->kind == HS_EDGE_ADDRESS) {
        name_address(edge, reference->address);
    }
    else if (inclusion_p(reference)) {
        edge->kind = HS_EDGE_SUPERCLASS;
        add(edge, "modules included in ");
        add_module(edge, reference->parent, false);
    }
    else if (reference->kind == HS_EDGE_CONSTANT) {
        if (reference->parent != rb_cObject) {  /* its constants have no path */
            add_class_name(edge, "", reference->parent);
            add(edge, "::");
        }
        add(edge, "%.*s", (int)name.len, name.ptr);
    }
    else {
        const char *what = reference->what ? reference->what : "";
        add(edge, "%s%s%.*s", what, *what && *what != ':' && name.len ? " " : "", (int)name.len, name.ptr);
        add_place(edge, reference);
    }
}

/* "data of Foo (foo in foo.so)": the type's name and library, where they say more than the class. */
static void
name_data(struct hs_edge *edge, VALUE parent)
{
    bool typed = RTYPEDDATA_P(parent);
    const char *library = library_name(typed ? (const void *)RTYPEDDATA_TYPE(parent) : (const void *)RDATA(parent)->dmark);
    add_class_of(edge, "data of ", parent);
    add(edge, " (%s%s%s)", typed ? RTYPEDDATA_TYPE(parent)->wrap_struct_name : "untyped", *library ? " in " : "", library);
}

void
rb_hs_edge_unknown(VALUE parent, struct hs_edge *edge)
{
    *edge = (struct hs_edge){.kind = HS_EDGE_OTHER};
    if (rb_hs_ec_of(parent)) {
        edge->kind = HS_EDGE_STACK;
        add_class_of(edge, "C stack of ", parent);
    }
    else if (RB_TYPE_P(parent, T_DATA)) {
        edge->kind = HS_EDGE_DATA;
        name_data(edge, parent);
    }
    else if (imemo_type_p(parent, imemo_iseq)) {
        edge->kind = HS_EDGE_CODE;
        add(edge, "part of ");
        add_code(edge, (const rb_iseq_t *)parent, NULL, NULL);
    }
    else {
        add(edge, "reference of ");
        add_parent(edge, parent);
    }
}

/* -- one child ---------------------------------------------------------------------- */

/* `data` has the child, and becomes the first reference to it. */
static bool
find_child(const struct hs_reference *reference, void *data)
{
    struct hs_reference *found = data;
    if (reference->child != found->child) return true;
    *found = *reference;
    return false;
}

void
rb_hs_edge(VALUE parent, VALUE child, struct hs_edge *edge)
{
    struct hs_reference found = {.child = child, .kind = HS_EDGE_KIND_COUNT};
    rb_hs_references(parent, find_child, &found);
    if (found.kind == HS_EDGE_KIND_COUNT) rb_hs_edge_unknown(parent, edge);
    else rb_hs_reference_name(&found, edge);
}

/* Only code of YJIT's has other references in this root than those that rb_hs_root_references finds. */
void
rb_hs_root_edge(enum hs_top root, VALUE child, struct hs_edge *edge)
{
    const char *name = root == HS_TOP_CACHES ? "(YJIT)" : rb_hs_top_names[root];
    struct hs_reference found = {.child = child, .kind = HS_EDGE_ROOT, .what = name};
    rb_hs_root_references(root, find_child, &found);
    rb_hs_reference_name(&found, edge);
}
