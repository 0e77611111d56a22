#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""peer.py DIR: the servers that client_test.c calls. Certificates are made in DIR.

Prints "NAME PORT" for each server, then "ready"; ends when its standard input does.
  plain    HTTP/1.1; the path says what comes, see Handler
  tls      the same with TLS
  mutual   the same, a client certificate is asked for (TLS 1.3)
  mutual12 the same with TLS 1.2
  other    the same with TLS, and a certificate for another name
  old      the same with TLS 1.1 and nothing newer
  h2       HTTP/2 with TLS (nghttpd); /connections at plain counts the connections to it, and after /freeze there
           those that it has say nothing more, and do not end
  some     as much of HTTP/2 with TLS as it takes to answer every request but a POST: with a letter, another one for
           each connection
  refused  nobody listens
"""
import http.server
import os
import shutil
import socket
import ssl
import string
import subprocess
import sys
import threading
import time
from email.utils import formatdate

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
from ports import free_port  # noqa: E402 - it is found only now

connections = 0
freezes = 0
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6  # RFC 9113
ACK, END_STREAM, END_HEADERS, PRIORITY = 1, 1, 4, 32
METHOD_POST, STATUS_200 = 0x83, b"\x88"  # RFC 7541; what is first in a request, and alone in an answer


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def until_the_client_leaves(self):
        self.close_connection = True
        while self.connection.recv(4096):
            pass

    def begin(self, body):
        self.send_response(200)
        self.send_header("Content-Length", "1000000000000")
        self.end_headers()
        self.wfile.write(body)

    def handle_one(self):
        global freezes
        length = int(self.headers.get("Content-Length", 0))
        sent = self.rfile.read(length)
        path = self.path.split("?")[0]
        if path == "/hello":
            self.answer(200, b"hello")
        elif path == "/echo":
            names = ("Host", "User-Agent", "Content-Type", "Authorization", "Expect")
            lines = [f"{self.command} {self.path}"]
            lines += [f"{name}: {self.headers[name]}" for name in names if name in self.headers]
            self.answer(200, "\n".join(lines).encode() + b"\n\n" + sent)
        elif path == "/large":
            self.answer(200, b"0123456789" * 1000000)
        elif path == "/busy":
            self.answer(429, b"later", [("Retry-After", "7")])
        elif path == "/at":
            self.answer(503, b"", [("Retry-After", formatdate(time.time() + 100, usegmt=True))])
        elif path == "/past":
            self.answer(503, b"", [("Retry-After", formatdate(0, usegmt=True))])
        elif path == "/soon":
            self.answer(503, b"", [("Retry-After", "soon")])
        elif path == "/moved":
            self.answer(302, b"moved", [("Location", "/hello")])
        elif path == "/silent":
            self.until_the_client_leaves()
        elif path == "/stuck":
            self.begin(b"first")
            self.until_the_client_leaves()
        elif path == "/half":
            self.begin(b"first")
            self.close_connection = True
        elif path == "/endless":
            self.begin(b"")
            while True:
                self.wfile.write(b"x" * 16384)
        elif path == "/garbage":
            self.wfile.write(b"SSH-2.0-not_http\r\n")
            self.close_connection = True
        elif path == "/freeze":
            freezes += 1
            self.answer(200)
        elif path == "/connections":
            self.answer(200, str(connections).encode())
        else:
            self.answer(404, b"not found")

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one


def leave_in_order(connection):
    """Closing it with bytes unread would take from the client what was said to it last."""
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(4096):
        pass
    connection.close()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    context = None

    def finish_request(self, request, client_address):
        if self.context:
            request = self.context.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
            try:
                request.do_handshake()
            except ssl.SSLError:
                leave_in_order(socket.socket(fileno=request.detach()))
                raise
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        pass  # clients that leave or refuse are what is tested


def serve(name, context=None):
    server = Server(("127.0.0.1", 0), Handler)
    server.context = context
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(name, server.server_port)


def openssl(directory, *args):
    subprocess.run(["openssl", *args], cwd=directory, check=True, capture_output=True)


def issue(directory, ca, name, extension):
    openssl(directory, "req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
            "-keyout", f"{name}.key", "-out", f"{name}.csr")
    with open(os.path.join(directory, f"{name}.ext"), "w", encoding="ascii") as file:
        file.write(extension)
    openssl(directory, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.crt", "-CAkey", f"{ca}.key",
            "-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.crt")


def make_certificates(directory):
    for ca in ("ca", "stranger-ca"):
        openssl(directory, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                "-subj", f"/CN={ca}", "-keyout", f"{ca}.key", "-out", f"{ca}.crt")
    issue(directory, "ca", "server", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    issue(directory, "ca", "other", "subjectAltName=DNS:kubernetes")
    issue(directory, "ca", "client", "extendedKeyUsage=clientAuth")
    issue(directory, "stranger-ca", "stranger", "extendedKeyUsage=clientAuth")
    openssl(directory, "rsa", "-aes128", "-in", "client.key", "-passout", "pass:x", "-out", "locked.key")


def tls(directory, name="server", asks=False):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    path = os.path.join(directory, name)
    context.load_cert_chain(path + ".crt", path + ".key")
    if asks:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(os.path.join(directory, "ca.crt"))
    return context


def tls_at_most(context, version):
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.maximum_version = version
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


def copy(source, target, born):
    try:
        while data := source.recv(65536):
            if freezes == born:
                target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def relay(listener, port):
    global connections
    while True:
        client = listener.accept()[0]
        connections += 1
        server = socket.create_connection(("127.0.0.1", port))
        for ends in ((client, server, freezes), (server, client, freezes)):
            threading.Thread(target=copy, args=ends, daemon=True).start()


def serve_h2(directory):
    docs = os.path.join(directory, "docs")
    os.mkdir(docs)
    with open(os.path.join(docs, "page"), "wb") as file:
        file.write(b"0123456789" * 100000)
    port = free_port()
    command = ["nghttpd", "--address=127.0.0.1", "-d", docs, str(port),
               os.path.join(directory, "server.key"), os.path.join(directory, "server.crt")]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while child.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            pass
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    threading.Thread(target=relay, args=(listener, port), daemon=True).start()
    print("h2", listener.getsockname()[1])
    return child


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def answer_some(connection, letter):
    stream = connection.makefile("rb")
    stream.read(len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
    connection.sendall(frame(SETTINGS, 0, 0))
    while head := stream.read(9):
        kind, flags, number = head[3], head[4], int.from_bytes(head[5:], "big")
        payload = stream.read(int.from_bytes(head[:3], "big"))
        if kind in (SETTINGS, PING) and not flags & ACK:
            connection.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
        elif kind == HEADERS and payload[5 if flags & PRIORITY else 0] != METHOD_POST:
            connection.sendall(frame(HEADERS, END_HEADERS, number, STATUS_200) + frame(DATA, END_STREAM, number, letter))


def serve_some(context):
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        for letter in string.ascii_letters:
            connection = context.wrap_socket(listener.accept()[0], server_side=True)
            threading.Thread(target=answer_some, args=(connection, letter.encode()), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    print("some", listener.getsockname()[1])


def main():
    directory = sys.argv[1]
    make_certificates(directory)
    serve("plain")
    serve("tls", tls(directory))
    serve("mutual", tls(directory, asks=True))
    serve("mutual12", tls_at_most(tls(directory, asks=True), ssl.TLSVersion.TLSv1_2))
    serve("other", tls(directory, "other"))
    serve("old", tls_at_most(tls(directory), ssl.TLSVersion.TLSv1_1))
    serve_some(tls(directory))
    refusing = socket.socket()  # bound, so that nobody else listens there
    refusing.bind(("127.0.0.1", 0))
    print("refused", refusing.getsockname()[1])
    path = os.environ.get("PATH", "") + ":/usr/sbin"
    os.environ["PATH"] = path
    child = serve_h2(directory) if shutil.which("nghttpd") else None
    print("ready", 0, flush=True)
    sys.stdin.read()
    if child:
        child.kill()
        child.wait()
    shutil.rmtree(directory)


main()
