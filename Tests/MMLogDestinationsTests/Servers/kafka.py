"""TLS and SASL in front of a Kafka broker that has neither, such as librdkafka's mock cluster.

    kafka.py FOLDER BROKER-PORT MECHANISM CREDENTIALS-FILE [--tls CERTIFICATE KEY CLIENTS]

MECHANISM is PLAIN or SCRAM-SHA-512. The file has USER:PASSWORD. FOLDER/port gets the port, and
FOLDER/logins a line for each connection: the user's name, or "refused". Where the broker names its
own port, clients get this program's port.
"""

import base64
import hashlib
import hmac
import os
import socket
import socketserver
import struct
import sys
import threading

import serving

folder, broker, mechanism, credentials = sys.argv[1:5]
lock = threading.Lock()
HANDSHAKE, VERSIONS, AUTHENTICATE = 17, 18, 36  # API keys of the protocol
UNSUPPORTED_MECHANISM, AUTHENTICATION_FAILED = 33, 58  # errors of the protocol


class Refused(Exception):
    pass


def read(source, count):
    data = b""
    while len(data) < count:
        part = source.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def frame(source):
    return read(source, struct.unpack(">i", read(source, 4))[0])


def framed(data):
    return struct.pack(">i", len(data)) + data


class Scram:
    """The server's side of SCRAM-SHA-512: RFC 5802, 3 and 5."""

    iterations = 4096

    def __init__(self, user, password):
        self.user, self.first = user, None
        self.salt = os.urandom(16)
        self.salted = hashlib.pbkdf2_hmac("sha512", password.encode(), self.salt, self.iterations)

    def mac(self, key, text):
        return hmac.digest(key, text if isinstance(text, bytes) else text.encode(), "sha512")

    def step(self, text):
        """Returns the answer to a message, and whether that message was the last one."""
        if self.first is None:
            self.first = text.partition(",,")[2]
            fields = dict(part.split("=", 1) for part in self.first.split(","))
            if fields["n"] != self.user:
                raise Refused
            nonce = fields["r"] + base64.b64encode(os.urandom(12)).decode()
            self.challenge = f"r={nonce},s={base64.b64encode(self.salt).decode()},i={self.iterations}"
            return self.challenge, False
        bare, _, proof = text.rpartition(",p=")
        signed = ",".join([self.first, self.challenge, bare])
        client = self.mac(self.salted, "Client Key")
        stored = hashlib.sha512(client).digest()
        right = bytes(a ^ b for a, b in zip(client, self.mac(stored, signed)))
        if not hmac.compare_digest(base64.b64decode(proof), right):
            raise Refused
        return "v=" + base64.b64encode(self.mac(self.mac(self.salted, "Server Key"), signed)).decode(), True


class Plain:
    def __init__(self, user, password):
        self.expected = f"\0{user}\0{password}"

    def step(self, text):
        if text != self.expected:
            raise Refused
        return "", True


def authenticate(client, server):
    """Answers a client until it is authenticated. The broker answers about versions."""
    with open(credentials) as file:
        user, password = file.read().strip().split(":", 1)
    exchange = (Plain if mechanism == "PLAIN" else Scram)(user, password)
    while True:
        request = frame(client)
        key, version, name = struct.unpack(">hhi", request[:8])
        body = request[8:]
        body = body[2 + max(0, struct.unpack(">h", body[:2])[0]):]  # what stands behind the client's name
        reply = struct.pack(">i", name)
        if key == VERSIONS:
            server.sendall(framed(request))
            answer = frame(server)
            # Behind the error is a list of (key, lowest, highest), in the versions that the mock
            # cluster knows.
            error, count = struct.unpack(">hi", answer[4:10])
            if error == 0:
                own = b"".join(struct.pack(">hhh", key, 0, 1) for key in (HANDSHAKE, AUTHENTICATE))
                answer = answer[:6] + struct.pack(">i", count + 2) + own + answer[10:]
            client.sendall(framed(answer))
        elif key == HANDSHAKE:
            wanted = body[2:].decode()
            error = 0 if wanted == mechanism else UNSUPPORTED_MECHANISM
            names = struct.pack(">ih", 1, len(mechanism)) + mechanism.encode()
            client.sendall(framed(reply + struct.pack(">h", error) + names))
        elif key == AUTHENTICATE:
            try:
                text, is_last = exchange.step(body[4:].decode())
            except Refused:
                words = b"Authentication failed: Invalid username or password"
                refusal = struct.pack(">hh", AUTHENTICATION_FAILED, len(words)) + words + struct.pack(">i", 0)
                client.sendall(framed(reply + refusal + (struct.pack(">q", 0) if version else b"")))
                raise
            accepted = struct.pack(">hhi", 0, -1, len(text)) + text.encode()
            client.sendall(framed(reply + accepted + (struct.pack(">q", 0) if version else b"")))
            if is_last:
                return user
        else:
            raise Refused


def copy(source, target, change=lambda data: data):
    try:
        while True:
            target.sendall(framed(change(frame(source))))
    except (EOFError, OSError):
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def note(login):
    with lock, open(f"{folder}/logins", "a") as file:
        file.write(f"{login}\n")


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        broker_port, own_port = int(broker), self.server.server_address[1]

        def renamed(data):
            return data.replace(b"127.0.0.1" + struct.pack(">i", broker_port), b"127.0.0.1" + struct.pack(">i", own_port))

        server = socket.create_connection(("127.0.0.1", broker_port))
        try:
            note(authenticate(self.request, server))
        except Refused:
            return note("refused")
        except (EOFError, OSError):
            return None  # the client has left, or refuses the certificate
        threading.Thread(target=copy, args=(server, self.request, renamed), daemon=True).start()
        copy(self.request, server)


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = allow_reuse_address = True
    server_port = property(lambda self: self.server_address[1])

    def handle_error(self, *arguments):
        pass


serving.serve(folder, Server(("127.0.0.1", 0), Handler), sys.argv)
