#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs docs/operate/strimzi.md, see two_clusters.py. No operator of Strimzi runs: with Strimzi's own CRDs on a real API server, the
test does their part. The Cluster Operator writes Secrets with the authorities; the Topic Operator makes what KafkaTopics say, at the
real broker; the User Operator gives the rights that KafkaUsers say, issues a certificate, writes its Secret, and reports.

The environment is as two_clusters.py says, with STRIMZI_DEV.
"""
import base64
import json
import pathlib
import re
import subprocess
import unittest

import broker
from chart import ROOT
from daemons import broker_ports, wait_for
from documented import commands
from strimzi_test import apply_crds
from two_clusters import TwoClusters

PAGE = ROOT / "docs/operate/strimzi.md"
FILE = re.compile(r"^```yaml\n# (\S+\.yaml)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
TLS = pathlib.Path(broker.HOME, "tls")
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


class Docs(TwoClusters):
    edge = "paris"

    def setUp(self):
        super().setUp()
        self.env["BROKERS"] = f"127.0.0.1:{broker_ports()['tls']}"
        for name, text in FILE.findall(PAGE.read_text()):
            (self.folder / name).write_text(text.replace("kafka.example.com:9094", self.env["BROKERS"]))
        apply_crds(self)
        self.kafka("create", "namespace", "kafka")
        for name in ("hub-cluster-ca-cert", "hub-clients-ca-cert"):
            self.write_secret(name, {"ca.crt": TLS / "ca.crt"})

    def clean_hub(self):
        super().clean_hub()
        self.hub.kubectl("delete", "secret", "principal", "hub-cluster-ca-cert", "hub-clients-ca-cert", "--ignore-not-found")
        self.kafka("delete", "namespace", "kafka", "--ignore-not-found")

    def kafka(self, *args, text=None):
        """kubectl in the namespace of Kafka."""
        done = subprocess.run(["kubectl", "--context", "hub", "-n", "kafka", *args], input=text, text=True, capture_output=True,
                              timeout=300, env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def write_secret(self, name, files, **metadata):
        data = {key: base64.b64encode(path.read_bytes()).decode() for key, path in files.items()}
        self.kafka("create", "-f", "-", text=json.dumps({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, **metadata}, "data": data}))

    def installed(self, kind, count):
        def found():
            items = json.loads(self.kafka("get", kind, "-o", "json"))["items"]
            return len(items) >= count and items
        return wait_for(f"{count} of {kind} are installed", found, 600)

    def report(self, resource, **status):
        self.kafka("patch", resource["kind"].lower(), resource["metadata"]["name"], "--subresource=status", "--type=merge", "-p",
                   json.dumps({"status": {**READY, "observedGeneration": resource["metadata"]["generation"], **status}}))

    def tool(self, name, *args):
        done = broker.run(f"kafka-{name}.sh", "--bootstrap-server", self.env["BOOTSTRAP"], *args, env=self.env)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def operators(self):
        for topic in self.installed("kafkatopic", 4):
            self.make_topic(topic)
        for user in self.installed("kafkauser", 2):
            self.make_user(user)

    def make_topic(self, topic):
        # One broker only.
        config = {**topic["spec"]["config"], "min.insync.replicas": 1}
        self.tool("topics", "--create", "--topic", topic["metadata"]["name"], "--partitions", str(topic["spec"]["partitions"]),
                  "--replication-factor", "1", *(word for pair in config.items() for word in ("--config", "=".join(map(str, pair)))))
        self.report(topic)

    def make_user(self, user):
        name = user["metadata"]["name"]
        self.assertEqual(user["spec"]["authentication"], {"type": "tls"})
        for acl in user["spec"]["authorization"]["acls"]:
            resource = acl["resource"]
            pattern = {"prefix": "prefixed", "literal": "literal"}[resource["patternType"]]
            self.tool("acls", "--add", "--force", "--allow-principal", f"User:{name}", f"--{resource['type']}", resource["name"],
                      "--resource-pattern-type", pattern, *(word for o in acl["operations"] for word in ("--operation", o)))
        subprocess.run([broker.KAFKA_DEV, "cert", name], check=True, capture_output=True)
        self.write_secret(name, {"ca.crt": TLS / "ca.crt", "user.crt": TLS / f"{name}.crt", "user.key": TLS / f"{name}.key"},
                          ownerReferences=[{"apiVersion": user["apiVersion"], "kind": user["kind"], "name": name,
                                            "uid": user["metadata"]["uid"]}])
        self.report(user, username=f"CN={name}", secret=name)

    def test_every_command_works_and_the_first_application_arrives(self):
        self.begin(self.operators)
        for block in commands("docs/operate/strimzi.md", env=self.env):
            self.run_block(block)


if __name__ == "__main__":
    unittest.main()
