# shellcheck shell=bash
# The steps that a new release is tried in, by tool/new-ruby and tool/new-library.
# Usage: what='Ruby 3.4.12' last=build; . "$(dirname "$0")/steps.sh"; step NAME STATUS COMMAND…

# step NAME STATUS COMMAND…: ends with STATUS if the command fails, and with 0 after the step $last.
step() {
    local began=$SECONDS
    # shellcheck disable=SC2154 # set by the tool
    "${@:3}" >&2 || { say "$what: '$1' failed"; exit "$2"; }
    say "$what: '$1' succeeded in $((SECONDS - began)) s"
    # shellcheck disable=SC2154
    [ "$1" != "$last" ] || exit 0
}
