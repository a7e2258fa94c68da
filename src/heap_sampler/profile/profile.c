/*
 * What a profile does by itself.
 */
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"

#include <string.h>

double
rb_hs_row_resident(const struct hs_row *row)
{
    return row->malloced ? row->resident : row->inuse.space;
}

static char *
copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = rb_hs_malloc(HS_MEM_SNAPSHOTS, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

static void
free_item(struct hs_meta_item *item)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, item->name);
    rb_hs_free(HS_MEM_SNAPSHOTS, item->json);
}

bool
rb_hs_profile_add_meta(struct hs_profile *profile, const char *name, const char *json)
{
    struct hs_profile_meta *meta = &profile->meta;
    struct hs_meta_item item = {copy_text(name), copy_text(json)};
    if (!item.name || !item.json ||
        !rb_hs_grow(HS_MEM_SNAPSHOTS, (void **)&meta->items, &meta->item_capacity, (uint64_t)meta->item_count + 1, sizeof(item))) {
        free_item(&item);
        return false;
    }
    meta->items[meta->item_count++] = item;
    return true;
}

bool
rb_hs_profile_own_texts(struct hs_profile *profile, uint32_t from)
{
    size_t size = 0, at = 0;
    if (profile->own_bytes) from = profile->own_from;
    for (uint32_t i = from; i < profile->text_count; i++) size += profile->texts[i].len;
    char *bytes = rb_hs_malloc(HS_MEM_SNAPSHOTS, size);
    if (!bytes) return false;
    for (uint32_t i = from; i < profile->text_count; i++) {
        struct hs_text *text = &profile->texts[i];
        text->ptr = memcpy(bytes + at, text->ptr, text->len);
        at += text->len;
    }
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->own_bytes);
    profile->own_bytes = bytes;
    profile->own_from = from;
    return true;
}

/* The arrays go, the struct stays (it may be part of another, or on a C
 * stack) and is empty: a second call does no harm. */
void
rb_hs_profile_free(struct hs_profile *profile)
{
    if (!profile) return;
    for (uint32_t i = 0; i < profile->meta.item_count; i++) free_item(&profile->meta.items[i]);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->meta.items);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->meta.census.places);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->meta.census.paths);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->samples.list);
    rb_hs_map_free(&profile->samples.by_id);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->rows);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->nodes);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->frames);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->texts);
    rb_hs_texts_release(profile->names);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->label_bytes);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->own_bytes);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->mappings);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->kept);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->pins);
    rb_hs_holders_free(&profile->holders);
    memset(profile, 0, sizeof(*profile));
}
