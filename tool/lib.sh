# shellcheck shell=bash
# What the tools share: where things are, how they speak, how upstream/ is read.
# Usage: . "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2034 # set here, used by whoever reads this file

set -euo pipefail
# One order for sort and comm, and the encoding that Ruby's own build expects.
export LC_ALL=C.UTF-8

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Everything generated goes below here; `make distclean` removes it.
BUILD=$TOP/build
# The series that a tool works on unless told; make SERIES=… sets it.
DEFAULT_SERIES=${SERIES:-3.4}

# lines WORD...: one a line; nothing for none.
lines() { [ $# -eq 0 ] || printf '%s\n' "$@"; }
say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$*"; exit 1; }

# Prints the comment at the top of the calling tool.
usage() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }

sha256_of() { sha256sum -- "$1" | cut -d' ' -f1; }

# upstream_version SERIES: the release, for example 3.4.5.
upstream_version() {
    require_series "$1"
    awk '$1 == "version" { print $2 }' "$TOP/upstream/$1"
}

# upstream_tarballs SERIES: one line per accepted form: NAME SHA256 WHERE.
upstream_tarballs() {
    require_series "$1"
    awk '$1 == "tarball" { print $2, $3, $4 }' "$TOP/upstream/$1"
}

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
