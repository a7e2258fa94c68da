# shellcheck shell=bash
# A toy project to try the tools on: tiny sources in two forms, our tools, a queue of one patch.
# Usage: . "$TOP/test/fast/queue/toy.sh"; make_toy DIRECTORY

# Layout: DIRECTORY/{tool,upstream,patches/3.4,src} as in this repository, and distfiles/ with both
# forms of the source. The tools look for no network: the URL is a file, apt knows no mirror.
make_toy() {
    local dir=$1 root=$1/toy-1
    rm -rf "$dir"
    mkdir -p "$root/sub" "$dir/distfiles" "$dir/upstream" "$dir/patches/3.4" "$dir/src/sub"
    cp -r "$TOP/tool" "$dir/"
    printf '#!/bin/sh\n' >"$dir/tool/apt-mirrors"

    seq 1 40 >"$root/gc.c"
    seq 1 20 >"$root/sub/other.c"
    echo '#!/bin/sh' >"$root/configure"
    pack_toy "$dir"
    toy_patch "$dir" gc-hook gc.c '/^20$/a hook'
    echo gc-hook.patch >"$dir/patches/3.4/series"
    echo 'int x;' >"$dir/src/sub/ours.c"
}

# pack_toy DIRECTORY: makes both forms from DIRECTORY/toy-1, and pins them.
pack_toy() {
    local dir=$1
    # As unpacked from a release: older than anything made here.
    find "$dir/toy-1" -exec touch -d '2020-01-01' {} +
    tar -C "$dir" -czf "$dir/distfiles/toy-1.tar.gz" toy-1
    tar -C "$dir" -cJf "$dir/distfiles/toy_1.orig.tar.xz" toy-1
    cat >"$dir/upstream/3.4" <<EOT
version 1
tarball toy-1.tar.gz $(toy_sha "$dir/distfiles/toy-1.tar.gz") file://$dir/served.tar.gz
tarball toy_1.orig.tar.xz $(toy_sha "$dir/distfiles/toy_1.orig.tar.xz") debian:pool/toy_1.orig.tar.xz
EOT
}

# add_release TOY NUMBER SED-SCRIPT: pins another release, whose gc.c is edited.
add_release() {
    local root=$1/toy-$2
    cp -r "$1/toy-1" "$root"
    sed -i "$3" "$root/gc.c"
    tar -C "$1" -czf "$1/distfiles/toy-$2.tar.gz" "toy-$2"
    printf 'version %s\ntarball toy-%s.tar.gz %s file://%s/served.tar.gz\n' \
        "$2" "$2" "$(toy_sha "$1/distfiles/toy-$2.tar.gz")" "$1" >>"$1/upstream/3.4"
}

toy_sha() { sha256sum "$1" | cut -d' ' -f1; }

# touch_later FILE OTHER: the file gets a time that is later than the other's; the file system's clock ticks every few ms.
touch_later() { until touch "$1" && [ "$1" -nt "$2" ]; do :; done; }

# toy_patch TOY NAME FILE SED-SCRIPT: writes the patch that the edit amounts to, with a whole header.
toy_patch() {
    local dir=$1 name=$2 file=$3
    mkdir -p "$dir/a/$(dirname "$file")" "$dir/b/$(dirname "$file")"
    cp "$dir/toy-1/$file" "$dir/a/$file"
    sed "$4" "$dir/toy-1/$file" >"$dir/b/$file"
    {
        printf '%s\n' "Description: $name" 'Author: us' 'Forwarded: no' 'Last-Update: 2026-01-01' \
            'Why-not-overlay: a toy'
        (cd "$dir" && diff -u --label "a/$file" --label "b/$file" "a/$file" "b/$file") || true
    } >"$dir/patches/3.4/$name.patch"
    rm -r "${dir:?}/a" "${dir:?}/b"
}
