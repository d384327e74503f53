"""An HTTP proxy: CONNECT for https, whole URLs for http. It notes each request.

    proxy.py FOLDER [CREDENTIALS-FILE]

The file has USER:PASSWORD, which clients then have to give. FOLDER/port gets the port, and
FOLDER/requests a line of JSON for each request: method, target, headers. FOLDER/hold may have a
number and "request" or "answer". Then the proxy holds back each request from that number on, or the
answer to it, until the client has left or the file has changed.
"""

import base64
import http.client
import json
import select
import socket
import sys
import threading
import time
import urllib.parse

import serving

folder, *credentials = sys.argv[1:]
lock = threading.Lock()
count = 0


def copy(source, target):
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def is_held(number, what):
    try:
        with open(f"{folder}/hold") as file:
            first, held = file.read().split()
        return number >= int(first) and what == held
    except (OSError, ValueError):
        return False


class Handler(serving.Handler):
    def is_gone_while_held(self, what):
        while is_held(self.number, what):
            if select.select([self.connection], [], [], 0)[0] and not self.connection.recv(1, socket.MSG_PEEK):
                self.close_connection = True
                return True
            time.sleep(0.001)
        return False

    def is_allowed(self):
        global count
        with lock, open(f"{folder}/requests", "a") as file:
            count += 1
            self.number = count
            headers = {name.lower(): value for name, value in self.headers.items()}
            file.write(json.dumps({"method": self.command, "target": self.path, "headers": headers}) + "\n")
        if not credentials:
            return True
        with open(credentials[0]) as file:
            expected = "Basic " + base64.b64encode(file.read().strip().encode()).decode()
        given = self.headers.get("Proxy-Authorization")
        if given == expected:
            return True
        # A bad proxy: its answer repeats the credentials.
        words = base64.b64decode((given or "").removeprefix("Basic "))
        self.body()
        self.answer(407, b"not with " + words, {"Proxy-Authenticate": 'Basic realm="proxy"'})
        return False

    def do_CONNECT(self):
        if not self.is_allowed():
            return
        host, _, port = self.path.rpartition(":")
        try:
            server = socket.create_connection((host, int(port)))
        except OSError as error:
            return self.answer(502, str(error))
        self.send_response(200)
        self.end_headers()
        back = threading.Thread(target=copy, args=(server, self.connection), daemon=True)
        back.start()
        copy(self.connection, server)
        back.join()
        self.close_connection = True

    def handle_any(self):
        if not self.is_allowed():
            return
        url = urllib.parse.urlsplit(self.path)
        if url.scheme != "http":
            return self.answer(400, "a proxy takes whole URLs")
        body = self.body()
        if self.is_gone_while_held("request"):
            return
        server = http.client.HTTPConnection(url.netloc)
        headers = {name: value for name, value in self.headers.items() if not name.lower().startswith("proxy-")}
        server.request(self.command, url.path + (f"?{url.query}" if url.query else ""), body, headers)
        response = server.getresponse()
        content = response.read()
        if self.is_gone_while_held("answer"):
            return
        self.send_response_only(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        length = response.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_any


serving.serve(folder, serving.Server(("127.0.0.1", 0), Handler))
