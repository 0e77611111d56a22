#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Principal and agent log in to the broker by bearer tokens, of an authorization server or of a file."""
import base64
import http.server
import json
import os
import pathlib
import ssl
import subprocess
import threading
import time
import unittest
import urllib.parse

from daemons import Fleet, application, broker_ports, wait_for

CLIENT, SECRET = "admin", "s3cr:t/ä"


def encoded(document):
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


def token(seconds):
    """Nobody has signed it: the broker of the tests takes that."""
    now = time.time()
    return f"{encoded({'alg': 'none'})}.{encoded({'sub': CLIENT, 'iat': now, 'exp': int(now + seconds)})}."


class Authority:
    """An authorization server (RFC 6749 section 4.4). `given` counts tokens, `refused` requests."""

    def __init__(self, folder):
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
        good = (urllib.parse.unquote(user), urllib.parse.unquote(password)) == (CLIENT, SECRET)
        if good:
            self.given += 1
            body = {"access_token": token(self.seconds), "token_type": "Bearer", "expires_in": self.seconds}
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


class Oauth(Fleet):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.folder)
        self.addCleanup(lambda: self.authority.close())
        self.secret = self.folder / "secret"
        self.secret.write_text(SECRET + "\n")
        self.log_in({"endpoint": self.authority.endpoint, "client-id": CLIENT, "client-secret-file": str(self.secret),
                     "ca": str(self.authority.ca), "scope": "kafka write"})
        self.hub.write("w1", "guestbook", application("guestbook"))

    def log_in(self, oauth):
        kafka = {"brokers": [f"127.0.0.1:{broker_ports()['sasl']}"], "prefix": self.prefix,
                 "tls": {"ca": str(pathlib.Path(os.environ["KAFKA_DEV_HOME"], "tls/ca.crt"))},
                 "sasl": {"mechanism": "OAUTHBEARER", "oauth": oauth}}
        makes = {"topics": "create", "replication-factor": 1, "min-insync-replicas": 1}
        # Secrets are not what this is about, and need certificates.
        for daemon, config, more in ((self.principal, self.principal_config(), makes), (self.agent, self.agent_config(), {})):
            daemon.configure({**config, "kafka": {**kafka, **more}})

    def says_nothing_secret(self):
        for daemon in (self.principal, self.agent):
            log = daemon.log.read_text()
            self.assertNotIn("s3cr", log)
            self.assertNotIn(encoded({"alg": "none"}), log)

    def test_tokens_are_fetched_and_fetched_again_before_they_end(self):
        self.start()
        self.arrives("guestbook", "1")
        self.assertEqual(self.authority.asked[0], {"grant_type": ["client_credentials"], "scope": ["kafka write"]})
        first = self.authority.given
        wait_for("each has a second one", lambda: self.authority.given >= 2 * first)
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="2"))
        self.arrives("guestbook", "2")
        self.says_nothing_secret()

    def test_a_wrong_secret_is_named_and_a_right_one_is_read_without_a_restart(self):
        self.secret.write_text("wrong")
        self.principal.start(ready=False)
        self.agent.start(ready=False)
        for daemon in (self.principal, self.agent):
            wait_for("it is told", lambda daemon=daemon: "invalid_client: no such client or secret" in daemon.log.read_text())
            self.assertIn(self.authority.endpoint, daemon.log.read_text())
            self.assertFalse(daemon.is_ready())
        self.secret.write_text(SECRET)
        self.arrives("guestbook", "1")
        self.says_nothing_secret()

    def test_a_token_may_stand_in_a_file(self):
        file = self.folder / "token"
        file.write_text(token(3600) + "\n")
        self.log_in({"token-file": str(file)})
        self.start()
        self.arrives("guestbook", "1")
        self.assertEqual(self.authority.given, 0)
        self.says_nothing_secret()


if __name__ == "__main__":
    unittest.main()
