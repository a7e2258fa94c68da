/* Texts, and places where fibers were made, that nothing refers to any more: their numbers and bytes are used again. */
#include "heap_sampler/memory/threads.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"
#include "tap.h"
#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 1 << 16 };

static uint32_t
text_of(unsigned number)
{
    char text[32];
    return rb_hs_text(text, (size_t)snprintf(text, sizeof(text), "text %u", number));
}

static bool
is_still(const struct hs_text *text, unsigned number)
{
    char expected[32];
    int len = snprintf(expected, sizeof(expected), "text %u", number);
    return (int)text->len == len && memcmp(text->ptr, expected, text->len) == 0;
}

static void
test_texts(void)
{
    static bool used[MANY];
    for (unsigned i = 0; i < MANY; i++) text_of(i);
    ok(text_of(MANY) == rb_hs_text_cstr(HS_EVICTED) && rb_hs_texts_dropped, "texts: there are too many");
    ok(rb_hs_texts_crowded(15), "texts: it can be seen before");

    uint32_t kept = text_of(77), gone = text_of(78);
    struct hs_text held = rb_hs_texts[gone];
    struct hs_text_bytes *bytes = rb_hs_texts_hold();
    used[kept] = true;
    ok(rb_hs_texts_keep(used) && rb_hs_texts_used() == 2, "texts: one stays, and (evicted)");
    ok(text_of(77) == kept && is_still(&rb_hs_texts[kept], 77), "texts: its number and its text are what they were");
    ok(!rb_hs_texts[gone].len, "texts: a number that is free has no text");
    ok(is_still(&held, 78), "texts: bytes that are held stay");
    uint32_t fresh = text_of(MANY + 1);
    ok(fresh != kept && fresh < MANY && is_still(&rb_hs_texts[fresh], MANY + 1), "texts: a new one has a free number");
    ok(is_still(&held, 78), "texts: and takes no bytes that are held");
    size_t before = rb_hs_memory_bytes(HS_MEM_NAMES);
    rb_hs_texts_release(bytes);
    ok(rb_hs_memory_bytes(HS_MEM_NAMES) + (1 << 19) < before, "texts: bytes that are released are given back");

    fail_after(2);
    ok(!rb_hs_texts_keep(used), "texts: without memory all stay");
    fail_after(-1);
    ok(text_of(77) == kept && text_of(MANY + 1) == fresh, "texts: each under its number");
}

static uint32_t
origin_of(const char *path, unsigned line)
{
    char text[32];
    return rb_hs_creation_site((struct hs_text){text, (uint32_t)snprintf(text, sizeof(text), "%s:%u", path, line)});
}

static void
test_origins(void)
{
    uint32_t line, all = 0, other = 0;
    for (unsigned i = 0; i < HS_CREATION_SITES * 2; i++) {
        if (origin_of("made.rb", i + 1) == HS_CREATION_OTHER) other++;
        else all++;
    }
    ok(all == HS_CREATION_SITES - HS_CREATION_FIXED && other, "origins: there are too many");
    uint32_t first = origin_of("made.rb", 1), second = origin_of("made.rb", 2);
    rb_hs_creation_site_leave(second);
    rb_hs_creation_site_leave(second);
    rb_hs_creation_sites_hold();
    ok(origin_of("new.rb", 9) == HS_CREATION_OTHER, "origins: while they are held no number gets another line");
    rb_hs_creation_sites_release();
    is_number(origin_of("new.rb", 9), second, "origins: then it is the one that no fiber has any more");
    struct hs_text path = rb_hs_creation_site_path(second, &line);
    ok(line == 9 && path.len == 6 && memcmp(path.ptr, "new.rb", 6) == 0, "origins: with its path and line");
    is_number(origin_of("made.rb", 1), first, "origins: the others are what they were");
    is_number(origin_of("new.rb", 10), HS_CREATION_OTHER, "origins: where all are needed there is none");
}

void
test_names(void)
{
    test_texts();
    test_origins();
}
