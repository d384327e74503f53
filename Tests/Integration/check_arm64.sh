#!/usr/bin/env bash
# Runs the tests of the parts in C for this machine and, under QEMU, for arm64. The outputs have to
# be equal.
#
# Needs what 'Tools/setup --arm64' installs; skipped where that cannot be installed. Exit status 1:
# something is wrong.
set -euo pipefail
cd "$(dirname "$0")/../.."
Tools/setup --arm64 >/dev/null 2>&1 || {
  echo "SKIPPED  arm64: its compiler's files or QEMU cannot be had here"
  exit 0
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clang=$(dirname "$(readlink -f "$(command -v swift)")")/clang
sources=(Tests/Portable/portable.c Sources/CMMLogCore/*.c Sources/CMMLogWriter/*.c)
# A function of Swift's runtime.
echo 'char *swift_demangle(const char *n, unsigned long l, char *b, unsigned long *s, unsigned f) { return 0; }' >"$work/demangle.c"

build() {  # WHERE, OPTION…
  local to=$1
  shift
  "$clang" -std=gnu17 -O2 -Wall -Werror -Wno-unused-parameter -ISources/CMMLogCore/include -ISources/CMMLogWriter/include \
    -ISources/CMMLogSignals/include -o "$to" "$@" "$work/demangle.c" -pthread -lm
}

check() {  # NAME, SOURCE…
  local name=$1
  shift
  build "$work/native" -fno-omit-frame-pointer "$@"
  "$work/native" >"$work/expected"
  # Also tests signed return addresses. A processor without them ignores the instructions.
  for protection in none pac-ret+leaf; do
    build "$work/arm64" --target=aarch64-linux-gnu -fuse-ld=lld -static -mbranch-protection="$protection" "$@"
    for processor in max cortex-a53; do
      qemu-aarch64-static -cpu "$processor" "$work/arm64" >"$work/found"
      diff "$work/expected" "$work/found"
      echo "ok       $name: arm64 ($processor, $protection) does what $(uname -m) does"
    done
  done
}

check portable "${sources[@]}"
check crash Tests/Portable/crash.c Sources/CMMLogSignals/*.c Sources/CMMLogCore/*.c
