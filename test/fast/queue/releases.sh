# shellcheck shell=bash
# Another release of the series than the one that the patches are made for, on a toy queue. Part of test/fast/queue/run.

: "${toy:?set by apply.sh}"

# apply_to RELEASE
apply_to() { RUBY_RELEASE=$1 apply 2>&1; }

release_is_patched() {
    make_toy "$toy" && add_release "$toy" 3.4.2 '1i one more line' && apply_to 3.4.2 && grep -qx hook "$toy/tree/gc.c" &&
        grep -qx 'one more line' "$toy/tree/gc.c"
}
first_is_meant() { make_toy "$toy" && add_release "$toy" 3.4.2 '1i one more line' && apply && ! grep -x 'one more line' "$toy/tree/gc.c"; }

# It is all that is said, but for what is being unpacked.
one_sentence_names_the_patch() {
    local out
    make_toy "$toy" && add_release "$toy" 3.4.3 's/^19$/nineteen/'
    ! out=$(apply_to 3.4.3) || return
    out=$(grep -v ': unpacking ' <<<"$out")
    echo "$out"
    [ "$out" = "apply: patches/3.4/gc-hook.patch does not apply exactly to Ruby 3.4.3 (hunk 1 of gc.c); doc/rebasing.md says how to move it" ] &&
        [ ! -e "$toy/tree" ]
}
one_sentence_names_the_releases() {
    local out
    make_toy "$toy" && add_release "$toy" 3.4.2 ''
    ! out=$(apply_to 3.4.7) || return
    echo "$out"
    [ "$out" = "fetch: no sha256 of Ruby 3.4.7 is in upstream/3.4, which pins 1 3.4.2: add its lines there" ]
}

check 'another release that is pinned is patched too' release_is_patched
check 'without a word the first is meant' first_is_meant
check 'where a patch does not apply to it, one sentence names patch, place and release' one_sentence_names_the_patch
check 'a release that is not pinned: one sentence names those that are' one_sentence_names_the_releases
