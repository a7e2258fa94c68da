# shellcheck shell=bash
# What the tools share: where things are, how they speak, how upstream/ is read.
# Usage: . "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2034 # set here, used by scripts that read this file

set -euo pipefail
# One order for sort and comm, and the encoding that Ruby's own build expects.
export LC_ALL=C.UTF-8

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Everything generated goes below here; `make distclean` removes it.
BUILD=$TOP/build
# The series that a tool works on by default; make SERIES=… sets it.
DEFAULT_SERIES=${SERIES:-3.4}

# lines WORD...: one a line; nothing for none.
lines() { [ $# -eq 0 ] || printf '%s\n' "$@"; }
say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$*"; exit 1; }

# Prints the comment at the top of the calling tool.
usage() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }

sha256_of() { sha256sum -- "$1" | cut -d' ' -f1; }

# upstream_versions SERIES: the releases that are pinned, the release that the patches are made for first.
upstream_versions() {
    require_series "$1"
    awk '$1 == "version" { print $2 }' "$TOP/upstream/$1"
}

# upstream_version SERIES: the release to work on, for example 3.4.5; RUBY_RELEASE asks for another one of Ruby's.
upstream_version() {
    local versions wanted=${RUBY_RELEASE:-}
    versions=$(upstream_versions "$1") || exit
    [[ $1 == [0-9]* ]] && [ -n "$wanted" ] || wanted=${versions%%$'\n'*}
    grep -xF -- "$wanted" <<<"$versions" ||
        die "no sha256 of Ruby $wanted is in upstream/$1, which pins $(xargs <<<"$versions"): add its lines there"
}

# upstream_tarballs SERIES: one line per accepted form of that release: NAME SHA256 WHERE.
upstream_tarballs() {
    local version
    version=$(upstream_version "$1") || exit
    awk -v wanted="$version" '$1 == "version" { version = $2 }
        $1 == "tarball" && version == wanted { print $2, $3, $4 }' "$TOP/upstream/$1"
}

# build_of SERIES: where its builds are; a release that was asked for has its own.
build_of() { echo "$BUILD/${RUBY_RELEASE:-$1}"; }

require_series() {
    [ -f "$TOP/upstream/$1" ] ||
        die "no upstream/$1; known: $(cd "$TOP/upstream" && echo *)"
}

# series_patches DIR: the patches that DIR/series names, in order. No series, no patches.
series_patches() {
    [ -f "$1/series" ] || return 0
    sed 's/#.*//' "$1/series" | awk 'NF { print $1 }'
}

# patched_files PATCH...: the files that the patches touch, relative to the source tree (-p1).
patched_files() {
    [ $# -gt 0 ] || return 0
    sed -nE 's,^(---|\+\+\+) [^/[:blank:]]+/([^[:blank:]]+).*,\2,p' "$@" | sort -u
}

# overlay_files: the files of src/, relative to it.
overlay_files() {
    [ -d "$TOP/src" ] || return 0
    (cd "$TOP/src" && find . -type f ! -name '*~' ! -name '.*.sw?' ! -name '#*' | sed 's,^\./,,' | sort)
}

# failed_hunks LOG: what patch prints, in short: "hunk 2 of gc.c, hunk 1 of vm.c".
failed_hunks() {
    awk '/^patching file / { file = $3 } /^Hunk #[0-9]+ (FAILED|ignored)/ { list = list ", hunk " substr($2, 2) " of " file }
        /^can.t find file/ { list = list ", a file that is not there" }
        END { print list == "" ? "see " FILENAME : substr(list, 3) }' "$1"
}

# apply_exactly TREE PATCH WHAT: with fuzz 0; prints what patch does. If it fails, that is in TREE.patch.log.
apply_exactly() {
    local out
    if out=$(patch -d "$1" -p1 -F0 -N --no-backup-if-mismatch -i "$2" 2>&1); then
        printf '%s\n' "$out"
    else
        printf '%s\n' "$out" >"$1.patch.log"
        die "${2#"$TOP/"} does not apply exactly to $3 ($(failed_hunks "$1.patch.log")); doc/rebasing.md says how to move it"
    fi
}
