#!/usr/bin/env bash
# Checks mmlog-ship with real receivers, with faults between, with nginx in front, and beside
# services that are killed.
#
#   check_ship.sh PROGRAMS
#
# What is not installed is skipped, and the script says so. Exit status 1: something is wrong.
set -euo pipefail
programs=$(realpath "$1")
project=$(cd "$(dirname "$0")/../.." && pwd)
ship=$programs/mmlog-ship
if [[ ! -x $ship ]]; then
  echo "SKIPPED  mmlog-ship: it was not built; Tools/setup --ship, and build with MMLOG_SHIP=1"
  exit 0
fi
work=$(mktemp -d)
children=()
trap 'for child in ${children[@]+"${children[@]}"}; do kill -KILL "$child" 2>/dev/null || true; done; rm -rf "$work"' EXIT
python=${MMLOG_PYTHON:-$project/.build/receivers/bin/python3}
failed=0

nothing=$(sha256sum </dev/null)  # two commands that print nothing have this checksum
result() {
  if [[ $2 == "$3" && $3 != "$nothing" ]]; then
    echo "ok       $1"
  else
    printf 'FAILED   %s\n--- expected\n%s\n--- found\n%s\n' "$1" "$2" "$3"
    failed=1
  fi
}

until_there() {  # FILE: waits up to five minutes until another process makes the file
  local tries=0
  until [[ -e $1 ]]; do
    ((++tries < 30000)) || { echo "FAILED   $1 does not come"; exit 1; }
    sleep 0.01
  done
}

receive() {  # NAME KIND [FAULT…]: starts a receiver, and stores its URL in $url
  mkdir "$work/$1"
  "$python" "$project/Tests/Integration/ship_receiver.py" "$work/$1" "${@:2}" &
  children+=($!)
  until_there "$work/$1/port"
  url=http://127.0.0.1:$(<"$work/$1/port")
}

ids() { "$programs/mmlog-decode" --format json "$@" 2>/dev/null | grep -o '"log_record_uid":"[^"]*"' | cut -d'"' -f4 | sort; }

log() {  # DIRECTORY COUNT
  seq "$2" | sed 's/^/line /' | "$programs/mmlog-pipe" -d "$1" -n service
}

[[ -x $python ]] || python=python3
log "$work/logs" 30000
expected=$(ids "$work/logs" | sha256sum)

if "$python" -c 'import opentelemetry.proto' 2>/dev/null; then
  receive otlp otlp
  "$ship" --once --to "otlp+$url" "$work/logs"
  result "a receiver of OTLP has every record once" "$expected" "$(sort "$work/otlp/ids" | sha256sum)"
  "$ship" --once --to "otlp+$url" "$work/logs"
  result "the second time, nothing goes" "$expected" "$(sort "$work/otlp/ids" | sha256sum)"
  receive faults otlp 503 late close lost half 500 twice 429 lie slow 502 never 504
  "$ship" --once --to "otlp+$url" --set timeout=2 --set retry-limit=1 --set batch-records=2000 "$work/logs" 2>"$work/errors" || true
  result "with a receiver that breaks, is late, lies and repeats, every record is there" "$expected" \
    "$(sort -u "$work/faults/ids" | sha256sum)"
  echo "         $(($(wc -l <"$work/faults/ids") - 30000)) were there more than once"
else
  echo "SKIPPED  OTLP: '$python' has no module opentelemetry.proto; Tools/setup --receivers"
fi

receive some lines
what=$("$ship" --check --to "$url" "$work/logs")
result "--check lists what would be sent" 1 "$(grep -c '^  session [0-9a-f-]*: 30000 records$' <<<"$what")"
time=$("$programs/mmlog-decode" --format json "$work/logs" | sed -n 20000p | grep -o '"timestamp":"[^"]*"' | cut -d'"' -f4)
for _ in 1 2; do "$ship" --since "$time" --to "$url" "$work/logs"; done
result "--since sends what was logged from then on, once" "$(ids --since "$time" "$work/logs" | sha256sum)" \
  "$(sort "$work/some/ids" | sha256sum)"
"$ship" --once --to "$url" "$work/logs"
result "what was sent so is noted apart" "$expected" "$(sort -u "$work/some/ids" | sha256sum)"
what=$("$ship" --check --to "$url" "$work/logs")
result "then nothing would be sent" 1 "$(grep -c '^  nothing would be sent$' <<<"$what")"

# Runs mmlog-ship as its unit does: as root with few capabilities, beside a service of another user.
if ((EUID == 0)) && command -v setpriv >/dev/null; then
  capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' "$project/docs/systemd/mmlog-ship.service" | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
  log "$work/others" 1000
  chown -R 12345:12345 "$work/others"
  receive confined lines
  setpriv --bounding-set "-all,$capabilities" "$ship" --once --to "$url" "$work/others"
  result "with the capabilities of its unit, it sends the log of another user's service" \
    "$(ids "$work/others" | sha256sum)" "$(sort "$work/confined/ids" | sha256sum)"
  result "what it notes there is that user's" 12345 "$(stat -c %u "$work/others"/*.consumer)"
else
  echo "SKIPPED  the capabilities of its unit: this needs root, and setpriv"
fi

receive lines lines
if command -v nginx >/dev/null && command -v openssl >/dev/null; then
  (cd "$work" && for name in ca server client; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$name" -keyout "$name.key" -out "$name.pem" \
      -addext 'subjectAltName=IP:127.0.0.1'
  done) 2>/dev/null
  # nginx does not report which port it took. Only a program that asks for this port by its number
  # gets it, and nobody listens there.
  python3 - "$work/held" <<'EOF' &
import os, signal, socket, sys
held = socket.socket()
held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
held.bind(("127.0.0.1", 0))
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(held.getsockname()[1]))
os.replace(sys.argv[1] + ".new", sys.argv[1])
signal.pause()
EOF
  children+=($!)
  until_there "$work/held"
  port=$(<"$work/held")
  ((EUID)) || echo 'user root;' >"$work/nginx.conf"  # otherwise its workers could not write here
  cat >>"$work/nginx.conf" <<EOF
daemon off; master_process off; pid $work/nginx.pid; error_log $work/nginx.log; events {}
http {
  access_log off; client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/f; uwsgi_temp_path $work/u; scgi_temp_path $work/s;
  client_max_body_size 64m; client_body_buffer_size 16m;
  server {
    listen 127.0.0.1:$port ssl; ssl_certificate $work/server.pem; ssl_certificate_key $work/server.key;
    ssl_client_certificate $work/client.pem; ssl_verify_client on;
    location / { proxy_pass $url; }
  }
  server { listen unix:$work/socket; location / { proxy_pass $url; } }
}
EOF
  nginx -c "$work/nginx.conf" 2>/dev/null &
  children+=($!)
  until_there "$work/socket"
  cat >"$work/ship.conf" <<EOF
[destination tls]
url = https://127.0.0.1:$port/logs
ca-file = $work/server.pem
certificate-file = $work/client.pem
key-file = $work/client.key

[destination socket]
url = http://logs/
unix-socket = $work/socket

[directory $work/logs]
to = tls
to = socket
EOF
  "$ship" --once --config "$work/ship.conf"
  result "nginx takes records over TLS with a client's certificate, and by a Unix socket" 60000 "$(wc -l <"$work/lines/ids")"
  result "both have every record" "$expected" "$(sort -u "$work/lines/ids" | sha256sum)"
else
  echo "SKIPPED  nginx: there is no 'nginx'; Tools/setup --receivers"
fi

printf '[destination a]\nurl = otlp+http://x\n  tokn-file = y\n' >"$work/wrong.conf"
message=$("$ship" --config "$work/wrong.conf" 2>&1 || echo "status $?")
result "an error of the configuration has its line and column" \
  "mmlog-ship: $work/wrong.conf:3:15: there is no setting 'tokn-file'" "$(head -n 1 <<<"$message")"

# A service is killed. Soon after, the receiver has the records of its ring.
receive orphans lines
mkfifo "$work/fifo"
"$programs/mmlog-pipe" -d "$work/killed" -n service <"$work/fifo" &
killed=$!
children+=("$killed")
exec 4>"$work/fifo"
seq 1000 | sed 's/^/last /' >&4
until [[ $("$programs/mmlog-decode" --format message "$work/killed" 2>/dev/null | tail -n 1) == "last 1000" ]]; do sleep 0.01; done
kill -KILL "$killed"
exec 4>&-
began=$(date +%s%N)
"$ship" --orphans --to "$url" "$work/killed"
echo "         $((($(date +%s%N) - began) / 1000000)) ms from death to the receiver"
result "the last records of a killed service are at the receiver" "$(ids "$work/killed" | sha256sum)" \
  "$(sort "$work/orphans/ids" | sha256sum)"

# mmlog-ship runs as a service: it reports that it is ready, sends what comes, and ends in time.
receive service lines
python3 - "$work/notify" "$work/states" <<'EOF' &
import os, socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
while True:
    states = listener.recv(4096).decode()
    with open(sys.argv[2] + ".new", "a") as file:
        file.write(states + "\n")
    if "READY=1" in states or "STOPPING=1" in states:
        os.replace(sys.argv[2] + ".new", sys.argv[2])
EOF
children+=($!)
until_there "$work/notify"
mkdir "$work/live"
NOTIFY_SOCKET=$work/notify "$ship" --to "$url" "$work/live" &
service=$!
children+=("$service")
until_there "$work/states"
result "systemd hears that it is ready" "READY=1" "$(head -n 1 "$work/states")"
log "$work/live" 5000
kill -TERM "$service"
status=0
wait "$service" || status=$?
result "SIGTERM ends it well" 0 "$status"
result "what was logged before is at the receiver" "$(ids "$work/live" | sha256sum)" "$(sort "$work/service/ids" | sha256sum)"
result "the balance has no hole" 0 "$("$ship" reconcile --to "$url" "$work/live" >/dev/null && echo 0)"

# Whole archives that a receiver refuses are not forgotten.
python3 - "$work/put" <<'EOF' &
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201 if os.path.exists(sys.argv[1] + ".takes") else 422)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.server_port))
os.replace(sys.argv[1] + ".new", sys.argv[1] + ".port")
server.serve_forever()
EOF
children+=($!)
until_there "$work/put.port"
put=put+http://127.0.0.1:$(<"$work/put.port")/archives
log "$work/whole" 1000
status_of() { local status=0; "$@" >"$work/said" 2>&1 || status=$?; echo "$status"; }
result "a refused archive is an error" 1 "$(status_of "$ship" --once --to "$put" "$work/whole")"
touch "$work/put.takes"
result "also the next time" 1 "$(status_of "$ship" --once --to "$put" "$work/whole")"
result "its status says so" 1 "$(status_of "$ship" status "$work/whole")"
result "a retry sends it" "0 1 archives sent, 0 refused" "$(status_of "$ship" retry --to "$put" "$work/whole") $(sed 's/.*: //' "$work/said")"
result "then its status says that" "0 1 archives sent whole, 0 wait" "$(status_of "$ship" status "$work/whole") $(sed 's/.*: //' "$work/said")"
result "numbers of records are not to be had of it" 2 "$(status_of "$ship" reconcile --to "$put" "$work/whole")"
result "a directory has one destination of whole archives" 2 "$(status_of "$ship" --once --to "$put" --to "$put/b" "$work/whole")"

"$ship" --man >"$work/mmlog-ship.1"
command -v groff >/dev/null && result "groff finds nothing wrong with the manual page" "" "$(groff -man -Tutf8 -ww "$work/mmlog-ship.1" 2>&1 >/dev/null)"
"$ship" --completions bash >"$work/mmlog-ship.bash"
result "bash takes the completions" "" "$(bash -n "$work/mmlog-ship.bash" 2>&1)"
exit "$failed"
