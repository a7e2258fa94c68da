# shellcheck shell=bash
# Shows that long work goes on without showing all its output.
# Usage: . "$(dirname "$0")/progress.sh"
#   run_logged LABEL LOG COMMAND [ARGUMENT…]   runs it; what it prints goes to LOG
#   watch PID LABEL LOG                        waits for a job whose output is in LOG

# The last lines of the log to show when the command fails, and seconds between two dots.
TAIL_LINES=40
DOT_SECONDS=15

elapsed() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# One of the looks at running work, five a second. On a terminal: one line that shows the time and the log's last line.
# Elsewhere: a dot now and then.
progress() { # LABEL LOG START LOOK
    local line
    if [ -t 2 ]; then
        line=$(tail -n 1 -- "$2" | tr -cd '[:print:]')
        printf '\r\033[K%s %s  %.60s' "$1" "$(elapsed $((SECONDS - $3)))" "$line" >&2
    elif [ $(($4 % (DOT_SECONDS * 5))) -eq 0 ]; then
        printf '.' >&2
    fi
}

# Waits for a job. Returns its status, the cursor behind LABEL.
watch() {
    local pid=$1 label=$2 log=$3 start=$SECONDS look=0 status=0
    # The shell starts background work deaf to ^C: pass it on.
    trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM
    [ -t 2 ] || printf '%s ' "$label" >&2
    while kill -0 "$pid" 2>/dev/null; do
        sleep 0.2
        progress "$label" "$log" "$start" $((look += 1))
    done
    wait "$pid" || status=$?
    trap - INT TERM
    [ ! -t 2 ] || printf '\r\033[K%s ' "$label" >&2
    return "$status"
}

# Runs COMMAND with its output in LOG. On failure: the end of the log, and its status.
run_logged() {
    local label=$1 log=$2 start=$SECONDS status=0
    shift 2
    mkdir -p -- "$(dirname "$log")"
    "$@" >"$log" 2>&1 </dev/null &
    watch $! "$label" "$log" || status=$?
    if [ "$status" -ne 0 ]; then
        printf ' failed after %s (status %d); the end of %s:\n' "$(elapsed $((SECONDS - start)))" "$status" "$log" >&2
        tail -n "$TAIL_LINES" -- "$log" >&2
        return "$status"
    fi
    printf ' done in %s\n' "$(elapsed $((SECONDS - start)))" >&2
}
