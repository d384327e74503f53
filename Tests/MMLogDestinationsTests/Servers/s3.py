"""S3 by the module moto, with additions: signatures (Signature Version 4) and CRC32C are verified, as
Amazon's servers do, and the list of an upload's parts has their checksums.

    s3.py FOLDER KEYS [--tls CERTIFICATE KEY -]

KEYS is the file with ACCESS-KEY-ID:SECRET-KEY. FOLDER/port gets the port, and FOLDER/requests a
line of JSON for each request: method, target, size, headers, status. If FOLDER/hold has a number,
the server takes that many parts of uploads. Further parts wait until the file is removed, and
FOLDER/held shows that one waits. If FOLDER/damage exists, the server changes a bit of the next
body, and removes the file.
"""

import base64
import hashlib
import hmac
import io
import json
import os
import re
import socketserver
import sys
import threading
import time
import urllib.parse
import wsgiref.simple_server

import crc32c
from moto.server import DomainDispatcherApplication, create_backend_app

import serving

folder, keys = sys.argv[1:3]
moto = DomainDispatcherApplication(create_backend_app)
lock = threading.Lock()
parts = 0
checksums = {}  # of upload parts; moto does not keep them


def header(environ, name):
    if name in ("content-type", "content-length"):
        return environ.get(name.replace("-", "_").upper(), "")
    return environ.get("HTTP_" + name.replace("-", "_").upper(), "")


def target(environ):
    return environ.get("REQUEST_URI") or environ["RAW_URI"]


def signed(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signature_problem(environ, body):
    """The error of a signature, by "Using the Authorization Header" in the S3 reference."""
    with open(keys) as file:
        access, secret = file.read().strip().split(":")[:2]
    given = header(environ, "authorization")
    if not given.startswith("AWS4-HMAC-SHA256 "):
        return "AccessDenied"
    fields = dict(part.strip().split("=", 1) for part in given.split(" ", 1)[1].split(","))
    account, date, region, service, end = fields["Credential"].split("/")
    if account != access:
        return "InvalidAccessKeyId"
    names = fields["SignedHeaders"].split(";")
    when = header(environ, "x-amz-date")
    # Signed headers have to include Host, and all headers of Amazon's.
    sent = {key[5:].lower().replace("_", "-") for key in environ if key.startswith("HTTP_X_AMZ_")}
    if not when.startswith(date) or "host" not in names or not sent <= set(names):
        return "AuthorizationHeaderMalformed"
    if abs(time.mktime(time.strptime(when, "%Y%m%dT%H%M%SZ")) - time.mktime(time.gmtime())) > 900:
        return "RequestTimeTooSkewed"
    digest = header(environ, "x-amz-content-sha256")
    if digest != "UNSIGNED-PAYLOAD" and digest != hashlib.sha256(body).hexdigest():
        return "XAmzContentSHA256Mismatch"
    path, _, query = target(environ).partition("?")
    query = "&".join(sorted(part if "=" in part else part + "=" for part in query.split("&") if part))
    lines = "".join(f"{name}:{' '.join(header(environ, name).split())}\n" for name in names)
    request = "\n".join([environ["REQUEST_METHOD"], path, query, lines, ";".join(names), digest])
    scope = "/".join([date, region, service, end])
    text = "\n".join(["AWS4-HMAC-SHA256", when, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = signed(signed(signed(signed(("AWS4" + secret).encode(), date), region), service), end)
    right = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return "" if hmac.compare_digest(right, fields["Signature"]) else "SignatureDoesNotMatch"


def checksum_problem(environ, body):
    given = header(environ, "x-amz-checksum-crc32c")
    right = base64.b64encode(crc32c.crc32c(body).to_bytes(4, "big")).decode()
    return "" if not given or given == right else "BadDigest"


def hold(environ):
    """Holds back a part if as many parts were taken as FOLDER/hold says."""
    global parts
    if environ["REQUEST_METHOD"] != "PUT" or "partNumber=" not in target(environ):
        return
    with lock:
        parts += 1
        mine = parts
    while os.path.exists(f"{folder}/hold"):
        with open(f"{folder}/hold") as file:
            if mine <= int(file.read() or 0):
                return
        with open(f"{folder}/held", "w"):
            pass
        time.sleep(0.01)


def with_checksums(environ, answer):
    """Notes the checksum of a part, and adds checksums to the list of an upload's parts."""
    query = dict(urllib.parse.parse_qsl(target(environ).partition("?")[2]))
    upload, number = query.get("uploadId"), query.get("partNumber")
    if environ["REQUEST_METHOD"] == "PUT" and number:
        checksums[upload, number] = header(environ, "x-amz-checksum-crc32c")
    if environ["REQUEST_METHOD"] != "GET" or not upload:
        return answer

    def listed(found):
        checksum = checksums.get((upload, found[1]))
        return found[0] + (f"<ChecksumCRC32C>{checksum}</ChecksumCRC32C>" if checksum else "")

    return re.sub(r"<PartNumber>(\d+)</PartNumber>", listed, answer.decode()).encode()


def application(environ, start_response):
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    if body and os.path.exists(f"{folder}/damage"):
        os.unlink(f"{folder}/damage")
        body = bytes([body[0] ^ 1]) + body[1:]
    hold(environ)
    problem = signature_problem(environ, body) or checksum_problem(environ, body)
    status = []

    def start(text, headers, *rest):
        status.append(text)
        return start_response(text, headers, *rest)

    if problem:
        text = f"<Error><Code>{problem}</Code><Message>as the stand-in says</Message></Error>".encode()
        start("400 Bad Request" if problem == "BadDigest" else "403 Forbidden", [("Content-Length", str(len(text)))])
        answer = [text]
    else:
        environ["wsgi.input"] = io.BytesIO(body)
        kept = []
        content = b"".join(moto(environ, lambda text, headers, *rest: kept.append((text, headers))))
        if kept[0][0].startswith("2"):
            content = with_checksums(environ, content)
        text, headers = kept[0]
        if environ["REQUEST_METHOD"] != "HEAD":
            headers = [pair for pair in headers if pair[0].lower() != "content-length"]
            headers.append(("Content-Length", str(len(content))))
        start(text, headers)
        answer = [content]
    with lock, open(f"{folder}/requests", "a") as file:
        headers = {key[5:].lower().replace("_", "-"): value for key, value in environ.items() if key.startswith("HTTP_")}
        file.write(json.dumps({"method": environ["REQUEST_METHOD"], "target": target(environ), "size": len(body),
                               "headers": headers, "status": status[0], "problem": problem}) + "\n")
    return answer


class Handler(wsgiref.simple_server.WSGIRequestHandler):
    def get_environ(self):
        return super().get_environ() | {"RAW_URI": self.path, "REQUEST_URI": self.path}

    def log_message(self, *arguments):
        pass


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True

    def handle_error(self, *arguments):
        pass


server = Server(("127.0.0.1", 0), Handler)
server.set_app(application)
serving.serve(folder, server, sys.argv)
