# shellcheck shell=bash
# TAP from shell. Usage: . "$TOP/test/tap.sh"; check NAME COMMAND…; skip NAME WHY; finish at the end.
# Or joined COMMAND…, where programs print TAP themselves.
# shellcheck disable=SC2034 # read by whoever includes this file

tap_count=0
tap_failed=0
SCRATCH=$(mktemp -d)
trap 'rm -rf -- "$SCRATCH"' EXIT

# check NAME COMMAND [ARGUMENT…]: ok if it succeeds; its output is the diagnostics if it does not.
check() {
    local name=$1 out status=0
    shift
    tap_count=$((tap_count + 1))
    out=$("$@" 2>&1) || status=$?
    if [ "$status" -eq 0 ]; then
        echo "ok $tap_count - $name"
    else
        echo "not ok $tap_count - $name"
        tap_failed=$((tap_failed + 1))
        printf '# exit status %d\n' "$status"
        [ -z "$out" ] || printf '%s\n' "$out" | sed 's/^/# /'
    fi
}

# skip NAME WHY
skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

# packages GROUP…: installs these groups of tool/packages, as root. If it cannot, stderr says why; the suite then skips.
packages() { [ "$(id -u)" -ne 0 ] || "$TOP/tool/deps" "$@" 2>"$SCRATCH/deps" || cat "$SCRATCH/deps" >&2; }

# joined COMMAND…: the TAP of several programs, one after the other, as that of one: numbered anew, with one plan.
joined() {
    (set -o pipefail
    "$@" | awk '/^1\.\./ { next } { if (/^(not )?ok [0-9]+ /) sub(/ok [0-9]+/, "ok " ++n); print; fflush() } END { if (n) print "1.." n }')
}

# The plan, and the exit status of the suite: put it last.
finish() {
    echo "1..$tap_count"
    [ "$tap_failed" -eq 0 ]
}
