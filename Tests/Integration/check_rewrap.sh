#!/usr/bin/env bash
# Replaces the recipients of an encrypted ring that a process has left. The new recipients have to
# read the ring, and what a recovery or a repair makes of it. The old recipients must read neither.
#
#   check_rewrap.sh [PROGRAMS]     where the programs were built, with the trait Encryption; default .build-libraries/debug
#
# Skipped without age-keygen or encryption, and the script says so. Exit status 1: something is
# wrong.
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=$(realpath "${1:-.build-libraries/debug}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0

command -v age-keygen >/dev/null || { echo "SKIPPED  rewrap: there is no 'age-keygen'; apt-get install age"; exit 0; }
for key in old new; do age-keygen -o "$key.key" 2>errors; done
old=$(age-keygen -y old.key)
new=$(age-keygen -y new.key)
if ! "$programs/mmlog-pipe" -d probe -n probe -r "$old" </dev/null 2>errors; then
  if grep -q 'trait Encryption' errors; then
    echo "SKIPPED  rewrap: $programs is built without encryption"
    exit 0
  fi
  echo "FAILED   rewrap: mmlog-pipe does not log for a recipient: $(head -n 1 errors)"
  exit 1
fi

reads() {  # WHAT, KEY, LOGS, EXPECTED
  local found
  # If a key is missing for something, the status is 1.
  found=$("$programs/mmlog-decode" --identity "$2.key" --format message "$3" 2>errors || (($? == 1)))
  if [[ $found == "$4" ]]; then echo "ok       $1: the $2 recipient reads '${4//$'\n'/, }'"; else
    printf 'FAILED   %s: the %s recipient reads %s in place of %s\n' "$1" "$2" "$found" "$4"
    failed=1
  fi
}

# Kills a process whose ring has two records.
exec 3> >(exec "$programs/mmlog-pipe" --tee -d logs -n test -r "$old" >passed)
writer=$!
printf 'one\ntwo\n' >&3
until [[ $(wc -l 2>/dev/null <passed || true) == 2 ]]; do sleep 0.05; done
kill -KILL "$writer"
exec 3>&-
wait "$writer" 2>/dev/null || true

records=$'one\ntwo'
"$programs/mmlogctl" rewrap --identity old.key -r "$new" logs/*.ring >messages
for key in old new; do
  [[ $key == new ]] && expected=$records || expected=
  reads "the ring" "$key" logs "$expected"
done
"$programs/mmlog-decode" repair -o repaired logs >messages 2>errors || (($? == 1))
"$programs/mmlog-decode" recover logs >messages 2>errors || (($? == 1))
for key in old new; do
  [[ $key == new ]] && expected=$records || expected=
  reads "what was repaired" "$key" repaired "$expected"
  reads "what was recovered" "$key" logs "$expected"
done
exit $failed
