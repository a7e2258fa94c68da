# shellcheck shell=bash disable=SC2154 # number, build and the functions are run's
# Sourced by run: what `go tool pprof` prints of the profile that sample.c
# makes.  Its rows' values are there; a sum below is of values already rounded.

top_of() {      # top_of SAMPLE_TYPE [OPTION]
    local type=$1
    shift
    pprof sample.pb.gz -top -sample_index="$type" "$@"
}

text=$(pprof sample.pb.gz -top -unit=B)
prints "shows inuse_space if not told otherwise" "Type: inuse_space" "$text"
prints "inuse_space in all" "100% of 10564B total" "$text"
prints "inuse_space of a leaf" " 10500B 99.39% 99.39% 10500B 99.39% Ticket#store" "$text"
prints "inuse_space below a caller" " 0 0% 100% 10000B 94.66% Integer#times" "$text"
prints "<main> keeps its name" " 10000B 94.66% <main>" "$text"
prints "the root of cut stacks" " 500B 4.73% (truncated)" "$text"
prints "rows without a stack" " 64B 0.61% 100% 64B 0.61% (no stack)" "$text"
prints "duration" "Duration: 90.50s" "$text"
! printf '%s\n' "$text" | grep -qi -e 'not available' -e error -e warning
ok $? "go tool pprof: has no complaint"

prints "inuse_objects" " 234 99.57% 99.57% 234 99.57% Ticket#store" "$(top_of inuse_objects)"
prints "alloc_space" " 17520B 100% 100% 17520B 100% Ticket#store" "$(top_of alloc_space -unit=B)"
prints "alloc_objects" " 410 100% 100% 410 100% Ticket#store" "$(top_of alloc_objects)"
prints "inuse_samples" " 5 83.33% 83.33% 5 83.33% Ticket#store" "$(top_of inuse_samples)"
prints "alloc_samples" " 7 100% 100% 7 100% Ticket#store" "$(top_of alloc_samples)"
prints "inuse_var" "of 2300001bytes2 total" "$(top_of inuse_var)"
prints "alloc_var" "of 3300000bytes2 total" "$(top_of alloc_var)"
prints "young_objects" " 75 100% 100% 75 100% Ticket#store" "$(top_of young_objects)"
prints "young_space" " 3000B 100% 100% 3000B 100% Ticket#store" "$(top_of young_space -unit=B)"
prints "dead_objects" " 150 100% 100% 150 100% Ticket#store" "$(top_of dead_objects)"
prints "dead_space" " 6000B 100% 100% 6000B 100% Ticket#store" "$(top_of dead_space -unit=B)"
prints "dead_samples" " 2 100% 100% 2 100% Ticket#store" "$(top_of dead_samples)"
prints "dead_var" "of 1000000bytes2 total" "$(top_of dead_var)"
prints "holds_free" " 700B 100% 100% 700B 100% Ticket#store" "$(top_of holds_free -unit=B)"
prints "unshared" " 1200B 100% 100% 1200B 100% Ticket#store" "$(top_of unshared -unit=B)"
prints "dead_gcs" " 302 100% 100% 302 100% Ticket#store" "$(top_of dead_gcs)"

text=$(pprof sample.pb.gz -raw)
prints "the period's type" "PeriodType: space bytes" "$text"
prints "the period" "Period: 524288" "$text"
prints "a row" " 0 0 150 6000 2 0 1000001 0 0 0 0 0 0 0 0 150 6000 0 0 0 0 0 6000 0 0 700 9000 300 1200 8000 400: 1 2 3" "$text"
prints "a row of totals" " 401 16020 0 0 0 5 0 2500000 0 0 150 6000 302 401 16020 0 0 0 0 0 0 0 0 2 1000000 0 0 0 0 0 0: 1 2 3" "$text"
prints "its labels, a birth at GC 0 too" " gc_birth:[0 count] slot_size:[40 bytes] thread:[1 count]" "$text"
prints "a location" " Ticket#store /srv/lib/ticket.rb:5" "$text"
prints "a path that is not absolute" " Integer#times <internal:numeric>:237" "$text"

text=$(pprof sample.pb.gz -traces -lines -unit=B)
prints "traces: leaf" " 6000B Ticket#store /srv/lib/ticket.rb:5" "$text"
prints "traces: root" " <main> /srv/app.rb:10" "$text"
prints "tags" " 9000.0B (85.20%): 40B" "$(pprof sample.pb.gz -tags -unit=B)"
prints "comment" '{"format":3,"generator":"heap_sampler","ruby":"ruby 3.4.5 \"test\"",' "$(pprof sample.pb.gz -comments)"
prints "takes the file that is not compressed" "of 10564B total" "$(pprof sample.pb -top -unit=B)"
prints "focuses on a class" " 1500B" "$(pprof sample.pb.gz -top -unit=B -tagfocus=class=Ticket)"
prints "a profile less itself is nothing" "of 10564B total" \
    "$(pprof sample.pb.gz -top -unit=B -diff_base="$build/zlib/sample.pb.gz")"
prints "reads hostile names" "of 231B total" "$(pprof hostile.pb.gz -top -unit=B)"
prints "reads values that saturate" "Type: inuse_space" "$(pprof huge.pb.gz -top)"
prints "reads deep stacks" "of 2560B total" "$(pprof large.pb.gz -top -unit=B)"

# --- malloc'd memory: libraries that this machine does not have ---
malloc_top() {  # malloc_top SAMPLE_TYPE [OPTION]
    local type=$1
    shift
    pprof malloc.pb.gz -top -unit=B -sample_index="$type" "$@"
}

text=$(malloc_top inuse_space)
prints "slots and malloc in all" "100% of 1354000B total" "$text"
prints "a native function" " 1000000B 73.86% 73.86% 1000000B 73.86% foo_new" "$text"
prints "code without a name, by its file" " 300000B 22.16% 96.01% 300000B 22.16% [libbar;1.so]" "$text"
prints "C++ names taken apart" " 1300000B 96.01% foo::new" "$text"
prints "the Ruby line that called into C" " 1304000B 96.31% <main> /srv/app.rb:10" "$(malloc_top inuse_space -lines)"
! printf '%s\n' "$text" | grep -q "libfoo.*no such file"
ok $? "go tool pprof: does not ask for a library whose names are all there"
prints "malloc alone" "100% of 1350000B total" "$(malloc_top malloc_inuse_space)"
prints "slots alone" "100% of 4000B total" "$(malloc_top slots_inuse_space)"
prints "what of it is resident" "100% of 312192B total" "$(malloc_top inuse_resident)"
prints "what malloc gave and got back" "100% of 3500000B total" "$(malloc_top dead_space)"
prints "slots with what they hold" " 70000B 100% 100% 70000B 100% <main>" "$(malloc_top inuse_memsize)"
prints "tags of malloc" " 976.6kB (76.92%): libfoo.so.1" "$(pprof malloc.pb.gz -tags)"
prints "focuses on malloc" "1350000B, 99.70% of 1354000B total" "$(malloc_top inuse_space -tagfocus=kind=malloc)"
text=$(pprof malloc.pb.gz -raw)
prints "a mapping" "2: 0x7f0000001000/0x7f0000002000/0x3000 /usr/lib/libfoo.so.1 00ff17 [FN]" "$text"
prints "an address" " 2: 0x7f0000001234 M=2 foo_new" "$text"
