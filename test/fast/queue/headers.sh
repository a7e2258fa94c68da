# shellcheck shell=bash
# What tool/check-patches and tool/refresh notice, on a toy queue. Part of test/fast/queue/run.

hdr=$SCRATCH/headers

# notices TEXT SED-SCRIPT: with the toy's patch edited so, check-patches fails and says TEXT.
notices() {
    local out
    make_toy "$hdr"
    sed -i "$2" "$hdr/patches/3.4/gc-hook.patch"
    ! out=$("$hdr/tool/check-patches") && grep -q -- "$1" <<<"$out"
}
notices_stray() {
    make_toy "$hdr"
    touch "$hdr/patches/3.4/stray.patch"
    ! "$hdr/tool/check-patches" >"$hdr/out" && grep -q 'stray.patch: not in the series' "$hdr/out"
}
accepts_backup() {
    make_toy "$hdr"
    touch "$hdr/patches/3.4/gc-hook.patch~"
    "$hdr/tool/check-patches"
}
accepts_toy() { make_toy "$hdr" && "$hdr/tool/check-patches"; }

toy_refresh() { DISTFILES=$hdr/distfiles "$hdr/tool/refresh" "$@"; }
refresh_fixes_offset() {
    make_toy "$hdr" || return 1
    toy_refresh && cp "$hdr/patches/3.4/gc-hook.patch" "$hdr/normal" && toy_refresh --check || return 1
    sed -i 's/^@@ -18,\(.*\) +18,/@@ -15,\1 +15,/' "$hdr/patches/3.4/gc-hook.patch"
    ! toy_refresh --check >/dev/null 2>&1 && toy_refresh && cmp "$hdr/patches/3.4/gc-hook.patch" "$hdr/normal" &&
        grep -qx 'Why-not-overlay: a toy' "$hdr/normal"
}

check 'a whole header is accepted' accepts_toy
check 'a missing reason is noticed' notices 'no Why-not-overlay' '/^Why-not/d'
check 'an empty description is noticed' notices 'no Description' 's/^Description:.*/Description:/'
check 'a date that is none is noticed' notices 'no Last-Update' 's/^Last-Update:.*/Last-Update: soon/'
check 'a patch outside the series is noticed' notices_stray
check "a backup that quilt left is no patch" accepts_backup
if command -v quilt >/dev/null; then
    check 'refresh fixes an offset and keeps the header' refresh_fixes_offset
else
    skip 'refresh fixes an offset and keeps the header' 'no quilt here'
fi
