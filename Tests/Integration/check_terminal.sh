#!/usr/bin/env bash
# Follows a log in a real terminal (tmux) while it is written and rotated and other processes begin
# to log. Filters it, and interrupts the decoder. Checks what is shown, that the terminal still
# works, and that no partial file is left.
#
#   check_terminal.sh PROGRAMS     the directory that mmlog-decode and mmlog-pipe were built in
#
# Skipped without tmux, and the script says so. Exit status 1: something is wrong.
set -euo pipefail
programs=$(realpath "$1")
command -v tmux >/dev/null || {
  echo "SKIPPED  the terminal: there is no 'tmux'; apt-get install tmux"
  exit 0
}
work=$(mktemp -d)
# This is a server of its own: sessions of others are not touched.
export TMUX_TMPDIR=$work PATH=$programs:$PATH TZ=UTC LC_ALL=C.UTF-8
unset TMUX
terminal() { tmux -f /dev/null -L mmlog "$@"; }
tidy() {
  exec 3>&- 4>&-
  terminal kill-server 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap tidy EXIT

screen() { terminal capture-pane -p "$@"; }
type_line() { terminal send-keys -l "$1" && terminal send-keys Enter; }

# Waits until a condition holds, at most a minute, because the machine may be busy.
check() {
  for _ in $(seq 600); do
    if eval "$2"; then
      echo "ok       $1"
      return
    fi
    sleep 0.1
  done
  printf 'FAILED   %s; the screen:\n' "$1"
  screen | grep .
  exit 1
}
sees() { check "$2" "screen -S -2000 | grep -qF -- '$1'"; }

log=$work/log
mkfifo "$work/first" "$work/second"
mmlog-pipe -d "$log" -n first --rotation-size 1 <"$work/first" &
exec 3>"$work/first"
# The started programs must not keep the first writer's pipe open.
terminal new-session -d -x 150 -y 40 "env PS1='ready> ' bash --norc --noprofile" 3>&-
sees 'ready>' "a shell"

type_line "mmlog-decode --follow --grep 'mark [0-9]+' $log"
echo 'mark 1 by the first' >&3
sees 'first  mark 1 by the first' "follow shows a record"
check "a day has a line of its own" 'screen | grep -qE "^── [A-Z][a-z]+day [0-9-]{10} ──"'
check "a terminal gets colors" 'screen -e | grep "mark 1" | grep -q $'"'"'\e\[3[0-9]m'"'"

# Writes lines that do not compress, until the archive has been changed twice.
for _ in 1 2 3; do head -c 1200000 /dev/urandom | base64 -w 100 >&3; done
echo 'mark 2 after rotation' >&3
sees 'first  mark 2 after rotation' "follow goes on after rotation"
check "the log was rotated" '(($(ls "$log"/first-*.mmlog | wc -l) > 1))'
check "what the filter leaves out is not shown" '(($(screen | grep -c "first  mark") == 2))'

mmlog-pipe -d "$log" -n second <"$work/second" 3>&- &
exec 4>"$work/second"
echo 'mark 3 by another process' >&4
sees 'second  mark 3 by another process' "follow finds a new process"

terminal send-keys C-c
type_line 'stty -a | grep -o " echo "; echo "alive: $((40 + 2))"'
sees 'alive: 42' "an interruption ends follow"
check "the terminal echoes after it" 'screen | grep -qx " echo *"'

type_line "clear; mmlog-decode -o $work/out.txt --format json $log $work/missing; echo \"status: \$?\""
sees 'status: 1' "a file that is missing is reported, and the rest is written"
check "the output has its name" '[[ -s $work/out.txt && -z $(ls "$work" | grep unfinished) ]]'
rm "$work/out.txt"
archives=("$log"/first-*.mmlog)
type_line "clear; (cat ${archives[0]}; sleep 600) | mmlog-decode -o $work/out.txt -"
check "a file is written that has no name yet" '[[ $(readlink /proc/[0-9]*/fd/* 2>/dev/null) == *"$work"/[#o]* ]]'
terminal send-keys C-c
type_line 'echo "status: $?"'
sees 'status: 130' "an interruption ends writing a file"
check "no half of a file is left" '[[ -z $(ls "$work" | grep -E "out.txt|unfinished") ]]'

exec 3>&- 4>&-
wait
type_line "clear; mmlog-decode --level error --grep mark $log | wc -l; mmlog-decode --grep mark --tail 2 --template '{label}={message}' $log"
sees 'first=mark 2 after rotation' "filters and the last records"
check "no record is an error" 'screen | grep -qx "0 *"'
type_line "clear; mmlog-decode --tail 200 $log; echo \"left: \$?\""
check "a long output is shown page by page" 'screen | grep . | tail -n 1 | grep -q "^:"'
check "the first record is on the first page" 'screen | head -n 1 | grep -q "^── "'
terminal send-keys q
sees 'left: 0' "leaving the pager ends it well"
type_line "clear; PAGER=no-such-pager mmlog-decode --tail 1 --template 'unpaged={message}' $log"
sees 'unpaged=mark 3 by another process' "without its pager, the output is printed"
type_line "clear; PAGER='(no-such-pager)' mmlog-decode $log; echo \"unseen: \$?\""
sees 'unseen: 1' "output that no pager has shown is an error"
mkdir "$work/spool"
pager="trap '' INT; cat"
mkfifo "$work/third"
type_line "clear; TMPDIR=$work/spool PAGER=\"$pager\" mmlog-decode stats $work/third; echo \"summed: \$?\""
exec 5>"$work/third"
cat "${archives[0]}" >&5
check "a summary is read for" '[[ $(readlink /proc/[0-9]*/fd/* 2>/dev/null) == *"$work/spool/"* ]]'
terminal send-keys C-c
check "the signal has been sent" 'screen | grep -qF "^C"'
exec 5>&-
sees 'summed: 1' "an interrupted summary is an error"
sees 'interrupted: this is of nothing' "an interrupted summary says so"
terminal resize-window -x 60
type_line "clear; mmlog-decode --tail 3 $log"
check "lines are wrapped by width" 'screen | grep -qE "^ {8}"'
check "the pager ends where all fits" 'screen | grep . | tail -n 1 | grep -q "^ready>"'
type_line "clear; mmlog-decode sessions --no-pager $log"
check "the table of sessions fits" 'screen | grep -qE "^SESSION +PROCESS +(STARTED +)?RECORDS *$"'
sees 'last record at 20' "what has no room in a row is below it"
terminal resize-window -x 150
type_line "clear; mmlog-decode --no-pager --long --tail 1 $log"
check "on request a line has all" 'screen | grep -qE "^20[0-9T:.-]{27}"'
type_line "clear; mmlog-decode $log | head -n 1; echo \"ended: \${PIPESTATUS[0]}\""
sees 'ended: 0' "a reader that leaves is no error"
