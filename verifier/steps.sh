# shellcheck shell=bash
# Timed steps for the run scripts. To be sourced by bash, after set -euo pipefail.
#
# A step's output goes to a log, of which only the end is shown, and only on
# failure; what a person asked to see is run with `shown_step` instead.

# Shown of a failed step's log.
readonly steps_tail_lines=60

steps_now_ms() {
  # Without its decimal point, which depends on the locale, this counts microseconds.
  local microseconds=${EPOCHREALTIME//[!0-9]/}
  echo $((microseconds / 1000))
}

steps_elapsed() {
  local milliseconds=$(($(steps_now_ms) - $1))
  printf '%d.%d s' $((milliseconds / 1000)) $((milliseconds % 1000 / 100))
}

# quiet_step TITLE LOG COMMAND...: runs COMMAND with its output in LOG.
# Returns COMMAND's status.
quiet_step() {
  local title=$1 log=$2 start status=0
  shift 2
  mkdir -p "$(dirname "$log")"
  printf '%s ... ' "$title"
  start=$(steps_now_ms)
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if ((status == 0)); then
    printf 'done (%s)\n' "$(steps_elapsed "$start")"
    return 0
  fi
  printf 'FAILED with status %d (%s)\n' "$status" "$(steps_elapsed "$start")"
  {
    echo "The end of $log:"
    tail -n "$steps_tail_lines" "$log"
  } >&2
  return "$status"
}

# shown_step TITLE COMMAND...: runs COMMAND with its output in plain sight.
# Returns COMMAND's status.
shown_step() {
  local title=$1 start status=0
  shift
  printf '\n== %s\n' "$title"
  start=$(steps_now_ms)
  "$@" || status=$?
  if ((status == 0)); then
    printf -- '-- %s: done (%s)\n' "$title" "$(steps_elapsed "$start")"
  else
    printf -- '-- %s: FAILED with status %d (%s)\n' "$title" "$status" "$(steps_elapsed "$start")"
  fi
  return "$status"
}

# build_jobs: how many compilers to run at once: one for each processor, but no
# more than one for each 2 GiB of memory, which the big-number templates can take.
build_jobs() {
  local processors memory_kib by_memory
  processors=$(nproc)
  memory_kib=$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)
  by_memory=$((memory_kib / (2 * 1024 * 1024)))
  ((by_memory >= 1)) || by_memory=1
  echo $((processors < by_memory ? processors : by_memory))
}
