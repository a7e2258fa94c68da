/*
 * The faults of C extensions that real incidents began with: a reference that GC
 * does not know of, or knows of and may not follow.  Each way of keeping a
 * reference is a fault but the last, which is right.
 *
 *   global    a static variable that was never registered
 *   movable   marked as movable, and never updated after a move
 *   barrier   marked by an object that says it has a write barrier, and has none
 *   dying     taken over from an object that is being freed
 *   marked    marked and pinned
 */
#include <ruby.h>
#include <string.h>

enum { MOST = 256 };

static VALUE global[MOST], dying[MOST];
static long freed;

struct holder {
    VALUE kept;
};

static void
mark_movable(void *ptr)
{
    rb_gc_mark_movable(((struct holder *)ptr)->kept);
}

static void
mark(void *ptr)
{
    rb_gc_mark(((struct holder *)ptr)->kept);
}

static void
take_over(void *ptr)
{
    if (freed < MOST) dying[freed++] = ((struct holder *)ptr)->kept;
    ruby_xfree(ptr);
}

static const rb_data_type_t
    movable_type = {"careless/movable", {mark_movable, RUBY_DEFAULT_FREE}, .flags = RUBY_TYPED_FREE_IMMEDIATELY},
    barrier_type = {"careless/barrier", {mark, RUBY_DEFAULT_FREE}, .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED},
    dying_type = {"careless/dying", {mark, take_over}, .flags = RUBY_TYPED_FREE_IMMEDIATELY},
    marked_type = {"careless/marked", {mark, RUBY_DEFAULT_FREE}, .flags = RUBY_TYPED_FREE_IMMEDIATELY};

static const rb_data_type_t *
type_of(VALUE way)
{
    const char *name = rb_id2name(SYM2ID(way));
    if (strcmp(name, "movable") == 0) return &movable_type;
    if (strcmp(name, "barrier") == 0) return &barrier_type;
    if (strcmp(name, "dying") == 0) return &dying_type;
    return &marked_type;
}

static VALUE
holder(VALUE self, VALUE way)
{
    struct holder *holder;
    VALUE object = TypedData_Make_Struct(rb_cObject, struct holder, type_of(way), holder);
    holder->kept = Qnil;
    return object;
}

static VALUE
keep(VALUE self, VALUE object, VALUE kept)
{
    ((struct holder *)RTYPEDDATA_GET_DATA(object))->kept = kept;
    return Qnil;
}

static VALUE
keep_global(VALUE self, VALUE index, VALUE kept)
{
    global[NUM2LONG(index)] = kept;
    return Qnil;
}

/* Where the extension believes its object is. */
static VALUE
believed(VALUE way, VALUE where)
{
    if (way == ID2SYM(rb_intern("global"))) return global[NUM2LONG(where)];
    if (way == ID2SYM(rb_intern("dying"))) return dying[NUM2LONG(where)];
    return ((struct holder *)RTYPEDDATA_GET_DATA(where))->kept;
}

/* What is there now, without using it. */
static VALUE
what(VALUE self, VALUE way, VALUE where)
{
    VALUE object = believed(way, where);
    switch (RB_BUILTIN_TYPE(object)) {
    case T_NONE: return ID2SYM(rb_intern("freed"));
    case T_MOVED: return ID2SYM(rb_intern("moved"));
    case T_ZOMBIE: return ID2SYM(rb_intern("zombie"));
    case T_IMEMO:
    case T_NODE:
    case T_ICLASS: return ID2SYM(rb_intern("internal"));
    default: return RBASIC_CLASS(object) ? rb_obj_class(object) : ID2SYM(rb_intern("hidden"));
    }
}

static VALUE
get(VALUE self, VALUE way, VALUE where)
{
    return believed(way, where);
}

static VALUE
freed_count(VALUE self)
{
    return LONG2NUM(freed);
}

/* Ends the program at last: the reference is marked. */
static VALUE
die(VALUE self, VALUE way, VALUE where)
{
    rb_gc_register_mark_object(rb_ary_new_from_args(1, believed(way, where)));
    rb_gc_start();
    return Qnil;
}

void
Init_careless(void)
{
    VALUE careless = rb_define_module("Careless");
    rb_define_singleton_method(careless, "holder", holder, 1);
    rb_define_singleton_method(careless, "keep", keep, 2);
    rb_define_singleton_method(careless, "keep_global", keep_global, 2);
    rb_define_singleton_method(careless, "what", what, 2);
    rb_define_singleton_method(careless, "get", get, 2);
    rb_define_singleton_method(careless, "freed", freed_count, 0);
    rb_define_singleton_method(careless, "die", die, 2);
}
