#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs docs/operate/managed-kafka.md, see two_clusters.py. The service is the broker of the tests: its users log in by unsigned tokens of
an authorization server of this test, by passwords and by certificates, and may do what ACLs allow. What a service has a public
certificate for has a private one here, which SSL_CERT_FILE makes that of the system for connections to brokers.
"""
import pathlib
import re
import shutil
import subprocess
import unittest

import broker
from authority import Authority
from chart import ROOT
from daemons import broker_ports
from documented import commands
from two_clusters import TwoClusters

PAGE = ROOT / "docs/operate/managed-kafka.md"
FILE = re.compile(r"^```yaml\n# (\S+\.yaml)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
TLS = pathlib.Path(broker.HOME, "tls")
SECRETS = {"principal": "principal-client", "oslo": "oslo-client"}
PROPERTIES = re.compile(r"^```properties\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


class Docs(TwoClusters):
    edge = "oslo"

    def setUp(self):
        super().setUp()
        self.authority = Authority(self.folder, SECRETS)
        self.addCleanup(self.authority.close)
        self.authority.seconds = 3600
        self.write_files()
        self.write_pages_files()
        for cluster in (self.hub, self.spoke):
            cluster.kubectl("create", "secret", "generic", "login-ca", f"--from-file=ca.crt={self.authority.ca}")
        self.env |= {"BOOTSTRAP": self.sasl, "COMMAND_CONFIG": str(self.folder / "admin.properties"),
                     "SSL_CERT_FILE": str(TLS / "ca.crt")}

    def clean_hub(self):
        super().clean_hub()
        self.hub.kubectl("delete", "secret", "argobus-kafka", "argocd-agent-ca", "cluster-oslo", "login-ca", "--ignore-not-found")

    def write_files(self):
        """What the reader has of the service."""
        self.sasl, self.tls = (f"127.0.0.1:{broker_ports()[name]}" for name in ("sasl", "tls"))
        [login] = PROPERTIES.findall(PAGE.read_text())
        (self.folder / "admin.properties").write_text(login.replace("PASSWORD", "admin-secret") + "ssl.truststore.type=PEM\n"
                                                      f"ssl.truststore.location={TLS}/ca.crt\n")
        for name, text in (("admin.password", "admin-secret"), ("oslo.password", "oslo-secret"),
                           *((f"{client}.secret", secret) for client, secret in SECRETS.items())):
            (self.folder / name).write_text(text)
        subprocess.run([broker.KAFKA_DEV, "cert", "oslo"], check=True, capture_output=True)
        for kind in ("crt", "key"):
            shutil.copy(TLS / f"oslo.{kind}", self.folder / f"oslo-kafka.{kind}")

    def write_pages_files(self):
        """With the addresses of this test, one replica, and the authority of its token endpoint."""
        for name, text in FILE.findall(PAGE.read_text()):
            for there, here in (("kafka.example.com:9092", self.sasl), ("kafka.example.com:9093", self.tls),
                                ("https://login.example.com/oauth2/token", self.authority.endpoint)):
                text = text.replace(there, here)
            if name == "admin.yaml":
                text += "  replication-factor: 1\n  min-insync-replicas: 1\n"
            ca = "{secretName: login-ca}" if name.endswith("-values.yaml") else str(self.authority.ca)
            text = re.sub(r"^( *)scope: kafka$", rf"\g<0>\n\1ca: {ca}", text, flags=re.MULTILINE)
            (self.folder / name).write_text(text)

    def as_the_page_has_it(self, text):
        return text.replace(self.sasl, "kafka.example.com:9092")

    def test_every_command_works_and_the_first_application_arrives(self):
        self.pod_env["SSL_CERT_FILE"] = self.env["SSL_CERT_FILE"]
        self.begin()
        for block in commands("docs/operate/managed-kafka.md", env=self.env):
            self.run_block(block)
        self.assertGreater(self.authority.given, 2)


if __name__ == "__main__":
    unittest.main()
