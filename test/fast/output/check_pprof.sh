# shellcheck shell=bash disable=SC2154 # build and the functions are run's
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
lacks() { ! grep -i "${@:2}" <<<"$1"; }
check 'go tool pprof: has no complaint' lacks "$text" -e 'not available' -e error -e warning

prints "inuse_objects" " 234 99.57% 99.57% 234 99.57% Ticket#store" "$(top_of inuse_objects)"
prints "alloc_space" " 17520B 100% 100% 17520B 100% Ticket#store" "$(top_of alloc_space -unit=B)"
prints "alloc_objects" " 410 100% 100% 410 100% Ticket#store" "$(top_of alloc_objects)"

text=$(pprof sample.pb.gz -raw)
prints "the period's type" "PeriodType: space bytes" "$text"
prints "the period" "Period: 524288" "$text"
prints "a sample of three rows" " 401 16020 225 9000: " "$text"
prints "its labels" " class:[String]" "$text"
prints "Ruby's mapping" "1: 0x4000000000000000/0x4020000000000000/0x0 [FN][FL][LN]" "$text"
prints "a location" " Ticket#store /srv/lib/ticket.rb:5" "$text"
prints "a path that is not absolute" " Integer#times <internal:numeric>:237" "$text"

text=$(pprof sample.pb.gz -traces -lines -unit=B)
prints "traces: leaf" " 9000B Ticket#store /srv/lib/ticket.rb:5" "$text"
prints "traces: root" " <main> /srv/app.rb:10" "$text"
prints "tags" " 9064.0B (85.80%): String" "$(pprof sample.pb.gz -tags -unit=B)"
prints "no comment" "" "$(pprof sample.pb.gz -comments)"
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
check 'go tool pprof: does not ask for a library whose names are all there' lacks "$text" 'libfoo.*no such file'
prints "tags of malloc" " 976.6kB (76.92%): libfoo.so.1" "$(pprof malloc.pb.gz -tags)"
prints "focuses on malloc" "1350000B, 99.70% of 1354000B total" "$(malloc_top inuse_space -tagfocus=kind=malloc)"
text=$(pprof malloc.pb.gz -raw)
prints "a mapping" "2: 0x7f0000001000/0x7f0000002000/0x3000 /usr/lib/libfoo.so.1 00ff17 [FN]" "$text"
prints "an address" " 2: 0x7f0000001234 M=2 foo_new" "$text"
