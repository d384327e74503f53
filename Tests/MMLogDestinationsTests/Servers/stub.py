"""A stand-in with the rules of Elasticsearch's bulk API or of Loki's push API.

    stub.py FOLDER elasticsearch|loki [--tls CERTIFICATE KEY -]

FOLDER/port gets the port. FOLDER/stored gets a line of JSON for each new document or entry, and
FOLDER/requests a line for each POST.

Elasticsearch: a document whose id is known gets 409. A document with the attribute "poison" gets
400. In each fifth request, the second document gets 429, and is not stored. A body that does not
end with a line end gets 400.

Loki: a known entry (same stream, time, line) is dropped. An entry of more than 256 KiB is refused,
and so is an entry that is older than a week, or an hour older than the newest one of its stream.
Then the whole answer is 400, but other entries are stored. A push of more than 4 MiB gets 500, as
from the server behind Loki's HTTP server. Invalid labels get 400, and nothing is stored.
"""

import datetime
import json
import re
import sys
import threading
import time

import serving

folder, kind = sys.argv[1:3]
lock = threading.Lock()
known = set()
newest = {}  # the newest time of each stream
requests = 0


def store(entry):
    with open(f"{folder}/stored", "a") as file:
        file.write(json.dumps(entry) + "\n")


def rfc3339(seconds):
    return datetime.datetime.fromtimestamp(int(seconds), datetime.timezone(datetime.timedelta(hours=2))).isoformat()


def elasticsearch(path, body):
    global requests
    requests += 1
    if not path.split("?")[0].endswith("/_bulk") or not body.endswith(b"\n"):
        return 400, {"error": {"type": "illegal_argument_exception", "reason": "The bulk request must be terminated by a newline"}}
    lines, items = body.decode().split("\n")[:-1], []
    for number, (action, document) in enumerate(zip(lines[::2], lines[1::2])):
        name, document = json.loads(action)["create"]["_id"], json.loads(document)
        assert "@timestamp" in document and "timestamp" not in document
        if number == 1 and requests % 5 == 0:
            items.append({"create": {"status": 429, "error": {"type": "es_rejected_execution_exception", "reason": "full"}}})
        elif name in known:
            items.append({"create": {"status": 409, "error": {"type": "version_conflict_engine_exception", "reason": "exists"}}})
        elif "poison" in document["attributes"]:
            items.append({"create": {"status": 400, "error": {
                "type": "document_parsing_exception", "reason": "failed to parse field [poison]",
                "caused_by": {"type": "x", "reason": "For input string: \"\\u00e9\""}}}})
        else:
            known.add(name)
            store(document)
            items.append({"create": {"status": 201}})
    return 200, {"errors": any("error" in i["create"] for i in items), "items": items}


def loki(path, body):
    assert path == "/loki/api/v1/push"
    problems = []
    streams = json.loads(body)["streams"]
    size = sum(len(line.encode()) for stream in streams for _, line in stream["values"])
    if size > 4 << 20:
        return 500, f"rpc error: code = ResourceExhausted desc = grpc: received message larger than max ({size} vs. {4 << 20})"
    for stream in streams:
        labels = json.dumps(stream["stream"], sort_keys=True)
        if not all(re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name) for name in stream["stream"]):
            return 400, f"Error parsing labels '{labels}' with error: 1:2: parse error: unexpected character"
        for nanoseconds, line in stream["values"]:
            key = (labels, nanoseconds, line)
            if len(line) > 256 << 10:
                problems.append("Max entry size '262144' bytes exceeded")
            elif int(nanoseconds) < (time.time() - 7 * 86400) * 1e9:
                entry, oldest = rfc3339(int(nanoseconds) / 1e9), rfc3339(time.time() - 7 * 86400)
                problems.append(f"entry for stream '{labels}' has timestamp too old: {entry}, oldest acceptable timestamp is: {oldest}")
            elif int(nanoseconds) < newest.get(labels, 0) - 3600 * 1_000_000_000:
                problems.append("entry too far behind")
            elif key not in known:
                known.add(key)
                newest[labels] = max(newest.get(labels, 0), int(nanoseconds))
                store(json.loads(line))
    return (400, "; ".join(problems)) if problems else (204, "")


class Handler(serving.Handler):
    def do_GET(self):
        self.answer(200, json.dumps({"tagline": "a stub"}))

    def do_POST(self):
        body = self.plain_body()
        with lock:
            with open(f"{folder}/requests", "a") as file:
                file.write(f"{self.path}\n")
            status, content = {"elasticsearch": elasticsearch, "loki": loki}[kind](self.path, body)
        self.answer(status, content if isinstance(content, str) else json.dumps(content))


serving.serve(folder, serving.Server(("127.0.0.1", 0), Handler), sys.argv)
