# SPDX-License-Identifier: Apache-2.0
"""An authorization server for bearer tokens that the broker of the tests takes."""
import base64
import http.server
import json
import ssl
import subprocess
import threading
import time
import urllib.parse


def encoded(document):
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


def token(seconds, subject):
    """Nobody has signed it: the broker of the tests takes that."""
    now = time.time()
    return f"{encoded({'alg': 'none'})}.{encoded({'sub': subject, 'iat': now, 'exp': int(now + seconds)})}."


class Authority:
    """An authorization server (RFC 6749 section 4.4) that knows these clients, {name: secret}. `given` counts tokens, `refused`
    requests."""

    def __init__(self, folder, clients):
        self.clients = clients
        self.given, self.refused, self.seconds, self.asked = 0, 0, 10, []
        self.ca = folder / "authority.crt"
        key = folder / "authority.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", self.ca, "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost"], check=True, stderr=subprocess.DEVNULL)
        authority = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                authority.answer(self, form)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.endpoint = f"https://localhost:{self.server.server_port}/token"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.ca, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, handler, form):
        self.asked.append(form)
        basic = base64.b64decode(handler.headers["Authorization"].removeprefix("Basic ")).decode()
        user, _, password = basic.partition(":")
        user = urllib.parse.unquote(user)
        good = self.clients.get(user) == urllib.parse.unquote(password)
        if good:
            self.given += 1
            body = {"access_token": token(self.seconds, user), "token_type": "Bearer", "expires_in": self.seconds}
        else:
            self.refused += 1
            body = {"error": "invalid_client", "error_description": "no such client or secret"}
        text = json.dumps(body).encode()
        handler.send_response(200 if good else 401)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
