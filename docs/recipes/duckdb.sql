-- A table of records in DuckDB. It takes those that are not in it yet out of records.jsonl:
--
--   [ -s records.jsonl ] || mmlog-decode --json --cursor-file orders.cursor -o records.jsonl /var/log/orders
--   duckdb orders.duckdb < docs/recipes/duckdb.sql && rm records.jsonl
--
-- The cursor is behind what is in the file. So the file is there until it is in the table.
-- A record's uid is its name: no other record ever has it. So a file that comes twice changes nothing.
CREATE TABLE IF NOT EXISTS records (
  uid VARCHAR PRIMARY KEY,
  time TIMESTAMPTZ NOT NULL,
  level VARCHAR NOT NULL,
  severity TINYINT NOT NULL,
  label VARCHAR NOT NULL,
  message VARCHAR NOT NULL,
  fields JSON,
  file VARCHAR,
  line INTEGER,
  trace VARCHAR,
  span VARCHAR,
  duration_ns UBIGINT,
  thread INTEGER,
  service VARCHAR,
  session VARCHAR NOT NULL
);

INSERT OR IGNORE INTO records
SELECT log_record_uid, "timestamp", severity_text, severity_number, scope_name, body, attributes,
  code_file_path, code_line_number, trace_id, span_id, duration_nano, thread_ordinal, service_name,
  session_id
FROM read_json('records.jsonl', format = 'newline_delimited', maximum_object_size = 134217728, columns = {
  log_record_uid: 'VARCHAR', "timestamp": 'TIMESTAMPTZ', severity_text: 'VARCHAR',
  severity_number: 'TINYINT', scope_name: 'VARCHAR', body: 'VARCHAR', attributes: 'JSON',
  code_file_path: 'VARCHAR', code_line_number: 'INTEGER', trace_id: 'VARCHAR', span_id: 'VARCHAR',
  duration_nano: 'UBIGINT', thread_ordinal: 'INTEGER', service_name: 'VARCHAR',
  session_id: 'VARCHAR'
});
