"""A server of HTTP that answers as it is told, and writes down what it gets.

    receiver.py FOLDER [--unix] [--tls CERTIFICATE KEY CLIENTS]

FOLDER/plan has the answers as lines of JSON: {"status": 200, "headers": {}, "body": "base64", "fault": ""}. The last one is
repeated. Faults: "close" (before an answer), "half" (of the body), "never", "slow" (byte by byte), "large".
FOLDER/requests gets a line of JSON for each request. FOLDER/port gets the port when the server is ready.
"""

import base64
import http.server
import json
import os
import socket
import socketserver
import ssl
import sys
import threading
import time
import zlib

folder = sys.argv[1]
plan = [json.loads(line) for line in open(f"{folder}/plan")]
lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def address_string(self):
        return "client"

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
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
        if fault == "large":
            content = b"x" * (1 << 22)
        self.send_response(answer.get("status", 200))
        for name, value in answer.get("headers", {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault == "half":
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
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


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, *arguments):
        pass


class UnixServer(Server):
    address_family = socket.AF_UNIX

    def server_bind(self):
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", 0


if "--unix" in sys.argv:
    server = UnixServer(f"{folder}/socket", Handler)
else:
    server = Server(("127.0.0.1", 0), Handler)
if "--tls" in sys.argv:
    certificate, key, clients = sys.argv[sys.argv.index("--tls") + 1:][:3]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if clients != "-":
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(f"{folder}/port.new", "w") as file:
    file.write(str(server.server_port))
os.rename(f"{folder}/port.new", f"{folder}/port")
server.serve_forever()
