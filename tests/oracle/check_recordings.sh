#!/usr/bin/env bash
# Runs check_recordings.py over the shipped recordings.
#
# usage: tests/oracle/check_recordings.sh PYTHON
# Exit status: that of the check; 77 (skipped) where PYTHON has no numpy.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if ! "$1" -c 'import numpy' 2>/dev/null; then
  echo "skipped: $1 has no numpy (Debian: python3-numpy)"
  exit 77
fi
exec "$1" "$here/check_recordings.py" "$here"/../../fixtures/recordings/*.safetensors
