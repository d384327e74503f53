"""A proxy between a shipper and an HTTP receiver. It makes faults that happen to real requests.

    faults.py FOLDER RECEIVER KIND SEED

RECEIVER is a URL. Each fault comes once, in an order drawn by the seed. After that, there are no
faults. FOLDER/port gets the port, and FOLDER/faults a line for each fault when it comes.

For a number, the proxy answers with that status, and the receiver does not get the request. The
other faults are:

`close`: the proxy closes the connection in the middle of the request's body. `cut`: the receiver
gets half of the body. `lost`: the receiver gets the request, and the client gets no answer. `half`:
the client gets half of the answer. `never`: the client gets no answer before it gives up. `late`:
the answer comes late. `slow`: the answer comes byte by byte. `twice`: the receiver gets the request
twice. `lie`: the receiver gets the request, and the client gets an answer of success whose body
contradicts the success or is nonsense. For kinds whose answers can say that nothing was accepted,
the body says that. `clock`: the answer comes from a server whose clock is a year ahead, and asks
the client to wait for a moment by that clock.
"""

import http.client
import random
import socket
import sys
import threading
import time
import urllib.parse
from email.utils import formatdate

import serving

folder, receiver, kind, seed = sys.argv[1:5]
receiver = urllib.parse.urlsplit(receiver)
STATUSES = [
    301, 302, 307, 308, 400, 401, 403, 404, 405, 408, 409, 413, 418, 422, 425, 429, 500, 501, 502, 503, 504, 507, 520, 529]
# A refused archive is put aside, and not halved. By mmlog-receive's protocol, 409 is a refusal.
REFUSALS = [400, 413, 422] + ([409] if kind == "put" else [])
OTHERS = ["close", "cut", "lost", "half", "never", "late", "slow", "twice", "lie", "clock"]
archives = kind in ("s3", "put")
faults = [str(status) for status in STATUSES if not (archives and status in REFUSALS)] + OTHERS
random.Random(int(seed)).shuffle(faults)
lock = threading.Lock()

# partial_success { rejected_log_records: 2^40, error_message: "a lie" }
PARTIAL = bytes([0x0A, 14, 0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0x12, 5]) + b"a lie"
LIES = {
    "elasticsearch": b'{"errors":true,"items":[]}',
    "clickhouse": b"Code: 241. DB::Exception: Memory limit exceeded",
    "s3": b"<Error><Code>InternalError</Code><Message>a lie</Message></Error>",
    "otlp": PARTIAL,
}


# Whether the receiver may have the last request although the client does not know that. Then the
# proxy does not refuse the request, because no server refuses what it has.
is_uncertain = False


def draw():
    global is_uncertain
    with lock:
        usable = [index for index, fault in enumerate(faults) if not (is_uncertain and fault in map(str, REFUSALS))]
        fault = faults.pop(usable[-1]) if usable else "none"
        if fault in ("lost", "half", "lie"):
            is_uncertain = True
        elif fault in ("none", "late", "slow", "twice"):
            is_uncertain = False
        if fault != "none":
            with open(f"{folder}/faults", "a") as file:
                file.write(f"{fault}\n")
        return fault


class Handler(serving.Handler):
    def forward(self, body, length=None):
        """Sends the request, and returns the answer. With a length, the body is shorter than that."""
        connection = http.client.HTTPConnection(receiver.netloc)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in ("connection", "expect", "content-length"):
                connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body) if length is None else length))
        connection.endheaders(body)
        if length is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)
            return connection.close()
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response, content

    def handle_any(self):
        fault = draw()
        if fault == "close":
            self.rfile.read(int(self.headers.get("Content-Length") or 0) // 2)
            return self.leave()
        body = self.body()
        if fault == "cut":
            self.forward(body[:len(body) // 2], len(body))
            return self.leave()
        if fault.isdigit():
            headers = {"Location": "http://127.0.0.1:1/"} if fault.startswith("3") else {}
            return self.answer(int(fault), b"as planned", headers)
        if fault == "clock":
            ahead = time.time() + 365 * 86_400
            return self.answer(503, b"", {"Date": formatdate(ahead, usegmt=True), "Retry-After": formatdate(ahead, usegmt=True)})
        if fault == "never":
            self.connection.recv(1)
            return self.leave()
        if fault == "twice":
            self.forward(body)
        response, content = self.forward(body)
        if fault == "lost":
            return self.leave()
        if fault == "late":
            time.sleep(0.5)
        if fault == "lie" and response.status < 300 and self.command in ("POST", "PUT"):
            content = LIES.get(kind, b"\xff\x00nonsense")
        self.pass_on(response, content, fault)

    def pass_on(self, response, content, fault):
        self.send_response_only(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        # For `half`, an answer without a body announces bytes that do not come.
        missing = fault == "half" and not content and response.status != 204
        length = response.getheader("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(content) + (10 if missing else 0)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault == "half":
            self.wfile.write(content[:len(content) // 2])
            return self.leave()
        if fault != "slow":
            return self.wfile.write(content)
        for byte in content[:50]:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(0.01)
        self.wfile.write(content[50:])

    def leave(self):
        self.wfile.flush()
        self.close_connection = True

    def send_response(self, code, message=None):
        self.send_response_only(code, message)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_any


serving.serve(folder, serving.Server(("127.0.0.1", 0), Handler))
