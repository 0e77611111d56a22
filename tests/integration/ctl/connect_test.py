#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""argobusctl connect to a real broker with client certificates, and to a real principal, and each way in which that breaks."""
import datetime
import json
import os
import pathlib
import socket
import subprocess
import unittest

import yaml

from ctl import Ctl
from daemons import Daemon, broker_ports
from ports import free_port

TLS = pathlib.Path(os.environ["KAFKA_DEV_HOME"], "tls")

DAY_S = 86400


def date_of(which, path):
    """As the findings write it. which: startdate or enddate"""
    said = subprocess.run(["openssl", "x509", "-noout", f"-{which}", "-in", path], check=True, capture_output=True, text=True).stdout
    date = datetime.datetime.strptime(said.strip().partition("=")[2], "%b %d %H:%M:%S %Y GMT")
    return date.strftime("%Y-%m-%dT%H:%M:%SZ")


class Connect(Ctl):
    def setUp(self):
        super().setUp()
        subprocess.run([os.environ["KAFKA_DEV"], "cert", "ctl-connect"], check=True, capture_output=True)

    def findings(self, config, code):
        (self.folder / "agent.yaml").write_text(yaml.safe_dump(config))
        done = self.run_command("argobusctl", "connect", "agent", "-c", "agent.yaml", "-o", "json")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        found = json.loads(done.stdout)
        self.errors = [f for f in found if f["severity"] == "error"]
        return [f["what"] for f in found if f["severity"] == "ok"], [f["what"] for f in self.errors]

    def connect(self, address, code=1, **tls):
        tls = {"enabled": True, "ca": str(TLS / "ca.crt"), "cert": str(TLS / "ctl-connect.crt"),
               "key": str(TLS / "ctl-connect.key"), **tls}
        return self.findings({
            "agent": {"name": "ctl-connect", "data": "data"}, "store": {"kind": "directory", "directory": {"path": "store"}},
            "kafka": {"brokers": [address], "tls": tls}}, code)

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

    def test_an_address_without_a_port_is_tried_too(self):
        self.issue("--dns", "p.example.com")
        _, bad = self.findings({
            "agent": {"name": "w1", "data": "data"}, "store": {"kind": "directory", "directory": {"path": "store"}},
            "transport": "grpc", "grpc": {"address": "nowhere.invalid", "tls": {
                "ca": "ca/ca.crt", "cert": "w1.crt", "key": "w1.key"}}}, 1)
        self.assertTrue(bad[0].startswith("name: "), bad)
        _, bad = self.connect("nowhere.invalid")
        self.assertTrue(bad[0].startswith("name: "), bad)

    def test_what_is_no_port_is_told(self):
        _, bad = self.connect("127.0.0.1:kafka")
        self.assertEqual(bad[0], 'kafka.brokers: "kafka" is not a port')

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

    def test_a_broker_whose_certificate_is_for_another_host(self):
        address = f"127.1:{broker_ports()['tls']}"  # resolves to 127.0.0.1, which the certificate has, by another name
        good, bad = self.connect(address)
        self.assertEqual(good, ["the name resolves", "TCP connects"])
        self.assertEqual(bad[0], "TLS: the certificate is not for 127.1, but for localhost, 127.0.0.1")
        self.assertEqual(self.errors[0]["where"], address)
        self.assertEqual(self.errors[0]["remedy"], "use one of these names in kafka.brokers and in the brokers' "
                         "advertised.listeners, or give the broker a certificate for 127.1")

    def make_the_ca_outlive_the_broker(self):
        ca = ("-in", TLS / "ca.crt", "-signkey", TLS / "ca.key")
        self.openssl("x509", "-x509toreq", *ca, "-copy_extensions", "copy", "-out", "ca.csr")
        self.openssl("x509", "-req", "-in", "ca.csr", *ca[2:], "-days", "5000", "-out", "ca.crt")

    def test_a_broker_whose_certificate_has_expired(self):
        self.make_the_ca_outlive_the_broker()
        self.shift_the_clock(4000 * DAY_S)  # that of the broker is made for 3650 days
        good, bad = self.connect(f"127.0.0.1:{broker_ports()['tls']}", ca="ca.crt")
        self.assertEqual(good, ["the name resolves", "TCP connects"])
        date = date_of("enddate", TLS / "broker.crt")
        self.assertEqual(bad[0], f"TLS: the certificate of CN=broker has expired: it was valid until {date}")
        self.assertEqual(self.errors[0]["remedy"], "renew it at the brokers; if it is valid, correct the clock of this host")

    def test_a_broker_whose_certificate_is_of_the_future(self):
        self.shift_the_clock(-2 * DAY_S)
        _, bad = self.connect(f"127.0.0.1:{broker_ports()['tls']}")
        date = date_of("startdate", TLS / "ca.crt")
        self.assertEqual(bad[0], f"TLS: the certificate of CN=kafka-dev is not valid yet: it is valid from {date}")
        self.assertEqual(self.errors[0]["remedy"], "synchronise the clock of this host (NTP)")

    def connect_to_principal(self, cert, key, code=1, host="localhost", **tls):
        """What an agent finds out about a principal that serves with this certificate."""
        port, folder = free_port(), self.folder / "principal"
        (folder / "store").mkdir(parents=True, exist_ok=True)
        principal = Daemon("argobus-principal", folder, {
            "principal": {"data": str(folder)}, "agents": [{"name": "w1"}],
            "store": {"kind": "directory", "directory": {"path": str(folder / "store")}},
            "transport": "grpc", "grpc": {"listen": f"127.0.0.1:{port}", "tls": {
                "ca": str(self.folder / "ca/ca.crt"), "cert": str(self.folder / cert), "key": str(self.folder / key)}}})
        self.addCleanup(principal.kill)
        principal.start()
        found = self.findings({
            "agent": {"name": "w1", "data": "data"}, "store": {"kind": "directory", "directory": {"path": "store"}},
            "transport": "grpc", "grpc": {"address": f"{host}:{port}", "tls": {
                "ca": "ca/ca.crt", "cert": "w1.crt", "key": "w1.key", **tls}}}, code)
        principal.stop()
        return found

    def issue(self, *names):
        self.ctl("pki", "init")
        self.ctl("pki", "issue", "agent", "w1")
        self.ctl("pki", "issue", "principal", *names)

    def test_a_principal_whose_certificate_is_for_another_host(self):
        self.issue("--dns", "p.example.com,*.example.org", "--ip", "10.0.0.7,fd00::7")
        good, bad = self.connect_to_principal("principal.crt", "principal.key")
        self.assertEqual(good, ["the name resolves", "TCP connects"])
        self.assertEqual(bad, ["TLS: the certificate is not for localhost, but for p.example.com, *.example.org, 10.0.0.7, fd00::7"])
        self.assertEqual(self.errors[0]["remedy"], "set grpc.tls.server-name to one of these names, or give the principal a "
                         "certificate for localhost: argobusctl pki issue principal")

    def test_the_name_that_is_set_is_the_one_that_is_compared(self):
        self.issue("--dns", "p.example.com")
        _, bad = self.connect_to_principal("principal.crt", "principal.key", **{"server-name": "q.example.com"})
        self.assertEqual(bad, ["TLS: the certificate is not for q.example.com, but for p.example.com"])
        good, _ = self.connect_to_principal("principal.crt", "principal.key", code=0, **{"server-name": "p.example.com"})
        self.assertIn("certificate trusted", good[2])

    def test_a_certificate_without_a_host_is_named_by_its_subject(self):
        self.issue("--dns", "p.example.com")
        self.sign("-subj", "/O=example/CN=nobody", "-days", "3", out="nameless.crt")
        _, bad = self.connect_to_principal("nameless.crt", "principal.key", host="127.0.0.1")
        self.assertEqual(bad, ["TLS: the certificate is not for 127.0.0.1, but for CN=nobody,O=example"])

    def sign(self, *options, out):
        """Another certificate for the principal's key."""
        (self.folder / "ext").write_text("extendedKeyUsage=serverAuth\n")
        subject = options[:2]
        self.openssl("req", "-new", "-key", "principal.key", *subject, "-out", "p.csr")
        self.openssl("x509", "-req", "-in", "p.csr", "-CA", "ca/ca.crt", "-CAkey", "ca/ca.key", "-extfile", "ext",
                     *options[2:], "-out", out)

    def test_a_principal_whose_certificate_has_expired(self):
        self.issue("--dns", "localhost")
        self.sign("-subj", "/CN=localhost", "-days", "-1", out="old.crt")
        good, bad = self.connect_to_principal("old.crt", "principal.key")
        self.assertEqual(good, ["the name resolves", "TCP connects"])
        date = date_of("enddate", self.folder / "old.crt")
        self.assertEqual(bad, [f"TLS: the certificate of CN=localhost has expired: it was valid until {date}"])
        self.assertIn("renew it at the principal (argobusctl pki renew FILE)", self.errors[0]["remedy"])

    def test_an_agent_whose_own_certificate_has_expired(self):
        self.issue("--dns", "localhost")
        (self.folder / "ext").write_text("extendedKeyUsage=clientAuth\n")
        self.openssl("req", "-new", "-key", "w1.key", "-subj", "/CN=w1", "-out", "w1.csr")
        self.openssl("x509", "-req", "-in", "w1.csr", "-CA", "ca/ca.crt", "-CAkey", "ca/ca.key", "-extfile", "ext", "-days", "-1",
                     "-out", "old.crt")
        (self.folder / "w1.crt").write_bytes((self.folder / "old.crt").read_bytes())
        good, bad = self.connect_to_principal("principal.crt", "principal.key")
        self.assertEqual(good, ["the name resolves", "TCP connects"])
        date = date_of("enddate", self.folder / "old.crt")
        self.assertEqual(bad[0], f"TLS: the certificate of CN=w1 has expired: it was valid until {date}")
        self.assertEqual(self.errors[0]["where"], "w1.crt")
        self.assertEqual(self.errors[0]["remedy"],
                         "renew it (argobusctl pki renew FILE); if it is valid, correct the clock of this host")

    def test_a_principal_with_grpc_has_nobody_to_connect_to(self):
        (self.folder / "p.yaml").write_text(yaml.safe_dump({
            "principal": {"data": "data"}, "store": {"kind": "directory", "directory": {"path": "store"}}, "transport": "grpc",
            "grpc": {"listen": "127.0.0.1:0", "insecure": True}}))
        self.assertIn("connects to nobody", self.ctl("connect", "principal", "-c", "p.yaml", code=2))


if __name__ == "__main__":
    unittest.main()
