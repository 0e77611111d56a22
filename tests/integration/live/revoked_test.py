#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Live access that is open when the certificate of one of its ends is revoked, its authority is trusted no more, or its token is
taken away: it ends, and there is no other until that is taken back. Over Kafka the sealed session decides, over gRPC the agent's
stream."""
import hashlib
import http.client
import ssl
import unittest

from access import TOKEN, TOKEN_W1, Access
from daemons import TRANSPORT, only_kafka, wait_for


class Revoked(Access):
    """Each end has a list of its own."""

    def setUp(self):
        self.lists = {}
        super().setUp()
        self.ask_when_there("GET", "/version")

    def list_of(self, end):
        self.lists[end] = self.folder / f"revoked-by-{end}"
        self.lists[end].touch()
        return str(self.lists[end])

    def principal_config(self):
        config = super().principal_config()
        config["grpc"] = {**config.get("grpc", {}), "auth": {"revoked": self.list_of("principal")}}
        return config

    def agent_config(self):
        config = super().agent_config()
        config["live"]["revoked"] = self.list_of("agent")
        return config

    def revoke(self, end, *names):
        """Only these are on the list of this end."""
        pems = [(self.certs / f"{name}.crt").read_text() for name in names]
        lines = [hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest() + "\n" for pem in pems]
        new = self.lists[end].with_suffix(".new")
        new.write_text("# revoked\n" + "".join(lines))
        new.rename(self.lists[end])

    def ends_and_begins_again(self, end, name, *words):
        watch = self.begin("GET", self.path("services") + "?watch=true")
        self.assertEqual(watch.status, 200)
        self.revoke(end, name)
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            watch.read()
        refused = self.ask("GET", "/version")
        self.assertIn(refused.code, (502, 503))
        for word in words:
            self.assertIn(word, refused.json()["message"])
        self.revoke(end)
        wait_for("it is let in again", lambda: self.ask("GET", "/version").code == 200)

    def test_the_certificate_of_an_agent(self):
        self.ends_and_begins_again("principal", "w1", *(["agent is revoked"] if TRANSPORT == "kafka" else []))

    @only_kafka("over gRPC no agent has a list of principals")
    def test_the_certificate_of_the_principal(self):
        self.ends_and_begins_again("agent", "server", "principal is revoked")

    @only_kafka("over gRPC logins have this list")
    def test_a_list_that_cannot_be_read_leaves_the_one_before_in_force(self):
        self.revoke("principal", "w1")
        wait_for("it is refused", lambda: self.ask("GET", "/version").code != 200)
        self.lists["principal"].write_text("nonsense")
        wait_for("it is said", lambda: "cannot read the revoked certificates of live access" in self.principal.log.read_text())
        self.assertIn("agent is revoked", self.ask("GET", "/version").json()["message"])


class Tokens(Access):
    def test_a_token_that_is_taken_away(self):
        self.ask_when_there("GET", "/version")
        kept = self.begin("GET", self.path("services") + "?watch=true", token=TOKEN_W1)
        watch = self.begin("GET", f"/agents/w1{self.path('services')}?watch=true", token=TOKEN)
        self.assertEqual((watch.status, kept.status), (200, 200))
        new = self.folder / "tokens.new"
        new.write_text(f"{TOKEN_W1} w1\n")
        new.rename(self.folder / "tokens")
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            watch.read()
        self.assertEqual(self.ask("GET", "/agents/w1/version", token=TOKEN).code, 401)
        made = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 1}]}}
        self.apply(made)
        self.assertIn(b'"ADDED"', kept.read1(65536))


class Untrusted(Access):
    """Each end has authorities of its own to trust."""

    def setUp(self):
        super().setUp()
        self.ask_when_there("GET", "/version")

    def trust(self, end, authority):
        """Only this authority."""
        path = self.folder / f"trusted-by-{end}.crt"
        new = path.with_suffix(".new")
        new.write_bytes((self.certs / f"{authority}.crt").read_bytes())
        new.rename(path)
        return str(path)

    def principal_config(self):
        config = super().principal_config()
        trusted = self.trust("principal", "ca")
        config["live"]["ca"] = trusted
        if TRANSPORT == "grpc":
            config["grpc"]["tls"]["ca"] = trusted
        return config

    def agent_config(self):
        config = super().agent_config()
        config["live"]["ca"] = self.trust("agent", "ca")
        return config

    def ends_and_begins_again(self, end):
        watch = self.begin("GET", self.path("services") + "?watch=true")
        self.assertEqual(watch.status, 200)
        self.trust(end, "foreign")
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            watch.read()
        self.assertIn(self.ask("GET", "/version").code, (502, 503))
        self.trust(end, "ca")
        wait_for("it is let in again", lambda: self.ask("GET", "/version").code == 200, 90)

    def test_the_authority_of_an_agent(self):
        self.ends_and_begins_again("principal")

    @only_kafka("over gRPC the agent's stream decides, as above")
    def test_the_authority_of_the_principal(self):
        self.ends_and_begins_again("agent")


if __name__ == "__main__":
    unittest.main()
