#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Certificates, keys and authorities that are replaced while both daemons run: nobody is restarted, nothing is lost."""
import os
import pathlib
import shutil
import subprocess
import unittest

from daemons import Daemon, Fleet, Objects, application, broker_ports, kafka_dev, wait_for
from kinds_test import project, repository, secret

ANOTHER = "the certificate for credentials changed"


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


def replace(path, source):
    """As who renews certificates does: written beside it, then put in its place."""
    new = path.with_name(f".{path.name}.new")
    shutil.copy(source, new)
    new.rename(path)


class Authority:
    """A CA of its own, and the certificates of agent w1 that it issues."""

    def __init__(self, folder):
        self.folder = folder
        self.folder.mkdir(parents=True)
        self.ca = folder / "ca.crt"
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "ca.key", "-out", self.ca,
                "-subj", "/CN=ca", "-days", "2")
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "w1.key", "-out", folder / "w1.csr",
                "-subj", "/CN=w1")
        openssl("x509", "-req", "-in", folder / "w1.csr", "-CA", self.ca, "-CAkey", folder / "ca.key",
                "-CAcreateserial", "-out", folder / "w1.crt", "-days", "2")


class Rotation(Fleet):
    def setUp(self):
        super().setUp()
        self.certs = self.folder / "certs"
        self.certs.mkdir()
        self.authorities = 0
        self.new_authority()
        secrets = {"ca": "../certs/agents-ca.crt"}
        self.principal = Daemon("argobus-principal", self.folder / "principal",
                                {**self.principal_config(), "secrets": secrets})
        secrets = {"certificate": "../certs/w1.crt", "key": "../certs/w1.key"}
        self.agent = Daemon("argobus-agent", self.folder / "agent", {**self.agent_config(), "secrets": secrets})
        self.there = Objects(self.spoke)
        for document in (project("w1"), repository()):
            Objects(self.hub).write(document)
        self.hub.write("w1", "app", application("app"))

    def new_authority(self):
        """The agent's certificate for credentials, and who vouches for it, are replaced."""
        self.authorities += 1
        authority = Authority(self.folder / f"authority-{self.authorities}")
        replace(self.certs / "agents-ca.crt", authority.ca)
        for name in ("w1.key", "w1.crt"):
            replace(self.certs / name, authority.folder / name)

    def password_arrives(self, password):
        wanted = secret("repo", "repository", {"password": password})["data"]["password"]
        wait_for("the credential is at the agent", lambda: (
            self.there.read("Secret", "repo") or {}).get("data", {}).get("password") == wanted)

    def change_password(self, password):
        Objects(self.hub).write(secret("repo", "repository", {
            "project": "team", "url": "https://git.example.com/a", "password": password}))
        self.password_arrives(password)

    def start(self):
        super().start()
        self.arrives("app", "1")
        wait_for("the credential is at the agent", lambda: self.there.read("Secret", "repo"))

    def test_credentials_are_sealed_to_the_certificate_that_there_is_now(self):
        self.start()
        for turn in (1, 2):  # what is sealed to the one before the last does not open any more
            self.new_authority()
            wait_for("the agent has read it", lambda: self.agent.log.read_text().count(ANOTHER) == turn)
        self.change_password("another")

    def test_a_key_that_does_not_belong_to_the_certificate_changes_nothing(self):
        self.start()
        openssl("genrsa", "-out", self.certs / "w1.key.other", "2048")
        replace(self.certs / "w1.key", self.certs / "w1.key.other")
        wait_for("the agent says so", lambda: "cannot load the new certificate" in self.agent.log.read_text())
        self.change_password("another")


@unittest.skipIf(Fleet.transport == "grpc", "of the Kafka connection")
class Connection(Rotation):
    """Over TLS, with certificates of the broker's authority: `admin` may do everything, `stranger` nothing."""

    def use(self, user):
        tls = pathlib.Path(os.environ["KAFKA_DEV_HOME"], "tls")
        for name, source in (("kafka-ca.crt", "ca.crt"), ("kafka.key", f"{user}.key"), ("kafka.crt", f"{user}.crt")):
            replace(self.certs / name, tls / source)

    def kafka(self, **more):
        files = {"ca": "../certs/kafka-ca.crt", "cert": "../certs/kafka.crt", "key": "../certs/kafka.key"}
        return {**super().kafka(**more), "brokers": [f"127.0.0.1:{broker_ports()['tls']}"], "insecure": False,
                "tls": files}

    def setUp(self):
        kafka_dev("cert", "admin")
        kafka_dev("cert", "stranger")
        super().setUp()
        self.use("admin")

    def renewals(self):
        return [daemon.metric("argobus_kafka_renewals_total") for daemon in (self.principal, self.agent)]

    def all_renewed_since(self, before):
        return all(now > then for now, then in zip(self.renewals(), before))

    def test_connections_are_made_anew_with_the_certificate_that_there_is_now(self):
        self.start()
        before = self.renewals()
        self.use("stranger")
        wait_for("all connections are made anew", lambda: self.all_renewed_since(before))
        self.hub.edit("w1", "app", lambda a: a["spec"]["source"].update(targetRevision="2"))
        wait_for("neither is ready", lambda: not self.principal.is_ready() and not self.agent.is_ready())
        self.use("admin")
        self.arrives("app", "2")

    def test_what_changes_across_renewals_arrives(self):
        self.start()
        self.revision = 1

        def changed_until_renewed(before):
            self.revision += 1
            self.hub.edit("w1", "app", lambda a: a["spec"]["source"].update(targetRevision=str(self.revision)))
            self.arrives("app", str(self.revision))
            return self.all_renewed_since(before)

        for _ in range(3):
            before = self.renewals()
            self.use("admin")
            wait_for("all connections are made anew", lambda: changed_until_renewed(before))
        self.assertEqual(self.agent.metric("argobus_replays_total"), 1)  # the one of its first start


if __name__ == "__main__":
    unittest.main(verbosity=2)
