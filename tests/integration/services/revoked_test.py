#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients whose certificate is revoked, or whose authority is trusted no more, at every listener that takes certificates of
clients, over each transport."""
import http.client
import os
import pathlib
import ssl
import subprocess
import unittest

from api_server_test import Beside
from blocklist_test import Listing
from daemons import Objects, application, only_kafka, wait_for
from grpc_test import openssl, replace
from kinds_test import project, secret
from ports import free_port

TOKEN = "a-token-for-clients-0123456789"
PAGE, RESOURCE = "/api/agents", "/api/v1/namespaces/web/pods"


def certificates():
    return pathlib.Path(os.environ["AB_GRPC_CERTS"])


def fingerprint(name):
    said = openssl("x509", "-in", str(certificates() / f"{name}.crt"), "-noout", "-fingerprint", "-sha256")
    return said.strip().partition("=")[2].replace(":", "")


class Clients(Beside):
    """The fleet page and the resource API, which clients reach with a certificate of the tests' CA. No agent runs: who is let in
    at the resource API is told so (503)."""

    def principal_config(self):
        certs = certificates()
        self.ports = {PAGE: free_port(), RESOURCE: free_port()}
        self.revoked, tokens = self.folder / "revoked", self.folder / "tokens"
        self.revoked.touch()
        tokens.write_text(f"{TOKEN} *\n")
        self.trusted = self.folder / "trusted.crt"
        self.trusted.write_text((certs / "ca.crt").read_text())
        tls = {"ca": str(self.trusted), "cert": str(certs / "server.crt"), "key": str(certs / "server.key")}
        config = super().principal_config()
        config["grpc"] = {**config.get("grpc", {}), "auth": {"revoked": str(self.revoked)}}
        config["fleet"] = {"listen": f"127.0.0.1:{self.ports[PAGE]}", "tls": tls, "tokens": str(tokens)}
        config["live"] = {"protection": "none",
                          "resource": {"listen": f"127.0.0.1:{self.ports[RESOURCE]}", "tls": tls, "tokens": str(tokens)}}
        return config

    def connect(self, path, name="w2"):
        context = ssl.create_default_context(cafile=str(certificates() / "ca.crt"))
        if name:
            context.load_cert_chain(certificates() / f"{name}.crt", certificates() / f"{name}.key")
        connection = http.client.HTTPSConnection("localhost", self.ports[path], context=context, timeout=60)
        self.addCleanup(connection.close)
        return connection

    def ask(self, path, name="w2", token=None, connection=None):
        connection = connection or self.connect(path, name)
        connection.request("GET", path if name else f"/agents/w2{path}" if path == RESOURCE else path,
                           headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        body = answer.read().decode()
        if answer.status == 403:
            self.assertIn("the client certificate is revoked", body)
        return answer.status

    def both(self, **options):
        return self.ask(PAGE, **options), self.ask(RESOURCE, **options)

    def stream(self, name="w2", token=None):
        """The events of the fleet page, of which the head has come."""
        connection = self.connect(PAGE, name)
        connection.request("GET", "/api/stream", headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        return answer

    @staticmethod
    def is_cut(stream):
        """One that goes on sends at least an empty line every 15 s; after a timeout no read would say more."""
        try:
            return not stream.read1(65536)
        except (http.client.IncompleteRead, ConnectionError, ssl.SSLError):
            return True

    def wait_for_cut(self, stream):
        wait_for("the open request is cut", lambda: self.is_cut(stream), 30)


class File(Clients):
    def test_a_revoked_certificate_opens_nothing_until_it_is_given_back(self):
        self.principal.start()
        wait_for("the list has been read", lambda: self.both() == (200, 503))
        kept = {path: self.connect(path) for path in (PAGE, RESOURCE)}
        for path, connection in kept.items():
            self.ask(path, connection=connection)
        stream = self.stream()
        replace(self.revoked, fingerprint("w2"))
        wait_for("it is refused", lambda: self.both() == (403, 403))
        self.wait_for_cut(stream)
        self.assertEqual([self.ask(path, connection=connection) for path, connection in kept.items()], [403, 403])
        self.assertEqual(self.both(token=TOKEN), (403, 403))
        self.assertEqual(self.both(name=None, token=TOKEN), (200, 503))
        self.assertEqual(self.both(name="w10"), (200, 503))
        replace(self.revoked, "nonsense")
        wait_for("it cannot be read",
                 lambda: "cannot read the revoked certificates of clients" in self.principal.log.read_text())
        self.assertEqual(self.both(), (403, 403))
        replace(self.revoked, "")
        wait_for("it is let in again", lambda: self.both() == (200, 503))

    def test_a_stream_ends_whose_token_is_taken_away(self):
        self.principal.start()
        wait_for("it is let in", lambda: self.both(name=None, token=TOKEN) == (200, 503))
        stream = self.stream(name=None, token=TOKEN)
        replace(self.folder / "tokens", f"{TOKEN}-another *\n")
        self.wait_for_cut(stream)
        self.assertEqual(self.ask(PAGE, name=None, token=TOKEN), 401)

    def test_a_connection_ends_whose_authority_is_trusted_no_more(self):
        """Nobody else connects meanwhile: the files are looked at for its sake."""
        self.principal.start()
        wait_for("it is let in", lambda: self.both() == (200, 503))
        kept, stream = self.connect(RESOURCE), self.stream()
        self.assertEqual(self.ask(RESOURCE, connection=kept), 503)
        replace(self.trusted, (certificates() / "foreign.crt").read_text())
        self.wait_for_cut(stream)
        wait_for("the connection is cut", lambda: self.is_refused(kept), 30)
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.both()

    def is_refused(self, connection):
        """On this connection, and no other in its place."""
        connection.auto_open = 0
        try:
            return self.ask(RESOURCE, connection=connection) not in (200, 503)
        except (http.client.NotConnected, http.client.RemoteDisconnected, OSError):
            return True

    def test_a_list_that_cannot_be_read_is_found_before_the_start(self):
        self.revoked.write_text("nonsense")
        done = subprocess.run([self.principal.program, "-c", self.principal.config, "--check-config"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"grpc.auth.revoked: {self.revoked}: line 1: expected a SHA-256 fingerprint", done.stderr)


class Blocklist(Clients):
    make_api = Listing

    def principal_config(self):
        return {**super().principal_config(), "store": self.serve()}

    def test_nobody_is_let_in_before_it_was_read_and_who_is_blocked_is_cut(self):
        allow = self.api.forbid()
        self.principal.start(ready=False)
        wait_for("both listen", lambda: "serving the fleet page" in self.principal.log.read_text())
        self.assertEqual(self.both(), (403, 403))
        self.assertEqual(self.ask(PAGE, name=None, token=TOKEN), 200)
        allow()
        wait_for("it is let in", lambda: self.both() == (200, 503))
        stream = self.stream()
        self.api.block(fingerprint("w2"))
        wait_for("it is refused", lambda: self.both() == (403, 403))
        self.wait_for_cut(stream)
        self.assertEqual(self.both(name="w10"), (200, 503))


class Sealed(Beside):
    make_api = Listing

    def principal_config(self):
        return {**super().principal_config(), "store": self.serve(), "secrets": {"ca": str(certificates() / "ca.crt")}}

    def agent_config(self):
        w1 = certificates() / "w1"
        return {**super().agent_config(), "secrets": {"certificate": f"{w1}.crt", "key": f"{w1}.key"}}

    def write(self, password):
        self.wanted = secret("repo", "repository", {"project": "team", "password": password})
        self.api.put("Secret", "repo", **{k: v for k, v in self.wanted.items() if k not in ("apiVersion", "kind")})

    def has_arrived(self):
        return (Objects(self.spoke).read("Secret", "repo") or {}).get("data") == self.wanted["data"]

    @only_kafka("over gRPC the agent is not connected then")
    def test_no_secret_is_sealed_to_a_certificate_that_the_blocklist_has(self):
        self.api.put("AppProject", "team", spec=project("w1")["spec"])
        self.write("1")
        self.start()
        wait_for("the Secret arrives", self.has_arrived)
        self.api.block(fingerprint("w1"))
        said = "the agent's certificate is revoked: no Secret is sealed to it"
        wait_for("it is blocked", lambda: said in self.principal.log.read_text())
        self.write("2")
        self.api.put("Application", "later", "w1", spec=application("later")["spec"])
        wait_for("what is written later arrives", lambda: "later" in self.spoke.names("argocd"))
        self.assertFalse(self.has_arrived())
        self.principal.stop()
        self.principal.start()
        self.assertFalse(self.has_arrived())
        self.api.block()
        wait_for("the Secret arrives", self.has_arrived)


if __name__ == "__main__":
    unittest.main(verbosity=2)
