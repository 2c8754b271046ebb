#!/usr/bin/env bash
# Does all the set-up, builds gqaverify and runs the main job.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly build="$root/build/run"
readonly program="$build/bin/gqaverify"
# shellcheck source=verifier/steps.sh
source "$root/verifier/steps.sh"

usage() {
  cat <<'END'
usage: verifier/run.sh [--help]

Installs what is missing (through apt, as root or with sudo; otherwise it prints
the line to run and stops), configures and builds gqaverify in build/run, and runs
the main job:

  gqaverify enumerate --engine gmp     the 210 cases and their controls
  gqaverify enumerate --engine boost   the same with an independent engine
  gqaverify verify                     every exact fixture
  gqaverify audit                      the recorded kernel in fixtures/recordings
  gqaverify audit --causal             a trained model's layers, fixtures/recordings/stories260K

What is in place is kept, so that another run is quick. Exit status: 0 only if
everything succeeded, otherwise that of the first command that failed.
END
}

configure() {
  cmake -S "$root" -B "$build" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$build/bin" \
    -DGQAVERIFY_BUILD_PROGRAM=ON \
    -DGQAVERIFY_BUILD_TESTS=OFF \
    -DGQAVERIFY_BUILD_BENCHMARKS=OFF
}

first_failure=0
failed=0
jobs_run=0

# job TITLE COMMAND...: a part of the main job; a failure is kept and the rest goes on.
job() {
  local status=0
  shown_step "$@" || status=$?
  jobs_run=$((jobs_run + 1))
  ((status != 0)) || return 0
  failed=$((failed + 1))
  ((first_failure != 0)) || first_failure=$status
}

main_job() {
  # No match leaves the pattern itself, which the audit then reports as missing.
  local recordings=("$root"/fixtures/recordings/*.safetensors)
  local layers=("$root"/fixtures/recordings/stories260K/layer*.safetensors)
  job "210 cases in exact fractions (gmp)" "$program" enumerate --engine gmp
  job "210 cases in exact fractions (boost)" "$program" enumerate --engine boost
  job "exact fixtures" "$program" verify
  job "audit of a recorded kernel" "$program" audit "${recordings[@]}"
  job "audit of a trained model's layers" "$program" audit --causal "${layers[@]}"
}

main() {
  if (($# > 0)); then
    if (($# == 1)) && [[ $1 == --help || $1 == -h ]]; then
      usage
      return 0
    fi
    echo "verifier/run.sh: unexpected argument '$1'; see --help" >&2
    return 64
  fi
  cd "$root"
  local start
  start=$(steps_now_ms)
  "$root/verifier/setup.sh"
  echo "set-up: done ($(steps_elapsed "$start"))"
  quiet_step "configure" "$build/configure.log" configure
  quiet_step "build" "$build/build.log" cmake --build "$build" --parallel "$(build_jobs)"
  main_job

  echo
  if ((first_failure == 0)); then
    echo "verifier/run.sh: all $jobs_run parts of the main job succeeded" \
      "($(steps_elapsed "$start") in all)"
  else
    echo "verifier/run.sh: $failed of $jobs_run parts of the main job FAILED" \
      "($(steps_elapsed "$start") in all)"
  fi
  return "$first_failure"
}

main "$@"
