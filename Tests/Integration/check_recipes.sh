#!/usr/bin/env bash
# Checks the files of docs/recipes: manifests by the schema of Kubernetes, YAML by a linter, and the
# table of records in DuckDB.
#
#   check_recipes.sh [PROGRAMS]     where the programs were built; default .build/debug
#
# 'Tools/setup --receivers' installs the checkers. What is not installed is skipped, and the script
# says so. Exit status 1: something is wrong.
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=$(realpath "${1:-.build/debug}")
recipes=$PWD/docs/recipes
judges=$PWD/.build/receivers/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! "$judges/python3" -c 'import duckdb, kubernetes_validate, yamllint' 2>/dev/null; then
  echo "SKIPPED  recipes: run Tools/setup --receivers"
  exit 0
fi

"$judges/yamllint" --strict -d '{extends: default, rules: {line-length: {max: 120}, document-start: disable}}' "$recipes"/*.yaml
"$judges/kubernetes-validate" --strict --quiet "$recipes/kubernetes.yaml"

# Records that come twice are in the table once, and later records are added.
cd "$work"
decode() { [ -s records.jsonl ] || "$programs/mmlog-decode" --json --cursor-file cursor -o records.jsonl logs; }
import() {
  decode
  "$judges/python3" - "$recipes/duckdb.sql" "$1" <<'PYTHON'
import sys
import duckdb

connection = duckdb.connect("records.duckdb")
for _ in range(2):
    connection.execute(open(sys.argv[1]).read())
found = connection.execute("SELECT count(*), count(DISTINCT message), sum((severity = 13)::INT) FROM records").fetchone()
wanted = (int(sys.argv[2]),) * 3
if found != wanted:
    sys.exit(f"recipes: the table has {found} in place of {wanted}")
PYTHON
  rm records.jsonl
}
for run in 1 2 3; do
  seq 1 500 | sed "s/^/WARN run $run line /" | "$programs/mmlog-pipe" -d logs -n service --level-from prefix
  # In the second run, the file is not imported.
  if ((run == 2)); then decode; else import $(((run + 1) / 2 * 500)); fi
done
import 1500
# DuckDB accepts a record of this size only with an option.
{ printf 'WARN '; head -c 9000000 /dev/zero | tr '\0' '"'; echo; } |
  "$programs/mmlog-pipe" -d logs -n service --level-from prefix
import 1501
echo "ok       recipes: YAML, Kubernetes's schema, a table in DuckDB"
