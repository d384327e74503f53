#!/usr/bin/env bash
# Checks that a program needs nothing but the library for C of Tools/release and the system's own
# libraries.
#
#   check_c.sh TREE     what Tools/release has made
#
# Builds a program in C and in C++ with each installed compiler, with and without shared libraries,
# runs the program, and reads its log. Exit status 1: something is wrong.
set -euo pipefail
tree=$(realpath "$1")
project=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH=$tree/lib/pkgconfig
failed=0

pkg-config --atleast-version=1.0.0 mmlog
read -ra flags <<<"$(pkg-config --cflags mmlog)"
read -ra libraries <<<"$(pkg-config --libs mmlog)"
cp "$project/Examples/CService/main.c" "$work/service.c"
cp "$project/Tests/Integration/service.cpp" "$work/"

check() {  # COMMAND…: builds and runs a program, which has to log 125 records
  local program=$work/program found
  if ! "$@" "${flags[@]}" -o "$program" "${libraries[@]}" 2>"$work/errors"; then
    printf 'FAILED   %s\n' "$*"
    cat "$work/errors"
    failed=1
    return
  fi
  rm -rf "$work/log"
  "$program" "$work/log" 40
  found=$("$tree/bin/mmlog-decode" --format message "$work/log" | grep -c '' || true)
  if [[ $found == 125 ]]; then
    echo "ok       $*"
  else
    echo "FAILED   $*: $found records, and not 125"
    failed=1
  fi
}

for compiler in gcc clang; do
  command -v $compiler >/dev/null || {
    echo "SKIPPED  there is no $compiler"
    continue
  }
  for options in "" "-O2 -Wl,--gc-sections" "-static"; do
    # shellcheck disable=SC2086 # several words
    check $compiler -std=c11 -Wall -Wextra -Werror -D_GNU_SOURCE $options "$work/service.c"
  done
done
for compiler in g++ clang++; do
  command -v $compiler >/dev/null || continue
  for standard in c++11 c++20; do
    check $compiler -std=$standard -Wall -Wextra -Wold-style-cast -Werror "$work/service.cpp"
  done
done
# Tests static programs, in C and in Swift, without /proc, as in a chroot(2) or a rescue shell.
if unshare --mount mount -t tmpfs none /proc 2>/dev/null; then
  check gcc -std=c11 -D_GNU_SOURCE -static "$work/service.c"
  rm -rf "$work/log"
  # shellcheck disable=SC2016 # for the inner shell
  found=$(unshare --mount bash -c 'mount -t tmpfs none /proc; "$1" "$3" 40 && "$2" --format message "$3"' _ \
    "$work/program" "$tree/bin/mmlog-decode" "$work/log" | grep -c '' || true)
  if [[ $found == 125 ]]; then
    echo "ok       without /proc"
  else
    echo "FAILED   without /proc: $found records, and not 125"
    failed=1
  fi
else
  echo "SKIPPED  without /proc: there is no unshare, or it is not allowed"
fi
exit $failed
