#!/usr/bin/env bash
# Checks that programs of others read what mmlog-decode writes: lnav, DuckDB, pandas, jq, the
# shells, man, OpenTelemetry.
#
#   check_tools.sh DECODE LOGS     the program, and a directory of logs with records of several levels
#
# The Python modules are installed from PyPI into a folder of the build, unless MMLOG_PYTHON names a
# Python that has them. What is not installed is skipped, and the script says so. Exit status 1:
# something is wrong.
set -euo pipefail
decode=$(realpath "$1")
logs=$(realpath "$2")
project=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work
failed=0

run() {  # status 1, which reports losses, is no failure here
  "$decode" --utc "$@" "$logs" 2>/dev/null || (($? == 1))
}

result() {
  if [[ $2 == "$3" ]]; then
    echo "ok       $1"
  else
    printf 'FAILED   %s\n--- expected\n%s\n--- found\n%s\n' "$1" "$2" "$3"
    failed=1
  fi
}

has() {
  command -v "$1" >/dev/null && return
  echo "SKIPPED  $2: there is no '$1'; apt-get install $3"
  return 1
}

run --format json >"$work/log.jsonl"
# Lines of "level,count", made by Python, which is always installed.
levels=$(python3 - "$work/log.jsonl" <<'EOF'
import collections, json, sys
count = collections.Counter(json.loads(line)["severity_text"] for line in open(sys.argv[1]))
print("\n".join(f"{level},{count[level]}" for level in sorted(count)))
EOF
)

if has lnav "lnav" lnav; then
  mkdir -p "$work/lnav/formats/mmlog"
  cp "$project/docs/lnav/mmlog_json.json" "$work/lnav/formats/mmlog/"
  found=$(lnav -I "$work/lnav" -n \
    -c ';SELECT log_level, count(*) FROM mmlog_json GROUP BY log_level ORDER BY log_level' \
    -c ':write-csv-to -' "$work/log.jsonl" | sed 1d | sort)
  result "lnav counts levels" "$levels" "$found"
fi

if has jq "jq" jq; then
  result "jq reads every line" "$(wc -l <"$work/log.jsonl")" "$(jq -s 'map(select(.attributes | type == "object")) | length' "$work/log.jsonl")"
fi

python=${MMLOG_PYTHON:-$project/.build/check-python/bin/python3}
if [[ -z ${MMLOG_PYTHON-} ]] && ! "$python" -c 'import duckdb, opentelemetry.proto, oteltap, pandas' 2>/dev/null; then
  venv=${python%/bin/python3}
  { python3 -m venv --clear "$venv" && timeout 150 "$venv/bin/pip" install --quiet --disable-pip-version-check \
    duckdb pytz opentelemetry-proto oteltap pandas; } >"$work/pip" 2>&1 ||
    echo "SKIPPED  installing duckdb, opentelemetry-proto, oteltap and pandas: $(tail -n 1 "$work/pip")"
fi
if "$python" -c 'import duckdb' 2>/dev/null; then
  found=$("$python" - "$work/log.jsonl" <<'EOF'
import duckdb, sys
rows = duckdb.sql(f"""
  SELECT severity_text, count(*) FROM read_json('{sys.argv[1]}', format = 'newline_delimited')
  WHERE "timestamp" > '2000-01-01' GROUP BY 1 ORDER BY 1""").fetchall()
print("\n".join(f"{level},{count}" for level, count in rows))
EOF
  )
  result "DuckDB counts levels" "$levels" "$found"
else
  echo "SKIPPED  DuckDB: '$python' has no module duckdb; pip install duckdb pytz, and set MMLOG_PYTHON"
fi

if "$python" -c 'import pandas' 2>/dev/null; then
  run --format csv >"$work/log.csv"
  found=$("$python" - "$work/log.jsonl" "$work/log.csv" <<'EOF'
import pandas, sys
lines, table = pandas.read_json(sys.argv[1], lines=True), pandas.read_csv(sys.argv[2], keep_default_na=False)
assert (lines.body == table.body).all() and (lines.time_unix_nano == table.time_unix_nano).all()
assert (pandas.to_datetime(table.timestamp).astype("datetime64[ns, UTC]").astype("int64") == table.time_unix_nano).all()
print("\n".join(f"{level},{count}" for level, count in lines.groupby("severity_text").size().items()))
EOF
  )
  result "pandas counts levels, and reads the same from JSON and CSV" "$levels" "$found"
else
  echo "SKIPPED  pandas: '$python' has no module pandas; pip install pandas, and set MMLOG_PYTHON"
fi

if "$python" -c 'import opentelemetry.proto, oteltap' 2>/dev/null; then
  run --format otlp >"$work/log.otlp.jsonl"
  found=$("$python" "$project/Tests/Integration/otlp_receiver.py" "$work/log.otlp.jsonl")
  expected=$(jq -c '[.severity_text, .body]' "$work/log.jsonl" | sha256sum)
  result "an OTLP receiver has every record" "$expected" "$(jq -c . <<<"$found" | sha256sum)"
else
  echo "SKIPPED  OTLP: '$python' lacks opentelemetry.proto or oteltap; pip install opentelemetry-proto oteltap, and set MMLOG_PYTHON"
fi

for program in "$decode" "$(dirname "$decode")/mmlogctl"; do
  name=$(basename "$program")
  # The texts go to files: here, a program that fails ends the script, but not if it is an argument.
  "$program" --completions bash >"$work/$name.bash"
  "$program" --completions zsh >"$work/_$name"
  "$program" --man >"$work/$name.1"
  result "bash takes the completions of $name" "" "$(bash -n "$work/$name.bash" 2>&1)"
  has zsh "zsh" zsh && result "zsh takes the completions of $name" "" "$(zsh -n "$work/_$name" 2>&1)"
  # A page has no date, so that the same source makes the same page.
  has mandoc "the manual page" mandoc && result "mandoc finds nothing wrong with the manual page of $name" "" \
    "$(mandoc -T lint -W warning "$work/$name.1" 2>&1 | grep -v 'missing date' || true)"
  has groff "the manual page in groff" groff && result "groff finds nothing wrong with the manual page of $name" "" \
    "$(groff -man -Tutf8 -ww "$work/$name.1" 2>&1 >/dev/null)"
done
if has fish "fish" fish; then
  "$decode" --completions fish >"$work/decode.fish"
  result "fish completes a value" "$(printf 'always\nauto\nnever')" \
    "$(fish --no-config -c "source $work/decode.fish; complete -C 'mmlog-decode --color '" | cut -f1 | sort)"
fi
exit "$failed"
