# shellcheck shell=bash
# What tool/apply promises, each shown on a toy queue. Part of test/fast/queue/run.

toy=$SCRATCH/toy
apply() { DISTFILES=$toy/distfiles "$toy/tool/apply" "$@" 3.4 "$toy/tree"; }

# The files of the toy's tree that are newer than the mark.
changed() { (cd "$toy/tree" && find . -type f -newer "$toy/mark" ! -path './.applied/*' | sort | xargs); }
mark() { touch "$toy/mark.before" && touch_later "$toy/mark" "$toy/mark.before" && touch_later "$toy/mark.after" "$toy/mark"; }

# after COMMAND…: applies, runs the command, applies again; prints what the second run changed.
after() {
    make_toy "$toy"
    apply || return 1
    mark
    "$@" || return 1
    apply || return 1
    changed
}
changes_only() {
    local want=$1 got
    shift
    got=$(after "$@") && got=$(tail -n 1 <<<"$got") && [ "$got" = "$want" ] && return
    echo "changed: $got"
    return 1
}

patched_and_overlaid() {
    make_toy "$toy" && apply && grep -qx hook "$toy/tree/gc.c" && [ -f "$toy/tree/sub/ours.c" ]
}
pristine_only() {
    make_toy "$toy" && apply --pristine && ! grep -qx hook "$toy/tree/gc.c" && [ ! -e "$toy/tree/sub/ours.c" ]
}
edit_overlay() { echo 'int y;' >"$toy/src/sub/ours.c"; }
drop_overlay() { rm "$toy/src/sub/ours.c" && echo >"$toy/src/new.c"; }
edit_patch() { toy_patch "$toy" gc-hook gc.c '/^20$/a other hook'; }
drop_patch() { : >"$toy/patches/3.4/series"; }
add_patch() {
    toy_patch "$toy" more sub/other.c '/^5$/d'
    echo more.patch >>"$toy/patches/3.4/series"
}
make_generates() { echo generated >"$toy/tree/parse.c"; edit_patch; }

# fails_with TEXT COMMAND…: after the command, apply fails and says so.
fails_with() {
    local text=$1 out
    shift
    make_toy "$toy" && "$@" || return 1
    if out=$(apply 2>&1); then echo 'apply succeeded'; return 1; fi
    grep -q -- "$text" <<<"$out" || { echo "$out"; return 1; }
}
spoil_context() { sed -i 's/^ 19$/ 19b/' "$toy/patches/3.4/gc-hook.patch"; }
clash() { echo ours >"$toy/src/gc.c"; }
name_missing_patch() { echo none.patch >>"$toy/patches/3.4/series"; }

failure_leaves_tree() {
    make_toy "$toy" && apply && mark && spoil_context && ! apply 2>/dev/null && [ -z "$(changed)" ]
}
offset_is_reported() {
    make_toy "$toy" && sed -i 's/^@@ -18,\(.*\) +18,/@@ -15,\1 +15,/' "$toy/patches/3.4/gc-hook.patch" &&
        apply 2>&1 | grep -q 'gc-hook.patch applies at an offset' && grep -qx hook "$toy/tree/gc.c"
}
other_release_starts_afresh() {
    make_toy "$toy" && apply && touch "$toy/tree/left-over" &&
        rm "$toy/distfiles/toy-1.tar.gz" "$toy"/build/distfiles/* && apply && [ ! -e "$toy/tree/left-over" ]
}

check 'apply patches the source and adds the overlay' patched_and_overlaid
check 'apply --pristine does neither' pristine_only
check 'applied again, nothing changes' changes_only '' true
check 'an overlay file changes alone' changes_only './sub/ours.c' edit_overlay
check 'an overlay file that is gone leaves the tree' changes_only './new.c' drop_overlay
check 'a patch changes only its files' changes_only './gc.c' edit_patch
check 'a patch added changes only its files' changes_only './sub/other.c' add_patch
check 'a patch dropped takes its change back' changes_only './gc.c' drop_patch
check 'what make generated in the tree stays' changes_only './gc.c ./parse.c' make_generates
check 'a patch that needs fuzz is refused by name' fails_with 'gc-hook.patch does not apply exactly' spoil_context
check 'a patch that fails leaves the tree as it was' failure_leaves_tree
check 'an offset is allowed, and reported' offset_is_reported
check 'an overlay file that Ruby or a patch has is refused' fails_with 'gc.c' clash
check 'a name in the series without a patch is refused' fails_with 'none.patch' name_missing_patch
check 'another form of the source starts a new tree' other_release_starts_afresh
