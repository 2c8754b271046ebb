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
sanitize=()
if [[ -n $sanitizers ]]; then
  flags+=("-DCMAKE_CXX_FLAGS=-fsanitize=$sanitizers")
  sanitize+=("-fsanitize=$sanitizers")
fi

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

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# expect_consumer PROGRAM: what the small program prints.
expect_consumer() {
  local expected=$'sum 7/8\nrefused rational.zero_denominator at denominator' actual
  actual=$("$1")
  [[ $actual == "$expected" ]] || fail "the consumer printed" "$actual" "instead of" "$expected"
}

# The test of a kernel passes where the kernel is right, and names the fault where it is not.
expect_attention_test() {
  local said status=0
  "$1" --test-case='right*' || fail "the test of a right kernel failed"
  said=$("$1" --test-case='wrong*') || status=$?
  ((status != 0)) || fail "the test of a wrong kernel passed"
  grep -q 'attention is wrong: head_map.tiled' <<<"$said" || fail "no fault is named in" "$said"
  grep -q 'query heads 1 and 4' <<<"$said" || fail "no heads are named in" "$said"
}

expect_consumer "$work/build/consumer"
expect_attention_test "$work/build/attention_test"

# The same with nothing but pkg-config; both programs need one C++ file each.
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH
  PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name gqaverify.pc)")
  read -r -a compile <<<"$(pkg-config --cflags gqaverify)"
  read -r -a link <<<"$(pkg-config --libs gqaverify)"
  "$(cached CMAKE_CXX_COMPILER)" -std=c++20 -O1 "${sanitize[@]}" "${compile[@]}" \
    "$here/main.cpp" "${link[@]}" -o "$work/by_pkg_config"
  expect_consumer "$work/by_pkg_config"
  "$(cached CMAKE_C_COMPILER)" -std=c11 "${compile[@]}" -fsyntax-only -x c \
    "$work/prefix/include/gqa/kernel/abi.h"
fi
echo "consumer: found, linked and ran the installed library"
