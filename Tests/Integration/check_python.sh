#!/usr/bin/env bash
# Checks the Python package with the library of Tools/release: levels, fields, exceptions, threads,
# fork, SIGKILL, a full ring. Makes the wheel twice, installs it, and measures what a call costs.
#
#   check_python.sh [TREE]     what Tools/release has made; default .build/release-tree
#
# Exit status 1: something is wrong. Skipped where there is no tree.
set -euo pipefail
cd "$(dirname "$0")/../.."
tree=${1:-.build/release-tree}
# Without a tree, find fails.
library=$(find "$tree/lib" -name 'libmmlog.so.*' 2>/dev/null | head -n 1) || true
[[ -n $library && -x $tree/bin/mmlog-decode ]] || {
  echo "SKIPPED  Python: $tree has no libmmlog.so; 'Tools/release $tree' makes it"
  exit 0
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
MMLOG_LIBRARY=$(realpath "$library")
MMLOG_DECODE=$(realpath "$tree/bin/mmlog-decode")
export MMLOG_LIBRARY MMLOG_DECODE PYTHONDONTWRITEBYTECODE=1

wheel=$(python3 Python/backend.py "$work/one")
python3 Python/backend.py "$work/two" >/dev/null
cmp "$work/one/$wheel" "$work/two/$wheel"
echo "ok       $wheel is the same twice"
# Installs only the wheel, in a virtual environment.
python3 -m venv "$work/venv" 2>"$work/errors" && python=$work/venv/bin/python || {
  echo "SKIPPED  installing the wheel: python3 has no venv"
  python=python3
  (cd "$work" && python3 -m zipfile -e "one/$wheel" site)
  export PYTHONPATH=$work/site
}
[[ $python == python3 ]] || "$python" -m pip install --quiet --no-index --disable-pip-version-check "$work/one/$wheel"
unset MMLOG_LIBRARY
"$python" Tests/Integration/check_python.py
echo "ok       levels, fields, exceptions, threads, fork, SIGKILL, a full ring"
"$python" Tests/Integration/check_python.py timing
