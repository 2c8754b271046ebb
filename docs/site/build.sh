#!/usr/bin/env bash
# Makes a site of the documentation: pages with search, the C++ and Python references, a gallery of
# reports.
#
# usage: docs/site/build.sh [--program GQAVERIFY] [OUTPUT]     (default: build/site)
#
# Needs the packages of `verifier/setup.sh site` (Sphinx with MyST and the theme furo, Doxygen), and
# nothing else of the build: without --program the gallery says how its reports are made and has none.
# Every link of the pages that were made is followed; one that leads nowhere is an error.
# Exit status: 0 made and whole, 1 not, 77 the packages are missing, 64 wrong usage.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
output=""
program=""

say() { printf 'site: %s\n' "$*" >&2; }

while (($# > 0)); do
  case $1 in
    --program)
      (($# > 1)) || { say "--program needs a value"; exit 64; }
      program=$(realpath "$2")
      shift 2
      ;;
    -*)
      say "unknown option $1; usage: docs/site/build.sh [--program GQAVERIFY] [OUTPUT]"
      exit 64
      ;;
    *)
      [[ -z $output ]] || { say "one OUTPUT, not $output and $1"; exit 64; }
      output=$1
      shift
      ;;
  esac
done
output=$(realpath -m "${output:-$root/build/site}")

for tool in sphinx-build doxygen python3; do
  if ! command -v "$tool" >/dev/null; then
    say "$tool is missing; run verifier/setup.sh site"
    exit 77
  fi
done
# The interpreter of Debian's Sphinx: another python3 may stand before it.
python=$(sed -n '1s/^#! *//p' "$(command -v sphinx-build)")
[[ -n $python ]] || python=python3
if ! $python -c 'import furo, myst_parser' 2>/dev/null; then
  say "furo or myst_parser is missing; run verifier/setup.sh site"
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$output"

$python "$here/stage.py" "$root" "$work/pages"
if [[ -n $program ]]; then
  $python "$here/gallery.py" "$root" "$program" "$work/pages" "$work/gallery"
fi

# Doxygen warns of every parameter without a sentence of its own; what it cannot read is an error.
{
  cat "$here/Doxyfile"
  echo "INPUT = $root/src/gqa $root/recheck"
  echo "STRIP_FROM_PATH = $root/src"
  echo "STRIP_FROM_INC_PATH = $root/src"
  echo "OUTPUT_DIRECTORY = $work/doxygen"
} | doxygen - >"$work/doxygen.log" 2>&1 || { cat "$work/doxygen.log" >&2; exit 1; }

GQAVERIFY_SITE_SOURCE=$root sphinx-build -q -j auto -b html -c "$here" -d "$work/doctrees" \
  "$work/pages" "$work/html" -W --keep-going
mkdir -p "$work/html/cpp"
cp -r "$work/doxygen/html/." "$work/html/cpp"
if [[ -d $work/gallery ]]; then cp -r "$work/gallery" "$work/html/gallery"; fi
$python "$here/links.py" "$work/html"

rm -rf "${output:?}"
mv "$work/html" "$output"
say "made $output/index.html"
