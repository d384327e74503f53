"""An HTTP interface for ClickHouse's engine, which the module chdb runs in this process. So the types
and settings are current ones, and the table's deduplication window drops a batch that comes again.
The interface is written for the tests. The engine is the real one.

    clickhouse.py FOLDER [USER PASSWORD-FILE]

Accepts the part of the server's HTTP interface that the tests need: the parameter `query`, settings
as other parameters, a body in gzip, and basic authentication. FOLDER/port gets the port.
"""

import base64
import os
import re
import sys
import tempfile
import threading
import urllib.parse

from chdb import session

import serving

folder, *owner = sys.argv[1:]
engine = session.Session(f"{folder}/data")
lock = threading.Lock()
# The interface's own parameters. All others are settings.
OWN = {"query", "database", "wait_end_of_query"}
INSERT = re.compile(r"^(INSERT INTO .*) FORMAT (\w+)$", re.DOTALL)


def run(statement):
    with lock:
        result = engine.query(statement, "TabSeparated")
        return result.bytes() or b""


def with_settings(settings):
    def literal(value):
        return value if value.isdigit() else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return " SETTINGS " + ", ".join(f"{name} = {literal(value)}" for name, value in settings) if settings else ""


def handle(parameters, body):
    """Runs a request's statement. The engine reads the data of an insert from a file."""
    query = dict(parameters).get("query", "")
    settings = with_settings([pair for pair in parameters if pair[0] not in OWN])
    insert = INSERT.match(query)
    if not insert:
        statement = "\n".join(part for part in (query, body.decode()) if part)
        return run(statement + settings)
    with tempfile.NamedTemporaryFile(dir=folder) as data:
        data.write(body)
        data.flush()
        return run(f"{insert[1]} FROM INFILE '{data.name}'{settings} FORMAT {insert[2]}")


class Handler(serving.Handler):
    def handle_any(self):
        body = self.plain_body()
        if owner and self.headers.get("Authorization") != expected():
            return self.answer(403, "Code: 516. DB::Exception: Authentication failed")
        try:
            parameters = urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query, keep_blank_values=True)
            self.answer(200, handle(parameters, body))
        except Exception as error:  # any error of the engine
            text = re.sub(r"^.*?(?=Code: \d+)", "", str(error), flags=re.DOTALL)
            code = re.match(r"Code: (\d+)", text)
            headers = {"X-ClickHouse-Exception-Code": code[1]} if code else {}
            self.answer(404 if code and code[1] == "60" else 500, text, headers)

    do_GET = do_POST = handle_any


def expected():
    with open(owner[1]) as file:
        return "Basic " + base64.b64encode(f"{owner[0]}:{file.read().strip()}".encode()).decode()


os.umask(0o077)
serving.serve(folder, serving.Server(("127.0.0.1", 0), Handler))
