"""An HTTP server that gives planned answers, and notes each request.

    receiver.py FOLDER [--unix] [--tls CERTIFICATE KEY CLIENTS]

FOLDER/plan has the answers as lines of JSON: {"status": 200, "headers": {}, "body": "base64",
"fault": ""}. The last answer is repeated. Faults: "close" (before an answer), "half" (of the body),
"never", "late" (after 7 s), "held" (until FOLDER/go is there), "stalled" (after half of the body),
"slow" (byte by byte), "large".
FOLDER/requests gets a line of JSON for each request. FOLDER/port gets the port when the server is
ready.
"""

import base64
import json
import os
import socket
import socketserver
import sys
import threading
import time
import zlib

import serving

folder = sys.argv[1]
plan = [json.loads(line) for line in open(f"{folder}/plan")]
lock = threading.Lock()


class Handler(serving.Handler):
    def handle_any(self):
        body = self.body()
        encoding = self.headers.get("Content-Encoding")
        plain = zlib.decompress(body, 31) if encoding == "gzip" else body
        with lock:
            answer = plan.pop(0) if len(plan) > 1 else plan[0]
            with open(f"{folder}/requests", "a") as file:
                file.write(json.dumps({
                    "method": self.command, "path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()},
                    "body": base64.b64encode(plain).decode(), "size": len(body)}) + "\n")
        fault = answer.get("fault", "")
        content = base64.b64decode(answer.get("body", ""))
        if fault == "close":
            self.close_connection = True
            return
        if fault == "never":
            time.sleep(600)
        if fault == "late":
            time.sleep(7)
        while fault == "held" and not os.path.exists(f"{folder}/go"):
            time.sleep(0.01)
        if fault == "large":
            content = b"x" * (1 << 22)
        self.send_response(answer.get("status", 200))
        for name, value in answer.get("headers", {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault in ("half", "stalled"):
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
            if fault == "stalled":
                time.sleep(600)
            self.close_connection = True
            return
        if fault == "slow":
            for byte in content:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(0.02)
            return
        self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_any


class UnixServer(serving.Server):
    address_family = socket.AF_UNIX

    def server_bind(self):
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", 0


is_unix = "--unix" in sys.argv
server = UnixServer(f"{folder}/socket", Handler) if is_unix else serving.Server(("127.0.0.1", 0), Handler)
serving.serve(folder, server, sys.argv)
