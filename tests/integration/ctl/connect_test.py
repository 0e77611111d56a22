#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""argobusctl connect to a real broker with client certificates, and each way in which that breaks."""
import json
import os
import pathlib
import socket
import subprocess
import unittest

import yaml

from ctl import Ctl
from daemons import broker_ports

TLS = pathlib.Path(os.environ["KAFKA_DEV_HOME"], "tls")


class Connect(Ctl):
    def setUp(self):
        super().setUp()
        subprocess.run([os.environ["KAFKA_DEV"], "cert", "ctl-connect"], check=True, capture_output=True)

    def connect(self, address, code=1, **tls):
        tls = {"enabled": True, "ca": str(TLS / "ca.crt"), "cert": str(TLS / "ctl-connect.crt"),
               "key": str(TLS / "ctl-connect.key"), **tls}
        (self.folder / "agent.yaml").write_text(yaml.safe_dump({
            "agent": {"name": "ctl-connect", "data": "data"}, "store": {"kind": "directory", "directory": {"path": "store"}},
            "kafka": {"brokers": [address], "tls": tls}}))
        done = self.run_command("argobusctl", "connect", "agent", "-c", "agent.yaml", "-o", "json")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        found = json.loads(done.stdout)
        return [f["what"] for f in found if f["severity"] == "ok"], [f["what"] for f in found if f["severity"] == "error"]

    def test_each_step_to_a_broker_is_shown(self):
        good, bad = self.connect(f"127.0.0.1:{broker_ports()['tls']}")
        self.assertEqual(good[:2], ["the name resolves", "TCP connects"])
        self.assertIn("certificate trusted", good[2])
        self.assertEqual(good[3], "1 brokers answer")
        self.assertEqual(len(bad), 6, bad)  # nobody has given it rights
        self.assertTrue(all("Topic authorization failed" in what for what in bad[:4]), bad)
        self.assertTrue(all("Read on the consumer group is missing" in what for what in bad[4:]), bad)

    def test_a_name_that_does_not_resolve(self):
        _, bad = self.connect("nowhere.invalid:9093")
        self.assertTrue(bad[0].startswith("name: "), bad)

    def test_a_port_where_nobody_listens(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            good, bad = self.connect(f"127.0.0.1:{s.getsockname()[1]}")
        self.assertEqual(good, ["the name resolves"])
        self.assertEqual(bad[0], "TCP: Connection refused")

    def test_a_broker_of_another_ca(self):
        self.ctl("pki", "init")
        good, bad = self.connect(f"127.0.0.1:{broker_ports()['tls']}", ca="ca/ca.crt")
        self.assertEqual(good, ["the name resolves", "TCP connects"])
        self.assertIn("TLS: ", bad[0])
        self.assertIn("certificate", bad[0])

    def test_a_client_certificate_that_the_broker_does_not_trust(self):
        self.ctl("pki", "init")
        self.ctl("pki", "issue", "agent", "ctl-connect")
        _, bad = self.connect(f"127.0.0.1:{broker_ports()['tls']}", cert="ctl-connect.crt", key="ctl-connect.key")
        self.assertIn("TLS: ", bad[0])

    def test_a_principal_with_grpc_has_nobody_to_connect_to(self):
        (self.folder / "p.yaml").write_text(yaml.safe_dump({
            "principal": {"data": "data"}, "store": {"kind": "directory", "directory": {"path": "store"}}, "transport": "grpc",
            "grpc": {"listen": "127.0.0.1:0", "insecure": True}}))
        self.assertIn("connects to nobody", self.ctl("connect", "principal", "-c", "p.yaml", code=2))


if __name__ == "__main__":
    unittest.main()
