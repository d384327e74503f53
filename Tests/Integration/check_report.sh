#!/usr/bin/env bash
# Checks the page of a report. In Node.js, checks what the page's script does. In a headless
# Chromium, checks that the page reads all its records and runs nothing that was logged, and takes
# pictures of the page.
#
#   check_report.sh DECODE LOGS DIRECTORY     screenshots go into the directory: light.png, dark.png, phone.png
#
# Skipped without Node.js or Chromium, and the script says so. Exit status 1: something is wrong.
set -euo pipefail
decode=$(realpath "$1")
logs=$(realpath "$2")
pictures=$(realpath "$3")
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if node -e 'require("node:test")' 2>/dev/null; then
  timeout 120 node "$here/check_report.mjs" "$here/../../Sources/MMLogReport/Page/report.js" >"$work/tests" 2>&1 || {
    cat "$work/tests"
    exit 1
  }
  echo "ok       the script of the report's page passes its tests"
else
  echo "SKIPPED  the script of the report's page: there is no 'node' of version 18 or later; apt-get install nodejs"
fi
command -v chromium >/dev/null || {
  echo "SKIPPED  the report: there is no 'chromium'; apt-get install chromium"
  exit 0
}
"$decode" report --utc --output "$work/report.html" "$logs" 2>/dev/null || (($? == 1))

browse() {
  timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" \
    --window-size="${size:-1400,900}" --virtual-time-budget=20000 --enable-logging=stderr "$@" \
    "file://$work/report.html${fragment-}" 2>"$work/log"
}

browse --dump-dom >"$work/dom"
fragment='#record=5' browse --dump-dom >"$work/record"
browse --screenshot="$pictures/light.png" >/dev/null
browse --blink-settings=preferredColorScheme=0 --screenshot="$pictures/dark.png" >/dev/null
size=390,844 browse --screenshot="$pictures/phone.png" >/dev/null
python3 - "$work/dom" "$work/log" "$work/record" <<'EOF'
import re, sys
dom, log, record = (open(path, encoding="utf-8", errors="replace").read() for path in sys.argv[1:])
ready = re.search(r'data-ready="(\d+)"', dom)
assert ready and int(ready[1]) > 0, "the page did not get ready"
assert not re.search(r"CONSOLE.*(Uncaught|Refused|Error)", log), log
assert re.search(r"<title>[^<]*: log report</title>", dom), "the title is another: something that was logged has run"
assert "<img" not in dom, "something that was logged became an element"
rows = dom.count('role="row"')
assert 0 < rows < 100, f"{rows} rows are in the document, not only those that can be seen"
assert re.search(r'class="row [^>]*aria-selected="true"', record), "the address does not lead to a record"
assert "Copy JSON" in record, "the record of the address is not shown whole"
print(f"ok       the report shows {ready[1]} records, {rows} rows at a time")
EOF
