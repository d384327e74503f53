#!/usr/bin/env bash
# Checks the decoder with the programs around it: a terminal, programs of others, a browser. Checks
# files of other versions, and the parts in C on another processor.
#
#   check_all.sh [PROGRAMS]     where the programs were built; default .build/debug
#
# Installs tmux and lnav where apt-get can. What is not installed is skipped, and the script says
# so. Exit status 1: something is wrong.
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=$(realpath "${1:-.build/debug}")
work=$(mktemp -d)
trap 'cat "$work/beside" 2>/dev/null || true; rm -rf "$work"' EXIT

missing=()
for program in tmux lnav; do command -v "$program" >/dev/null || missing+=("$program"); done
if ((${#missing[@]} && EUID == 0)) && command -v apt-get >/dev/null; then
  DEBIAN_FRONTEND=noninteractive timeout 60 sh -c \
    'apt-get -q update && apt-get -q install --yes --no-install-recommends "$@"' - "${missing[@]}" >"$work/apt" 2>&1 ||
    echo "SKIPPED  installing ${missing[*]}: $(tail -n 1 "$work/apt")"
fi

for level in debug info warning error; do
  for number in {1..200}; do echo "$level line $number <img src=x onerror=document.title=1> {\"a\": $number}"; done |
    "$programs/mmlog-pipe" -d "$work/logs" -n service -l "$level" --label "tests.$level"
done
mkdir "$work/pictures"
failed=0
check() {  # SCRIPT, its arguments
  timeout --kill-after 5 300 "Tests/Integration/check_$1.sh" "${@:2}" || failed=1
}
# These run beside the others: most of them wait, and none takes more than one processor.
{
  check ship "$programs"
  check recipes "$programs"
  check arm64
  exit $failed
} >"$work/beside" 2>&1 &
beside=$!
check terminal "$programs"
check tools "$programs/mmlog-decode" "$work/logs"
check report "$programs/mmlog-decode" "$work/logs" "$work/pictures"
check versions "$programs"
# Default builds have no encryption. Of the builds for tests, the one with libraries has it.
encrypting=$programs
if (($# == 0)) && [[ -x .build-libraries/debug/mmlog-pipe ]]; then encrypting=.build-libraries/debug; fi
check rewrap "$encrypting"
wait $beside || failed=1
exit $failed
