# SPDX-License-Identifier: Apache-2.0
"""An API server that misbehaves on request: lists, watches and writes of objects in memory, over TLS and HTTP/1.1.

A fault is a function of the request that answers instead of the server: it gets a Request and returns True when it did.
"""
import base64
import itertools
import json
import pathlib
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse
import uuid

from ports import free_port


def make_certificate(folder, name, days=30):
    """A CA and a certificate of it for 127.0.0.1; the path of the CA and of certificate with key."""
    ca, key = folder / f"{name}-ca.crt", folder / f"{name}-ca.key"
    openssl = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    subprocess.run([*openssl, "-subj", f"/CN={name}", "-keyout", key, "-out", ca, "-days", "30"], check=True,
                   capture_output=True)
    pair = folder / f"{name}.pem"
    request = subprocess.run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                              "-subj", "/CN=127.0.0.1", "-keyout", pair], check=True, capture_output=True).stdout
    extensions = folder / "extensions"
    extensions.write_text("subjectAltName=IP:127.0.0.1\n")
    signed = subprocess.run(["openssl", "x509", "-req", "-CA", ca, "-CAkey", key, "-CAcreateserial", "-days", str(days),
                             "-extfile", extensions], input=request, check=True, capture_output=True).stdout
    with pair.open("ab") as file:
        file.write(signed)
    return ca, pair


class Request:
    """What was asked, and the connection to answer on."""

    def __init__(self, connection, method, target, headers, body):
        url = urllib.parse.urlsplit(target)
        self.connection = connection
        self.method = method
        self.path = url.path
        self.query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query).items()}
        self.headers = headers
        self.body = json.loads(body) if body else None
        self.is_watch = "watch" in self.query
        self.time = time.monotonic()

    def raw(self, data):
        self.connection.sendall(data)

    def answer(self, status, document, headers=()):
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        lines = [f"HTTP/1.1 {status} Said", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
        self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return True

    def refuse(self, status, reason, message, details=None, headers=()):
        return self.answer(status, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason,
                                    "message": message, "details": details or {}, "code": status}, headers)

    def begin_stream(self):
        self.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")

    def chunk(self, data):
        data = data if isinstance(data, bytes) else json.dumps(data).encode() + b"\n"
        self.raw(b"%x\r\n" % len(data) + data + b"\r\n")

    def end_stream(self):
        self.raw(b"0\r\n\r\n")

    def hang_up(self):
        try:
            self.connection.unwrap()
        except OSError:
            pass
        self.connection.close()
        return True


class FakeApi:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.objects = {}
        self.events = []
        self.version = 100
        self.faults = []
        self.requests = []
        self.watched = []
        self.namespaces = {"argocd": {}}
        self.changed = threading.Condition()
        self.connections = set()
        self.listener = None
        self.port = free_port()
        self.generation = 0
        self.stopped = threading.Event()
        self.ca, self.pair = make_certificate(self.folder, "server")

    # --- what tests say ---

    def fault(self, when, act, times=None):
        """Let `act` answer requests that `when` is true for, so many times."""
        left = itertools.count() if times is None else iter(range(times))
        entry = (when, act, left)
        self.faults.append(entry)
        return lambda: self.faults.remove(entry)

    def say_nothing(self, request):
        """A fault: the request is not answered."""
        self.stopped.wait()
        return request.hang_up()

    def asked(self, method, part="", watch=False):
        return [r for r in self.requests if r.method == method and part in r.path and r.is_watch == watch]

    def await_watch(self, part):
        """Until a watch of this is being answered, which was begun after the last cut."""
        with self.changed:
            assert self.changed.wait_for(lambda: any(part in path for path in self.watched), 120), f"no watch of {part}"

    def put(self, kind, name, namespace="argocd", event=True, **more):
        """Someone else writes an object."""
        path = f"{self.collection(kind, namespace)}/{name}"
        known = self.objects.get(path)
        metadata = {"name": name, "namespace": namespace, "uid": str(uuid.uuid4()), **more.pop("metadata", {})}
        if known:
            metadata = {**metadata, "uid": known["metadata"]["uid"]}
        api = "v1" if kind == "Secret" else "argoproj.io/v1alpha1"
        return self.store(path, {"apiVersion": api, "kind": kind, "metadata": metadata, **more}, event)

    def drop(self, kind, name, namespace="argocd", event=True):
        with self.changed:
            item = self.objects.pop(f"{self.collection(kind, namespace)}/{name}")
            self.version += 1
            item = {**item, "metadata": {**item["metadata"], "resourceVersion": str(self.version)}}
            if event:
                self.events.append(("DELETED", self.collection(kind, namespace), item))
            self.changed.notify_all()

    @staticmethod
    def collection(kind, namespace):
        base = "/api/v1" if kind == "Secret" else "/apis/argoproj.io/v1alpha1"
        return f"{base}/namespaces/{namespace}/{kind.lower()}s"

    # --- life ---

    def start(self, pair=None):
        self.stopped.clear()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair or self.pair)
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, args=(self.listener, context), daemon=True).start()

    def stop(self):
        self.stopped.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()

    def cut(self):
        """End all connections."""
        with self.changed:
            self.generation += 1
            self.watched.clear()
            self.changed.notify_all()
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def accept(self, listener, context):
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(plain, context), daemon=True).start()

    def serve(self, plain, context):
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = context.wrap_socket(plain, server_side=True)
            self.connections.add(connection)
            with connection, connection.makefile("rb") as stream:
                while self.serve_one(connection, stream):
                    pass
            self.connections.discard(connection)
        except (OSError, ValueError):
            plain.close()

    def serve_one(self, connection, stream):
        line = stream.readline().split()
        if len(line) != 3:
            return False
        headers = {}
        for header in iter(stream.readline, b"\r\n"):
            name, _, value = header.decode().partition(":")
            headers[name.lower()] = value.strip()
        body = stream.read(int(headers.get("content-length", 0)))
        request = Request(connection, line[0].decode(), line[1].decode(), headers, body)
        self.requests.append(request)
        for when, act, left in list(self.faults):
            if when(request) and next(left, None) is not None:
                if act(request) is not False:
                    return connection.fileno() >= 0
        self.respond(request)
        return True

    # --- an API server ---

    def store(self, path, item, event=True):
        with self.changed:
            kind = "MODIFIED" if path in self.objects else "ADDED"
            self.version += 1
            item["metadata"]["resourceVersion"] = str(self.version)
            self.objects[path] = item
            if event:
                self.events.append((kind, path.rsplit("/", 1)[0], json.loads(json.dumps(item))))
            self.changed.notify_all()
            return item

    def respond(self, request):
        if request.path == "/api/v1/namespaces" and request.method == "POST":
            name = request.body["metadata"]["name"]
            self.namespaces[name] = request.body["metadata"].get("labels", {})
            return request.answer(201, request.body)
        if request.method == "GET":
            if request.is_watch:
                return self.watch(request)
            if request.path.split("/")[-1] in ("applications", "secrets"):
                return self.list(request)
        return getattr(self, request.method.lower())(request)

    def matching(self, path):
        """Objects of a collection, of all namespaces too."""
        plural = path.split("/")[-1]
        return lambda key: f"/{plural}" in key and (f"/namespaces/" not in path or key.startswith(path))

    @staticmethod
    def selects(request, item):
        """By name; labels are not looked at."""
        name = request.query.get("fieldSelector", "").partition("metadata.name=")[2]
        return name in ("", item["metadata"]["name"])

    def list(self, request):
        with self.changed:
            keys = sorted(filter(self.matching(request.path), self.objects))
            keys = [key for key in keys if self.selects(request, self.objects[key])]
            start = int(base64.b64decode(request.query["continue"])) if "continue" in request.query else 0
            end = start + int(request.query.get("limit", len(keys) + 1))
            items = [dict(self.objects[key]) for key in keys[start:end]]
            version = str(self.version)
        if "secrets" in request.path: # as built-in kinds are listed
            items = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")} for item in items]
        more = {"continue": base64.b64encode(str(end).encode()).decode()} if end < len(keys) else {}
        return request.answer(200, {"kind": "List", "metadata": {"resourceVersion": version, **more}, "items": items})

    def watch(self, request):
        since = int(request.query["resourceVersion"])
        until = time.monotonic() + int(request.query["timeoutSeconds"])
        matches = self.matching(request.path)
        generation, position = self.generation, 0
        request.begin_stream()
        with self.changed:
            if generation == self.generation:
                self.watched.append(request.path)
            self.changed.notify_all()
        while time.monotonic() < until:
            with self.changed:
                if not self.changed.wait_for(lambda: position < len(self.events) or generation != self.generation, 1):
                    continue
                if generation != self.generation:
                    return request.end_stream() if generation is None else request.hang_up()
                news, position = self.events[position:], len(self.events)
            for kind, collection, item in news:
                if int(item["metadata"]["resourceVersion"]) > since and matches(collection) and self.selects(request, item):
                    request.chunk({"type": kind, "object": item})
        return request.end_stream()

    def get(self, request):
        item = self.objects.get(request.path)
        return request.answer(200, item) if item else self.missing(request)

    @staticmethod
    def missing(request):
        return request.refuse(404, "NotFound", "not found", {"name": request.path.split("/")[-1], "kind": "applications"})

    def post(self, request):
        namespace = request.path.split("/namespaces/")[1].split("/")[0]
        name = request.body["metadata"]["name"]
        if namespace not in self.namespaces:
            return request.refuse(404, "NotFound", f'namespaces "{namespace}" not found',
                                  {"name": namespace, "kind": "namespaces"})
        if f"{request.path}/{name}" in self.objects:
            return request.refuse(409, "AlreadyExists", f'"{name}" already exists', {"name": name})
        request.body["metadata"]["uid"] = str(uuid.uuid4())
        return request.answer(201, self.store(f"{request.path}/{name}", request.body))

    def patch(self, request):
        item = self.objects.get(request.path)
        if item is None:
            return self.missing(request)
        new = json.loads(json.dumps(item))
        for op in request.body:
            if not self.patch_one(new, op):
                return request.refuse(422, "Invalid", "the server rejected our request due to an error in our request")
        if new["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]:
            return request.refuse(409, "Conflict", "the object has been modified", {"name": "x"})
        if new == item:
            return request.answer(200, item)
        if "deletionTimestamp" in new["metadata"] and not new["metadata"].get("finalizers"):
            parts = request.path.split("/")
            self.drop("Secret" if parts[-2] == "secrets" else "Application", parts[-1], parts[-3])
            return request.answer(200, new)
        return request.answer(200, self.store(request.path, new))

    @staticmethod
    def patch_one(item, op):
        *parents, last = [p.replace("~1", "/").replace("~0", "~") for p in op["path"].split("/")[1:]]
        for part in parents:
            item = item.get(part)
            if item is None:
                return False
        if op["op"] == "test":
            return item.get(last) == op["value"]
        if op["op"] == "remove":
            return last in item and (item.pop(last), True)[1]
        item[last] = op["value"]
        return True

    def delete(self, request):
        item = self.objects.get(request.path)
        if item is None:
            return self.missing(request)
        wanted = (request.body or {}).get("preconditions", {})
        if wanted.get("uid", item["metadata"]["uid"]) != item["metadata"]["uid"]:
            return request.refuse(409, "Conflict", "the UID in the precondition does not match", {"name": "x"})
        if item["metadata"].get("finalizers"):
            item = json.loads(json.dumps(item))
            item["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            return request.answer(200, self.store(request.path, item))
        parts = request.path.split("/")
        self.drop("Secret" if parts[-2] == "secrets" else "Application", parts[-1], parts[-3])
        return request.answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})
