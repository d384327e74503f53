#!/usr/bin/env bash
# Builds the examples in Rust and Go with the installed compilers and the library of Tools/release.
# Runs each example to its end, which must succeed, kills it in a second run, and reads its
# logs.
#
#   check_languages.sh [TREE]     what Tools/release has made; default .build/release-tree
#
# Exit status 1: something is wrong. Skipped where there is no tree or no compiler; Debian's are in rustc and golang-go.
set -euo pipefail
cd "$(dirname "$0")/../.."
tree=$(realpath -m "${1:-.build/release-tree}")
[[ -e $tree/lib/libmmlog.a && -x $tree/bin/mmlog-decode ]] || {
  echo "SKIPPED  Rust, Go: $tree has no libmmlog.a; 'Tools/release $tree' makes it"
  exit 0
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH=$tree/lib/pkgconfig
failed=0

check() {  # LANGUAGE, PROGRAM: 40 orders of each of three workers, and two more records
  local found fields status expected
  for ending in end kill; do
    rm -rf "$work/log"
    status=0
    "$2" "$work/log" 40 $ending >"$work/output" 2>&1 || status=$?
    expected=0
    [[ $ending == end ]] || expected=137  # SIGKILL
    found=$("$tree/bin/mmlog-decode" --format message "$work/log" 2>/dev/null | grep -c '' || true)
    fields=$("$tree/bin/mmlog-decode" --where 'order == 40 && price == 100.25 && late == true && venue == "XETR"' \
      --level warning --format message "$work/log" 2>/dev/null | grep -c 'order refused' || true)
    if [[ $status == "$expected" && $found == 122 && $fields == 3 ]]; then echo "ok       $1, $ending"; else
      echo "FAILED   $1, $ending: status $status, and not $expected; $found records, and not 122; $fields with all" \
        "fields, and not 3"
      cat "$work/output"
      failed=1
    fi
  done
}

compilers=()
for rustc in /usr/bin/rustc "$(command -v rustc || true)"; do
  [[ ! -x $rustc || " ${compilers[*]} " == *" $rustc "* ]] || compilers+=("$rustc")
done
((${#compilers[@]})) || echo "SKIPPED  Rust: there is no rustc (Debian: rustc)"
for rustc in "${compilers[@]}"; do
  "$rustc" --edition 2021 -O -D warnings -o "$work/rust" -L "native=$tree/lib" -l static=mmlog -l z -l stdc++ \
    Examples/Rust/service.rs
  check "Rust ($("$rustc" --version | cut -d ' ' -f 2))" "$work/rust"
done

if command -v go >/dev/null; then
  cp -r Examples/Go "$work/go"
  (cd "$work/go" && gofmt -d . && [[ -z $(gofmt -l .) ]] && go vet . &&
    GOFLAGS=-mod=mod CGO_ENABLED=1 go build -o "$work/go-service" .)
  check "Go ($(go version | cut -d ' ' -f 3))" "$work/go-service"
else
  echo "SKIPPED  Go: there is no go (Debian: golang-go)"
fi
exit $failed
