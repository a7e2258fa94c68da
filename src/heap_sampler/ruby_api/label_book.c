/*
 * GC::SampleProfile.label_book: prepared labels by class and name, for what a
 * framework calls for each request.
 *
 * A block says which labels go with a class and a name; the book remembers what
 * it said, each in a place that follows from the two.  A place has one answer: where
 * two fall on the same, the later one has it, and the block is asked again.
 */
#include "heap_sampler/ruby_api/given_labels.h"
#include "heap_sampler/ruby_api/ruby_api.h"

enum { PLACES = 256 };

struct entry {
    VALUE klass, name, labels;  /* klass 0: it is free */
};

struct book {
    VALUE block;
    struct entry places[PLACES];
};

static void
book_mark(void *ptr)
{
    const struct book *book = ptr;
    rb_gc_mark(book->block);
    for (int i = 0; i < PLACES; i++) {
        const struct entry *entry = &book->places[i];
        if (!entry->klass) continue;
        rb_gc_mark(entry->klass);
        rb_gc_mark(entry->name);
        rb_gc_mark(entry->labels);
    }
}

static size_t
book_memsize(const void *ptr)
{
    return sizeof(struct book);
}

static const rb_data_type_t book_type = {
    "labels of GC::SampleProfile, by class and name",
    {book_mark, RUBY_DEFAULT_FREE, book_memsize},
    NULL,
    NULL,
    RUBY_TYPED_FREE_IMMEDIATELY,
};

/* A receiver is of its class, and there is no other way to one. */
static struct book *
book_of(VALUE self)
{
    return RTYPEDDATA_GET_DATA(self);
}

/* -- places ----------------------------------------------------------------------------- */

/* Names are short, and few: their length and three bytes say enough. */
static struct entry *
place_of(struct book *book, VALUE klass, VALUE name)
{
    long len = RSTRING_LEN(name);
    const unsigned char *text = (const unsigned char *)RSTRING_PTR(name);
    uint64_t word = len ? (uint64_t)text[0] | (uint64_t)text[len / 2] << 8 | (uint64_t)text[len - 1] << 16 | (uint64_t)len << 24 : 0;
    word = (word << 32 ^ klass) * UINT64_C(0x9e3779b97f4a7c15);
    return &book->places[word >> 56];
}

static bool
same_name_p(VALUE a, VALUE b)
{
    return a == b || (RSTRING_LEN(a) == RSTRING_LEN(b) && memcmp(RSTRING_PTR(a), RSTRING_PTR(b), (size_t)RSTRING_LEN(a)) == 0);
}

static VALUE
ask_block(struct book *book, VALUE klass, VALUE name)
{
    name = rb_str_new_frozen(name);
    VALUE labels = rb_funcall(book->block, rb_intern("call"), 2, klass, name);
    if (NIL_P(labels)) return Qnil;
    rb_hs_labels_check_prepared(labels);
    *place_of(book, klass, name) = (struct entry){klass, name, labels};
    return labels;
}

static VALUE
labels_of(VALUE self, VALUE object, VALUE name)
{
    struct book *book = book_of(self);
    VALUE klass = rb_obj_class(object);
    if (!RB_TYPE_P(name, T_STRING)) name = rb_obj_as_string(name);
    const struct entry *entry = place_of(book, klass, name);
    if (entry->klass == klass && same_name_p(entry->name, name)) return entry->labels;
    return ask_block(book, klass, name);
}

/*
 * call-seq:
 *   enter(object, name) -> before
 *
 * The current fiber has the labels of this object's class and this name from here on, as with
 * GC::SampleProfile::PreparedLabels#enter.
 */
static VALUE
book_enter(VALUE self, VALUE object, VALUE name)
{
    VALUE labels = labels_of(self, object, name);
    return NIL_P(labels) ? Qnil : rb_hs_labels_enter(labels);
}

/*
 * call-seq:
 *   leave(object, name, before) -> nil
 *
 * The reverse, with what #enter was given and returned.
 */
static VALUE
book_leave(VALUE self, VALUE object, VALUE name, VALUE before)
{
    if (NIL_P(before) || rb_hs_labels_go_back(before)) return Qnil;
    VALUE labels = labels_of(self, object, name);
    if (!NIL_P(labels)) rb_hs_labels_leave(labels, before);
    return Qnil;
}

/*
 * call-seq:
 *   clear -> self
 *
 * Forgets what the block said, and the classes.
 */
static VALUE
book_clear(VALUE self)
{
    struct book *book = book_of(self);
    memset(book->places, 0, sizeof(book->places));
    return self;
}

/* -- the class ---------------------------------------------------------------------------- */

static VALUE class_of_books;    /* 0: nobody wanted one yet (prepared_labels.c says why it is made so late) */

static void
define_class(VALUE rb_cSampleProfile)
{
    /*
     * Document-class: GC::SampleProfile::LabelBook
     *
     * Labels that go with a class and a name; see GC::SampleProfile.label_book.
     */
    VALUE rb_cLabelBook = rb_define_class_under(rb_cSampleProfile, "LabelBook", rb_cObject);
    rb_undef_alloc_func(rb_cLabelBook);
    rb_undef_method(CLASS_OF(rb_cLabelBook), "new");
    rb_define_method(rb_cLabelBook, "enter", book_enter, 2);
    rb_define_method(rb_cLabelBook, "leave", book_leave, 3);
    rb_define_method(rb_cLabelBook, "clear", book_clear, 0);
    class_of_books = rb_cLabelBook;
}

/*
 * call-seq:
 *   GC::SampleProfile.label_book { |klass, name| ... } -> book
 *
 * Returns labels that go with a class and a name, such as a controller and its action: for frameworks,
 * which set them for each request.
 *
 *   BOOK = GC::SampleProfile.label_book { |klass, name| GC::SampleProfile.prepare_labels(job: klass.name, step: name) }
 *
 *   def run(name)
 *     before = BOOK.enter(self, name)
 *     work
 *   ensure
 *     BOOK.leave(self, name, before)
 *   end
 *
 * The block returns what ::prepare_labels returned, or +nil+: no labels, and it is asked again the
 * next time.
 */
static VALUE
s_label_book(VALUE klass)
{
    struct book *book;
    VALUE block = rb_block_proc();
    if (!class_of_books) define_class(klass);
    VALUE self = TypedData_Make_Struct(class_of_books, struct book, &book_type, book);
    book->block = block;
    return self;
}

void
rb_hs_init_label_book(VALUE rb_cSampleProfile)
{
    rb_define_singleton_method(rb_cSampleProfile, "label_book", s_label_book, 0);
}
