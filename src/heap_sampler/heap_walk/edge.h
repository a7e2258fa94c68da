#ifndef HEAP_SAMPLER_HEAP_WALK_EDGE_H
#define HEAP_SAMPLER_HEAP_WALK_EDGE_H
/*
 * Edges: why an object retains another, in words.  An edge is one reference from
 * a parent (an object, or a root) to a child: a constant, an instance variable,
 * a local variable of a block, ….
 *
 * A heap walk needs no names; it names the edges of the chains that it found, in
 * two steps, since a large parent may have many children on chains:
 *
 *   references  goes through all that a parent refers to: plain loads (visit.c)
 *   name        makes the text of one reference (names.c)
 *
 * rb_hs_edge does both for one child.  It costs as much as going through the
 * parent's references up to the child: for a hash of a million entries 7 ms.  For many children of one parent call rb_hs_references
 * once (chains.c).
 *
 * [vm], not in GC.  For a forked child of the process too: these functions
 * allocate no memory and no objects, and take no lock but the VM lock.  They
 * raise nothing, and call no Ruby code and no code of an extension.  They trust
 * the heap's objects.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ruby/ruby.h"
#include "ruby/version.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/heap_walk/retainers.h"

/* Kinds of edges: the constant and its word in files. */
#define HS_EDGE_KINDS(X) \
    X(CONSTANT, "constant")             /* Report::BADGES */ \
    X(CVAR, "cvar")                     /* @@all of Report */ \
    X(IVAR, "ivar")                     /* @label of Badge */ \
    X(GVAR, "gvar")                     /* $badges */ \
    X(MEMBER, "member")                 /* label of Point: of a Struct or a Data */ \
    X(ELEMENT, "element")               /* [] of Array */ \
    X(KEY, "key")                       /* {} key of Hash */ \
    X(VALUE, "value")                   /* {} value of Hash */ \
    X(DEFAULT, "default")               /* the default value or block of a Hash */ \
    X(LOCAL, "local")                   /* local repo of block in Badge#initialize */ \
    X(STACK, "stack")                   /* a value that code works on: no variable */ \
    X(SELF, "self")                     /* of a block, a frame, a method */ \
    X(BLOCK, "block")                   /* from a Proc or a frame to its block */ \
    X(ENVIRONMENT, "environment")       /* to the locals of a block, or of the code around it */ \
    X(THREAD_LOCAL, "thread_local")     /* Thread#thread_variable_get */ \
    X(FIBER_LOCAL, "fiber_local")       /* Thread#[], Fiber[] */ \
    X(CLASS, "class")                   /* to the object's class */ \
    X(SUPERCLASS, "superclass")         /* and to modules that are included or prepended */ \
    X(METHOD, "method")                 /* of a class, and what a method consists of */ \
    X(CODE, "code")                     /* what compiled code has: literals, blocks, names */ \
    X(CACHE, "cache")                   /* of the VM: method caches, constant caches */ \
    X(SHARED, "shared")                 /* the array or string whose memory this one shares */ \
    X(DATA, "data")                     /* of an object in C: the type's name, or the field's */ \
    X(FINALIZER, "finalizer")           /* ObjectSpace.define_finalizer */ \
    X(ADDRESS, "address")               /* a root that a library registered */ \
    X(ROOT, "root")                     /* any other root */ \
    X(OTHER, "other")                   /* not known better */

enum hs_edge_kind {
#define HS_EDGE_KIND(kind, word) HS_EDGE_##kind,
    HS_EDGE_KINDS(HS_EDGE_KIND)
#undef HS_EDGE_KIND
        HS_EDGE_KIND_COUNT
};

/* A name.  It never has the text of a key, a string or another value. */
struct hs_edge {
    enum hs_edge_kind kind;
    uint32_t line;              /* of the code that the name is about; 0: none */
    struct hs_text path;        /* its file; bytes of a Ruby string that the heap holds; empty: none */
    size_t length;              /* of text, without its NUL */
    char text[HS_EDGE_TEXT_MAX];        /* whole: "@label of Badge"; cut if it is too long */
};

/* A reference, before it has a name.  All that it points to is the heap's, or constant. */
struct hs_reference {
    VALUE child;                /* no special constant; of a stack: a word that may be no object, so compare it only */
    enum hs_edge_kind kind;
    VALUE parent;               /* 0: a root */
    const char *what;           /* a word for it, or NULL */
    ID id;                      /* the variable's, constant's or member's name, or 0 */
    const void *code;           /* rb_iseq_t: the code that it is in, or NULL */
    const VALUE *pc;            /* where that code stands; NULL: the code as a whole is meant */
    const void *method;         /* the method entry of that code, or NULL */
    const void *caller;         /* rb_iseq_t: of a method in C, or of Ruby's own, the code that called it; or NULL */
    const VALUE *caller_pc;
    const void *address;        /* of a variable that a library registered, or NULL */
};

/* False: enough. */
typedef bool hs_each_reference(const struct hs_reference *reference, void *data);

/* Exported for the extension that tests them: src/ext/-test-/heap_sampler_edges. */
RUBY_SYMBOL_EXPORT_BEGIN

/* "constant", "ivar", … */
extern const char *const rb_hs_edge_words[HS_EDGE_KIND_COUNT];

/* All references of `parent` whose place is known, the best known first: a child may come more than once, and the first
 * is the one to name.  References that only a mark function can find (the private fields of an extension's object) do not come. */
void rb_hs_references(VALUE parent, hs_each_reference *each, void *data);
void rb_hs_reference_name(const struct hs_reference *reference, struct hs_edge *edge);
/* For a child that rb_hs_references does not find: the edge has the name of the parent's type. */
void rb_hs_edge_unknown(VALUE parent, struct hs_edge *edge);

/* The edge from `parent` to `child`, which the mark function of the parent is known to mark. */
void rb_hs_edge(VALUE parent, VALUE child, struct hs_edge *edge);

/* How many entries an Array, Hash, Set, Queue, WeakMap or WeakKeyMap has; HS_NO_ENTRIES: it is none of these. */
uint32_t rb_hs_entries(VALUE object);
/* "@max_size of LruCache": a variable of the container's owner, or the container's own, whose name says that it limits the container,
 * and that has a number. False: there is none. */
bool rb_hs_bound_edge(VALUE owner, VALUE container, struct hs_edge *edge);

/* The same for roots. */
void rb_hs_root_references(enum hs_top root, hs_each_reference *each, void *data);
void rb_hs_root_edge(enum hs_top root, VALUE child, struct hs_edge *edge);
/* Which root an object belongs to that rb_objspace_reachable_objects_from_root has in this category ("vm", "global_tbl", …).  It
 * leaves two out: named modules (HS_TOP_CONSTANTS) and HS_TOP_FINALIZERS. */
enum hs_top rb_hs_root_of(const char *category, VALUE object);

/* Blocks of malloc that belong to the object, whether they have samples or not.  `pointer` is what malloc returned. */
void rb_hs_owned_blocks(VALUE object, void (*each)(const void *pointer, void *data), void *data);

RUBY_SYMBOL_EXPORT_END

/* The name of an ID; length 0: it has none. */
struct hs_text rb_hs_id_text(ID id);
/* Do both addresses lie in the same executable or library? */
bool rb_hs_same_library_p(const void *one, const void *other);

struct rb_execution_context_struct;
struct rb_control_frame_struct;
/* The stack of a Thread or a Fiber; NULL: it is neither, or has none. */
const struct rb_execution_context_struct *rb_hs_ec_of(VALUE object);
/* Sets path and line of the edge to the innermost line, from this frame on, that is not part of Ruby. If all are part of Ruby: to
 * the innermost line that is in a file. */
void rb_hs_edge_stands_at(struct hs_edge *edge, const struct rb_execution_context_struct *ec, const struct rb_control_frame_struct *cfp);

/* A reference that is a word of a struct, and where that word is. */
struct hs_field {
    enum hs_edge_kind kind;
    const char *what;           /* NULL: there are no more */
    size_t offset;
};
#define HS_FIELD(type, member, kind, what) {HS_EDGE_##kind, what, offsetof(type, member)}

/* The references of a T_DATA whose struct and type are private to a file of MRI: that file includes forms.inc. */
struct hs_form {
    const rb_data_type_t *type; /* NULL: there are no more */
    struct hs_field fields[10];
};
extern const struct hs_form rb_heap_sampler_forms_of_enumerator[], rb_heap_sampler_forms_of_proc[], rb_heap_sampler_forms_of_thread_sync[],
    rb_heap_sampler_forms_of_variable[], rb_heap_sampler_forms_of_vm[], rb_heap_sampler_forms_of_vm_backtrace[], rb_heap_sampler_forms_of_vm_trace[];
/* vm_trace.c: the object of each TracePoint, or of each function in C, that is enabled. */
struct rb_hook_list_struct;
void rb_heap_sampler_each_hook(const struct rb_hook_list_struct *hooks, void (*each)(VALUE object, void *data), void *data);
/* thread_sync.c: the items of a Queue or SizedQueue; 0: it is neither. */
VALUE rb_heap_sampler_queue_items(VALUE object, bool *sized);
/* set.c, from 4.0 on: is it a Set, and how many entries has it? */
bool rb_heap_sampler_set_p(VALUE object, size_t *entries);
/* weakmap.c: the table of a WeakMap, or, *weak_keys, of a WeakKeyMap, which retains its values; NULL: it is neither. */
const struct st_table *rb_heap_sampler_weak_table(VALUE object, bool *weak_keys);
/* id_table.c: the block that has the table's entries. */
struct rb_id_table;
const void *rb_heap_sampler_id_table_items(const struct rb_id_table *table);

#endif
