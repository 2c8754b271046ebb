#!/usr/bin/env bash
# Does all the set-up, builds everything and runs every test.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
# shellcheck source=verifier/steps.sh
source "$root/verifier/steps.sh"

usage() {
  cat <<'END'
usage: tests/run.sh [--preset NAME] [--help]

Installs what is missing (through apt, as root or with sudo; otherwise it prints
the line to run and stops), configures and builds the preset (dev, or asan-ubsan)
in build/NAME, and runs every test. Exit status: 0 only if there were tests and all
of them passed, otherwise that of the first command that failed.
END
}

# count_cases LOG: how many test cases the test programs say that they ran; ctest's own
# summary counts programs.
count_cases() {
  awk '/^\[doctest\] test cases:/ { cases += $4 } END { print cases + 0 }' "$1"
}

run_tests() {
  local preset=$1 status=0 start summary
  local results="$root/build/$preset/Testing/Temporary/LastTest.log"
  printf '\n== tests (%s)\n' "$preset"
  start=$(steps_now_ms)
  rm -f "$results"
  ctest --preset "$preset" --parallel "$(build_jobs)" --no-tests=error --output-on-failure ||
    status=$?
  summary="preset $preset, $(count_cases "$results") test cases, $(steps_elapsed "$start")"
  if ((status == 0)); then
    echo "tests/run.sh: all tests passed ($summary)"
  else
    echo "tests/run.sh: tests FAILED with status $status ($summary)"
  fi
  return "$status"
}

main() {
  local preset=dev
  while (($# > 0)); do
    case $1 in
      --preset)
        if (($# < 2)); then
          echo "tests/run.sh: --preset needs a name; see --help" >&2
          return 64
        fi
        preset=$2
        shift 2
        ;;
      --help | -h)
        usage
        return 0
        ;;
      *)
        echo "tests/run.sh: unexpected argument '$1'; see --help" >&2
        return 64
        ;;
    esac
  done
  cd "$root"
  local start
  start=$(steps_now_ms)
  "$root/verifier/setup.sh" tests
  echo "set-up: done ($(steps_elapsed "$start"))"
  quiet_step "configure ($preset)" "build/$preset/configure.log" cmake --preset "$preset"
  quiet_step "build ($preset)" "build/$preset/build.log" \
    cmake --build --preset "$preset" --parallel "$(build_jobs)"
  run_tests "$preset"
}

main "$@"
