#!/usr/bin/env bash
# Checks that Tools/release and Tools/package make the same bytes in another clone.
#
#   check_reproducible.sh TREE     what Tools/release has made of the commit that is checked out
#
# Takes as long as Tools/release. Exit status 1: files differ. Each is a line, and both releases are
# kept.
set -euo pipefail
tree=$(realpath "$1")
project=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

git clone --quiet "$project" "$work/elsewhere"
"$work/elsewhere/Tools/release" "$work/tree" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
"$project/Tools/package" "$tree" "$work/packages" >/dev/null
"$work/elsewhere/Tools/package" "$work/tree" "$work/packages-elsewhere" >/dev/null
failed=0
diff --recursive --brief "$tree" "$work/tree" || failed=1
diff --recursive --brief "$work/packages" "$work/packages-elsewhere" || failed=1
if ((failed)); then
  trap - EXIT
  echo "kept in $work: what was built in the clone, its release, and the packages of both" >&2
  exit 1
fi
echo "ok       both releases have the same bytes"
