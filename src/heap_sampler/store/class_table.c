/* See store/class_table.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/store/class_table.h"
#include "heap_sampler/store/check.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"

enum { NAME_MAX_BYTES = 256 };

static uint32_t
classes_max(void)
{
    return rb_hs_memory_bound_p() ? 1u << 15 : 1u << 16;
}

struct class_entry {
    uint64_t key;               /* of a class, which is weak, and a type; 0: the class was freed */
    uint32_t text, type_text;
    bool used;                  /* else the number is free */
    bool named;                 /* for good */
    bool old;                   /* only a major GC can free it */
};

static struct class_entry *entries;
static uint32_t entry_count, entry_capacity, next_free; /* no number below it is free */
static uint32_t used_count, unnamed_count;
static uint32_t other_classes;  /* text */
static struct hs_map entries_by_key = {.use = HS_MEM_NAMES};
uint64_t rb_hs_classes_dropped;

static const char *
type_name(VALUE flags)
{
    return rb_type_str((enum ruby_value_type)(flags & RUBY_T_MASK));
}

/* A temporary name holds the address of an anonymous class, which says
 * nothing in a file and differs for each: leave the digits out. */
static size_t
copy_without_addresses(char *to, size_t size, const char *from, size_t len)
{
    size_t out = 0;
    for (size_t i = 0; i < len && out + 1 < size; i++) {
        if (from[i] == '0' && i + 2 < len && from[i + 1] == 'x' && i && from[i - 1] == ':') {
            while (i + 1 < len && from[i + 1] != '>' && from[i + 1] != ':') i++;
            if (out) out--;
            continue;
        }
        to[out++] = from[i];
    }
    to[out] = '\0';
    return out;
}

bool
rb_hs_class_name(VALUE klass, char *buffer, size_t size)
{
    VALUE path = HS_CLASS_EXT(klass)->classpath;
    buffer[0] = '\0';
    if (!path) return false;
    copy_without_addresses(buffer, size, RSTRING_PTR(path), (size_t)RSTRING_LEN(path));
    return HS_CLASS_EXT(klass)->permanent_classpath;
}

bool
rb_hs_class_full_name(VALUE klass, char *buffer, size_t size)
{
    if (rb_hs_class_name(klass, buffer, size)) return true;
    if (buffer[0]) return false;
    bool module = BUILTIN_TYPE(klass) == T_MODULE;
    VALUE super = module ? 0 : RCLASS_SUPER(klass);
    char name[NAME_MAX_BYTES - 32] = "";
    while (super && (BUILTIN_TYPE(super) == T_ICLASS || !HS_CLASS_EXT(super)->classpath)) super = RCLASS_SUPER(super);
    if (super) rb_hs_class_name(super, name, sizeof(name));
    if (name[0]) snprintf(buffer, size, "(anonymous Class < %s)", name);
    else snprintf(buffer, size, "(anonymous %s)", module ? "Module" : "Class");
    return false;
}

static uint32_t
add_entry(uint64_t key, const char *type, const char *name, bool named)
{
    uint32_t id = UINT32_MAX;
    rb_hs_lock();
    if (!other_classes) other_classes = rb_hs_text_cstr("(other classes)");
    while (next_free < entry_count && entries[next_free].used) next_free++;
    if (next_free < classes_max() &&
        rb_hs_grow(HS_MEM_NAMES, (void **)&entries, &entry_capacity, (uint64_t)next_free + 1, sizeof(*entries)) &&
        rb_hs_map_put(&entries_by_key, key, next_free)) {
        id = next_free;
        if (id == entry_count) entry_count++;
        entries[id] = (struct class_entry){
            .key = key,
            .text = rb_hs_text_cstr(name),
            .type_text = rb_hs_text_cstr(type),
            .used = true,
            .named = named,
        };
        used_count++;
        if (!named) unnamed_count++;
    }
    else {
        rb_hs_classes_dropped++;
    }
    rb_hs_unlock();
    return id;
}

static enum imemo_type
imemo_type_of(VALUE flags)
{
    return (enum imemo_type)((flags >> FL_USHIFT) & IMEMO_MASK);
}

/* Keys from here on have no class. */
#define WITHOUT_CLASS (UINT64_C(1) << 62)

/* Types are below 32, and classes at addresses of multiples of 8. */
static uint64_t
key_of(VALUE klass, VALUE flags)
{
    VALUE type = flags & RUBY_T_MASK;
    if (klass) return (uint64_t)klass * 32 + type + 1;
    return WITHOUT_CLASS + type + (type == T_IMEMO ? imemo_type_of(flags) * 32 : 0);
}

/* 0: it was freed, or never had one. */
static VALUE
class_of_entry(const struct class_entry *entry)
{
    return entry->key && entry->key < WITHOUT_CLASS ? (VALUE)((entry->key - 1) / 32) : 0;
}

/* 0: it has none.  In an imemo the class's place holds something else. */
static VALUE
class_to_name(VALUE klass, VALUE flags)
{
    bool internal = (flags & RUBY_T_MASK) == T_IMEMO || (flags & RUBY_T_MASK) == T_NODE;
    return internal || !klass ? 0 : rb_class_real(klass);
}

bool
rb_hs_class_name_of(VALUE klass, VALUE flags, char *name, size_t size)
{
    klass = class_to_name(klass, flags);
    if (klass) return rb_hs_class_full_name(klass, name, size);
    if ((flags & RUBY_T_MASK) == T_IMEMO) snprintf(name, size, "(imemo:%s)", rb_imemo_name(imemo_type_of(flags)));
    else snprintf(name, size, "(hidden %s)", type_name(flags));
    return true;
}

uint32_t
rb_hs_class_of_allocation(VALUE klass, VALUE flags)
{
    HS_CONTRACT(vm);
    HS_CONTRACT(free);
    uint64_t key = key_of(class_to_name(klass, flags), flags);
    const uint32_t *found = rb_hs_map_find(&entries_by_key, key);
    if (found) return *found;

    char name[NAME_MAX_BYTES];
    bool named = rb_hs_class_name_of(klass, flags, name, sizeof(name));
    return add_entry(key, type_name(flags), name, named);
}

uint32_t
rb_hs_class_text(uint32_t class_id)
{
    return class_id < entry_count ? entries[class_id].text : other_classes;
}

uint32_t
rb_hs_class_type_text(uint32_t class_id)
{
    return class_id < entry_count ? entries[class_id].type_text : 0;
}

/* The map holds no more than before, so putting back cannot fail. */
static void
index_entries(void)
{
    rb_hs_map_clear(&entries_by_key);
    for (uint32_t i = 0; i < entry_count; i++) {
        if (entries[i].key) rb_hs_map_put(&entries_by_key, entries[i].key, i);
    }
}

/* Heap slots are read before the lock is taken. */
static void
rename_entry(struct class_entry *entry)
{
    char name[NAME_MAX_BYTES];
    bool named = rb_hs_class_full_name(class_of_entry(entry), name, sizeof(name));
    rb_hs_lock();
    entry->text = rb_hs_text_cstr(name);
    entry->named = named;
    if (named) unnamed_count--;
    rb_hs_unlock();
}

void
rb_hs_classes_rename(void)
{
    HS_CONTRACT(vm);
    HS_CONTRACT(free);
    if (!unnamed_count) return;
    for (uint32_t i = 0; i < entry_count; i++) {
        if (class_of_entry(&entries[i]) && !entries[i].named) rename_entry(&entries[i]);
    }
}

static void
forget_class(struct class_entry *entry)
{
    if (!entry->named) unnamed_count--;
    entry->key = 0;
    entry->named = true;
}

void
rb_hs_classes_sweep(bool full_mark)
{
    HS_CONTRACT(write);
    bool removed = false;
    for (uint32_t i = 0; i < entry_count; i++) {
        struct class_entry *entry = &entries[i];
        VALUE klass = class_of_entry(entry);
        if (!klass || (entry->old && !full_mark)) continue;
        int life = rb_heap_sampler_gc_liveness(klass);
        entry->old = life == 2;
        if (life) continue;
        forget_class(entry);
        removed = true;
    }
    if (removed) index_entries();
}

void
rb_hs_classes_move(void)
{
    HS_CONTRACT(write);
    bool moved = false;
    for (uint32_t i = 0; i < entry_count; i++) {
        VALUE was = class_of_entry(&entries[i]), now = was ? rb_gc_location(was) : was;
        moved |= now != was;
        entries[i].key += ((uint64_t)now - was) * 32;
    }
    if (moved) index_entries();
}

bool
rb_hs_classes_crowded(unsigned sixteenths)
{
    return used_count > classes_max() / 16 * sixteenths;
}

uint32_t
rb_hs_class_count(void)
{
    return entry_count;
}

/* A class that lives gets a number again with its next sample. */
void
rb_hs_classes_keep(const bool *used, bool *texts)
{
    HS_CONTRACT(write);
    uint32_t count = 0;
    for (uint32_t i = 0; i < entry_count; i++) {
        struct class_entry *entry = &entries[i];
        if (!entry->used) continue;
        if (!used[i]) {
            forget_class(entry);
            *entry = (struct class_entry){.named = true};
            used_count--;
            continue;
        }
        texts[entry->text] = texts[entry->type_text] = true;
        count = i + 1;
    }
    texts[other_classes] = true;
    entry_count = count;
    next_free = 0;
    index_entries();
}

#if HS_CHECKING
void
rb_hs_classes_check(void)
{
    for (uint32_t i = 0; i < entry_count; i++) {
        const struct class_entry *entry = &entries[i];
        HS_ASSERT(!entry->used || ((!entry->text || rb_hs_texts[entry->text].len) && rb_hs_texts[entry->type_text].len),
                  "class %u: texts %u, %u of %u", i, entry->text, entry->type_text, rb_hs_text_count);
    }
}

void
rb_hs_classes_check_living(bool (*alive)(uintptr_t address))
{
    uint32_t unnamed = 0;
    for (uint32_t i = 0; i < entry_count; i++) {
        const struct class_entry *entry = &entries[i];
        VALUE klass = class_of_entry(entry);
        if (!klass) {
            HS_ASSERT(entry->named, "class %u was freed and waits for a name", i);
            continue;
        }
        HS_ASSERT(alive(klass), "class %u: %p was freed", i, (void *)klass);
        const uint32_t *found = rb_hs_map_find(&entries_by_key, entry->key);
        HS_ASSERT(found && *found == i, "class %u is not found by its address %p", i, (void *)klass);
        if (!entry->named) unnamed++;
    }
    HS_ASSERT(unnamed == unnamed_count, "%u classes without a name, counted %u", unnamed, unnamed_count);
}

bool
rb_hs_class_has_type(uint32_t class_id, VALUE flags)
{
    uint64_t key = class_id < entry_count ? entries[class_id].key : 0;
    return !key || (key - (key < WITHOUT_CLASS)) % 32 == (flags & RUBY_T_MASK);
}

bool
rb_hs_class_used_p(uint32_t class_id)
{
    return class_id >= entry_count || entries[class_id].used;
}
#endif
