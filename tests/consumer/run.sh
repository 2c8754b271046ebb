#!/usr/bin/env bash
# Installs a build tree into a prefix of its own, builds a project against it with
# find_package(gqaverify), and runs the result.
#
# usage: tests/consumer/run.sh BUILD_DIR
# Exit status: 0 the project built and printed what it should, otherwise not 0.
set -euo pipefail

if (($# != 1)) || [[ ! -f $1/CMakeCache.txt ]]; then
  echo "usage: tests/consumer/run.sh BUILD_DIR (a configured and built tree)" >&2
  exit 64
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The value of a variable in the tree's cache; empty if it has none.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }

# A library built with sanitizers needs their run time in the program, too.
sanitizers=$(cached GQAVERIFY_SANITIZE)
flags=()
if [[ -n $sanitizers ]]; then flags+=("-DCMAKE_CXX_FLAGS=-fsanitize=$sanitizers"); fi

cmake --install "$build" --prefix "$work/prefix" >"$work/install.log" || {
  tail -n 20 "$work/install.log" >&2
  exit 1
}
cmake -S "$here" -B "$work/build" -G "$(cached CMAKE_GENERATOR)" \
  -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER="$(cached CMAKE_CXX_COMPILER)" \
  -DCMAKE_PREFIX_PATH="$work/prefix" \
  "${flags[@]}"
cmake --build "$work/build"

expected=$'sum 7/8\nrefused rational.zero_denominator at denominator'
actual=$("$work/build/consumer")
if [[ $actual != "$expected" ]]; then
  printf 'the consumer printed\n%s\ninstead of\n%s\n' "$actual" "$expected" >&2
  exit 1
fi
echo "consumer: found, linked and ran the installed library"
