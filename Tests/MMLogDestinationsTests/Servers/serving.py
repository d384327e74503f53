"""Common code of the tests' servers: threads, TLS, and a file with the port of a ready server."""

import gzip
import http.server
import os
import socketserver
import ssl


class Handler(http.server.BaseHTTPRequestHandler):
    """Handles requests one after the other over a connection that stays open, and logs nothing."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def address_string(self):
        return "client"

    def body(self):
        """The request's body as it was sent."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def plain_body(self):
        """The request's body, decompressed."""
        body = self.body()
        return gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body

    def answer(self, status, content=b"", headers={}):
        """Sends a complete answer."""
        content = content.encode() if isinstance(content, str) else content
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *arguments):
        pass


def with_tls(server, arguments):
    """Makes a server speak TLS if the arguments have `--tls CERTIFICATE KEY CLIENTS`. CLIENTS is the
    authority that signs the certificates of clients; `-`: clients need none."""
    if "--tls" in arguments:
        certificate, key, clients = arguments[arguments.index("--tls") + 1:][:3]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        if clients != "-":
            context.load_verify_locations(clients)
            context.verify_mode = ssl.CERT_REQUIRED
        # The handshake is made by the connection's thread, so that a client that refuses it does not
        # stop the others.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return server


def note(path, text):
    """Makes a file that has all of its text from the beginning."""
    with open(f"{path}.new", "w") as file:
        file.write(text)
    os.rename(f"{path}.new", path)


def serve(folder, server, arguments=()):
    """Serves forever. FOLDER/port gets the port when the server is ready."""
    with_tls(server, list(arguments))
    note(f"{folder}/port", str(server.server_port))
    server.serve_forever()
