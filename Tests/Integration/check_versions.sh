#!/usr/bin/env bash
# Checks files of other versions in a live directory. Stores go on with logs of an earlier version,
# also in turns. A file of a later version is refused with a message, and stays as it is.
#
#   check_versions.sh [PROGRAMS [OLDER]]
#
#   PROGRAMS  the directory that mmlog-decode, mmlogctl and mmlog-pipe were built in; default .build/debug
#   OLDER     the directory with an earlier release's mmlog-decode and mmlog-pipe, such as bin of its
#             Tools/release; default PROGRAMS. Both take turns in one directory, and each kills the
#             other's writer.
#
# Exit status 1: something is wrong.
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=$(realpath "${1:-.build/debug}")
older=$(realpath "${2:-$programs}")
golden=$(realpath Tests/Golden)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0

check() {  # WHAT, COMMAND…
  if "${@:2}"; then echo "ok       $1"; else
    echo "FAILED   $1"
    failed=1
  fi
}
# Some files have corruption, which is reported on standard error. A shell cannot keep zero bytes.
messages() { { "$1/mmlog-decode" --format message "$2" 2>>errors || true; } | tr '\0' '\n' | LC_ALL=C sort; }
same() { cmp <(printf '%s\n' "$1") <(printf '%s\n' "$2"); }

# ---- Files of releases do not change, so readers are tested with the same files.

check "golden files are those of their release" bash -c "cd '$golden' && sha256sum --check --quiet released.sha256"

# ---- Earlier versions: a store goes on in each directory of golden files.

for folder in "$golden"/*/; do
  name=$(basename "$folder")
  mkdir "$name"
  cp "$folder"/*.mmlog "$name"
  cp "$folder"/*.ring "$name" 2>/dev/null || true
  before=$(messages "$programs" "$name")
  lines="gone on with by $name, 1"$'\n'"gone on with by $name, 2"
  # Runs twice: the second store finds what the first one has recovered.
  for line in 1 2; do echo "gone on with by $name, $line" | "$programs/mmlog-pipe" -d "$name" -n golden; done
  rings=("$name"/*.ring)
  check "$name: no ring is left to be recovered" test ! -e "${rings[0]}"
  after=$(messages "$programs" "$name")
  check "$name: what was there is there, and what came" \
    same "$(LC_ALL=C sort <<<"$before"$'\n'"$lines" | sed '/^$/d')" "$(LC_ALL=C sort <<<"$after" | sed '/^$/d')"
done

# ---- In turns with an earlier release.

expected=
begin() {  # PROGRAMS, LINE: makes a writer log a line, and leaves it running
  exec 3> >(exec "$1/mmlog-pipe" --tee -d turns -n turns >passed)
  writer=$!
  echo "$2" >&3
  # mmlog-pipe passes on a line when it has kept the line.
  until [[ -s passed ]]; do sleep 0.05; done
  expected+="$2"$'\n'
}
finish() {  # SIGNAL
  kill "-$1" "$writer"
  exec 3>&-
  wait "$writer" 2>/dev/null || true
  rm -f passed
}
for round in 1 2; do
  for turn in older programs; do
    for signal in KILL TERM; do
      begin "${!turn}" "round $round, $turn, ended by SIG$signal"
      for reader in older programs; do
        check "round $round: $turn writes, $reader reads" same "${expected%$'\n'}" "$(messages "${!reader}" turns)"
      done
      finish $signal
    done
  done
  expected=$(LC_ALL=C sort <<<"${expected%$'\n'}")$'\n'
done

# ---- A later version. Not version 3: it differs from 2 by one bit, which a reader would correct.

mkdir later
archive=golden-20251121T090000Z-00010203040506070b090a0b0c0d0e0f-000001.mmlog
ring=golden.00010203040506070a090a0b0c0d0e0f.ring
for file in $archive $ring; do
  cp "$golden/v2/$file" later/
  printf '\x09' | dd of="later/$file" bs=1 seek=8 conv=notrunc status=none
done
# This file has a known version. The refused files beside it do not prevent that it is read.
cp "$golden"/v2/*-00010203040506070c090a0b0c0d0e0f-*.mmlog later/
touch -d '2025-11-21 10:00:00' later/*
state() { stat -c '%n %s %Y %a' "later/$archive" "later/$ring" && sha256sum "later/$archive" "later/$ring"; }
first=$(state)

refused() {  # STATUS, FILES, COMMAND…: it names each file with the reason, and changes none
  local status=0 file
  "${@:3}" >output 2>said || status=$?
  if ((status != $1)); then
    echo "status $status, and not $1"
    return 1
  fi
  for file in $2; do
    if [[ -z $(grep -F "$file cannot be read: it was written by a newer version of mmlog" said) ]]; then
      cat said
      return 1
    fi
  done
  same "$first" "$(state)"
}
both="$archive $ring"
for command in "" verify inspect stats sessions crash "repair -o repaired"; do
  # shellcheck disable=SC2086 # words, on purpose
  check "later: mmlog-decode $command" refused 1 "$both" "$programs/mmlog-decode" $command later
done
check "later: mmlog-decode of it alone" refused 3 "$archive" "$programs/mmlog-decode" "later/$archive"
check "later: mmlog-decode recover" refused 1 "$ring" "$programs/mmlog-decode" recover later
check "later: mmlogctl status" refused 1 "$ring" "$programs/mmlogctl" status later
for command in pin unpin uploaded; do
  check "later: mmlogctl $command" refused 1 "$archive" "$programs/mmlogctl" $command "later/$archive"
done
check "later: a writer beside it" refused 0 "$ring" "$programs/mmlog-pipe" -d later -n golden <<<"beside a later version"
check "later: what was written beside it is read" \
  test -n "$(messages "$programs" later | grep -x 'beside a later version')"
# Limits do not count files of a later version, and delete only other files.
check "later: mmlogctl prune" refused 0 "" "$programs/mmlogctl" prune --age 1d later
check "later: which has deleted what it knows" test "$(find later -name '*-00010203040506070c*' | wc -l)" == 0
exit $failed
