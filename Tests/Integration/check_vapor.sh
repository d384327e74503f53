#!/usr/bin/env bash
# Builds the example for Vapor. Sends it a request and ends it by SIGTERM, sends it a request and
# kills it, and reads its log.
#
#   check_vapor.sh [PROGRAMS]     where mmlog-decode was built; default .build/debug
#
# Exit status 1: something is wrong. Skipped where the packages cannot be fetched: see
# Tools/with-packages.
set -euo pipefail
cd "$(dirname "$0")/../.."
decode=$(realpath "${1:-.build/debug}")/mmlog-decode
build=$PWD/.build-vapor
rm -f "$build/debug/orders"  # else an older build would run if the packages cannot be fetched
Tools/with-packages swift build --package-path Examples/VaporServer --scratch-path "$build"
[[ -x $build/debug/orders ]] || exit 0
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill -KILL "$server" || true; rm -rf "$work"' EXIT
export LOGS_DIRECTORY=$work/logs SWIFT_BACKTRACE=enable=no
failed=0

is() {  # WHAT, EXPECTED, FOUND
  if [[ $3 == "$2" ]]; then echo "ok       $1"; else
    printf 'FAILED   %s: "%s" and not "%s"\n' "$1" "$3" "$2"
    failed=1
  fi
}

for order in 7 8; do
  "$build/debug/orders" serve --unix-socket "$work/socket" &
  server=$!
  until [[ -S $work/socket ]]; do
    kill -0 "$server"
    sleep 0.1
  done
  answer=$(curl --silent --show-error --max-time 60 --unix-socket "$work/socket" "http://localhost/orders/$order")
  kill -"$([[ $order == 7 ]] && echo TERM || echo KILL)" "$server"
  status=0
  { wait "$server"; } 2>/dev/null || status=$?
  server=
  rm -f "$work/socket"
  is "order $order: answer and end" "order $order, $([[ $order == 7 ]] && echo 0 || echo 137)" "$answer, $status"
  found=$("$decode" --where "order == $order && request-id != nil" --format message "$LOGS_DIRECTORY" 2>/dev/null || true)
  is "order $order: record of the request" "order is read" "$found"
done
endings=$("$decode" sessions --json "$LOGS_DIRECTORY" 2>/dev/null | grep -o '"ending":"[a-z]*"' | tr -d '\n' || true)
is "how they ended" '"ending":"closed""ending":"killed"' "$endings"
exit $failed
