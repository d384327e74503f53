"""Receives what mmlog-ship sends, with faults if requested, and notes the names of stored records.

    ship_receiver.py FOLDER otlp|lines [FAULT…]

FOLDER/port gets the port, and FOLDER/ids a line with the name of each stored record. Each request
gets the next fault of the list; after the list, there are no faults. The faults: 400, 429, 500,
502, 503, 504 (answered without storing), late (half a second), never (until the client gives up),
half (of the answer, after storing), close (instead of an answer, before storing), lost (the same
after storing), twice (stored twice), lie (a partial success that refuses more records than there
were), slow (an answer byte by byte), ok. OTLP is read with the definitions that OpenTelemetry
publishes.
"""

import gzip
import http.server
import json
import os
import sys
import threading
import time

folder, kind = sys.argv[1:3]
faults = sys.argv[3:]
lock = threading.Lock()

if kind == "otlp":
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse


def names(body):
    if kind == "lines":
        return [json.loads(line)["log_record_uid"] for line in body.splitlines()]
    request = ExportLogsServiceRequest()
    request.ParseFromString(body)
    return [
        pair.value.string_value
        for resource in request.resource_logs for scope in resource.scope_logs for record in scope.log_records
        for pair in record.attributes if pair.key == "log.record.uid"
    ]


def store(body):
    with lock, open(f"{folder}/ids", "a") as file:
        file.writelines(f"{name}\n" for name in names(body))


def lie():
    response = ExportLogsServiceResponse()
    response.partial_success.rejected_log_records = 1 << 40
    response.partial_success.error_message = "a lie"
    return response.SerializeToString()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if not body or self.path.endswith("/v1/traces"):
            return self.answer(200, b"")
        with lock:
            fault = faults.pop(0) if faults else "ok"
        if fault.isdigit():
            return self.answer(int(fault), b"as planned", {"Retry-After": "0"} if fault == "503" else {})
        if fault == "close":
            self.close_connection = True
            return
        if fault == "never":
            self.rfile.read(1)
            self.close_connection = True
            return
        if fault == "late":
            time.sleep(0.5)
        store(body)
        if fault == "twice":
            store(body)
        if fault == "lost":
            self.close_connection = True
            return
        content = lie() if fault == "lie" else b""
        if fault in ("half", "slow"):
            content = b"\0" * 20
        self.answer(200, content, {}, fault)

    def answer(self, status, content, headers={}, fault="ok"):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        for index, byte in enumerate(content):
            if fault == "half" and index == 10:
                self.close_connection = True
                return
            self.wfile.write(bytes([byte]))
            if fault == "slow":
                self.wfile.flush()
                time.sleep(0.02)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(f"{folder}/port.new", "w") as file:
    file.write(str(server.server_port))
os.rename(f"{folder}/port.new", f"{folder}/port")
server.serve_forever()
