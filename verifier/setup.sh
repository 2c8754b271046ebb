#!/usr/bin/env bash
# Installs the Debian packages that building gqaverify needs and that are missing.
#
# usage: verifier/setup.sh [tests] [format] [benchmarks] [python] [packages] [site]
#
# Says nothing and asks apt nothing when everything is in place. Installs through
# apt as root or through sudo without a password; otherwise prints the line to run
# and stops. May be run again after any interruption.
# Exit status: 0 everything is in place, 2 it is not, 64 wrong usage.
set -euo pipefail

readonly log_lines_shown=30

say() { printf 'set-up: %s\n' "$*" >&2; }

# Debian 12 keeps a newer Boost beside its default one; elsewhere the default will do.
boost_package() {
  local system=""
  if [[ -r /etc/os-release ]]; then
    # shellcheck source=/dev/null
    system=$(. /etc/os-release && echo "${ID:-}-${VERSION_ID:-}")
  fi
  if [[ $system == debian-12 ]]; then echo libboost1.81-dev; else echo libboost-dev; fi
}

# The upstream version of libflint-dev that is installed or could be; empty if unknown.
flint_version() {
  local version
  # shellcheck disable=SC2016  # a dpkg format, not a shell expansion
  version=$(dpkg-query -W -f '${Version}' libflint-dev 2>/dev/null || true)
  if [[ -z $version ]]; then
    version=$(apt-cache policy libflint-dev 2>/dev/null | awk '/Candidate:/ { print $2 }' || true)
  fi
  [[ $version == "(none)" ]] || echo "$version"
}

# FLINT 3 carries Arb itself; before it, Arb is a package of its own.
arb_package() {
  local version
  version=$(flint_version)
  if [[ -z $version ]]; then
    # No package lists yet: Debian 12, which this is written for, has FLINT 2.
    [[ $(boost_package) != libboost1.81-dev ]] || echo libflint-arb-dev
  elif dpkg --compare-versions "$version" lt 3; then
    echo libflint-arb-dev
  fi
}

# needed_packages GROUP...: one package a line.
needed_packages() {
  printf '%s\n' g++ cmake ninja-build libgmp-dev libflint-dev libtbb-dev libcli11-dev \
    nlohmann-json3-dev libfmt-dev libprotozero-dev libzip-dev libopenblas-dev libhwy-dev \
    libopenmpi-dev
  boost_package
  arb_package
  local group
  for group in "$@"; do
    case $group in
      tests)
        printf '%s\n' doctest-dev python3 python3-numpy openmpi-bin groff-base pkgconf chromium
        printf '%s\n' pybind11-dev python3-dev python3-pytest python3-hypothesis python3-jsonschema
        ;;
      format) printf '%s\n' clang-format git ;;
      benchmarks) printf '%s\n' libbenchmark-dev python3 ;;
      python) printf '%s\n' pybind11-dev python3-dev python3-numpy ;;
      site)
        printf '%s\n' python3-sphinx python3-myst-parser furo doxygen python3-numpy
        ;;
      packages) printf '%s\n' dpkg-dev file pybind11-dev python3-dev python3-numpy ;;
    esac
  done
}

# missing_packages GROUP...: those that are not wholly installed. A package that an
# interruption left unpacked or half-configured counts as missing.
missing_packages() {
  needed_packages "$@" | sort -u | while read -r package; do
    if ! dpkg -s "$package" 2>/dev/null | grep -qx 'Status: [a-z]* ok installed'; then
      echo "$package"
    fi
  done
}

# The command that gives the rights to install; status 1 if there is none.
privilege() {
  if ((EUID == 0)); then
    echo env
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    echo sudo
  else
    return 1
  fi
}

# run_apt PRIVILEGE COMMAND...: adds its output to the log; shows the end of it on failure.
run_apt() {
  local as=$1 status=0
  shift
  "$as" env DEBIAN_FRONTEND=noninteractive "$@" >>"$log" 2>&1 </dev/null || status=$?
  if ((status != 0)); then
    say "'$*' failed with status $status; the end of what it said:"
    tail -n "$log_lines_shown" "$log" >&2
  fi
  return "$status"
}

# install_packages GROUP...: installs what is missing.
install_packages() {
  local as missing
  as=$(privilege)
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  # An earlier run that was cut off may have left packages to be configured.
  if [[ -n $(dpkg --audit) ]]; then run_apt "$as" dpkg --configure -a || return 2; fi
  # A source of packages that cannot be reached need not be the one that is needed.
  run_apt "$as" apt-get -q -o DPkg::Lock::Timeout=300 update || say "going on with the old lists"
  # Asked again: only now is it known for certain which packages there are.
  missing=$(missing_packages "$@")
  # shellcheck disable=SC2086  # one argument for each package
  run_apt "$as" apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends \
    $missing || return 2
}

main() {
  local group missing
  for group in "$@"; do
    if [[ ! $group =~ ^(tests|format|benchmarks|python|packages|site)$ ]]; then
      say "unknown group '$group'; the groups are tests, format, benchmarks, python, packages, site"
      return 64
    fi
  done
  if ! command -v dpkg >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is not a Debian-like system (no dpkg and apt-get)."
    say "Install what CMakeLists.txt looks for, then build with cmake --preset release."
    return 2
  fi
  missing=$(missing_packages "$@")
  [[ -n $missing ]] || return 0

  if ! privilege >/dev/null; then
    say "these packages are missing, and only root may install them. Please run:"
    printf '\n  sudo apt-get update && sudo apt-get install -y --no-install-recommends %s\n\n' \
      "${missing//$'\n'/ }" >&2
    say "and then this script again."
    return 2
  fi
  say "installing ${missing//$'\n'/ }"
  install_packages "$@" || return 2
  missing=$(missing_packages "$@")
  if [[ -n $missing ]]; then
    say "apt reported success, but these are still missing: ${missing//$'\n'/ }"
    return 2
  fi
}

main "$@"
