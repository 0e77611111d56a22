#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What argobusctl agent create writes, for those that it is for: a real broker, the agent, the chart."""
import base64
import os
import pathlib
import subprocess
import sys
import unittest
import uuid

import yaml

from ctl import BIN, ROOT, Ctl
from daemons import broker_ports, kafka_dev, wait_for

sys.path.append(str(ROOT / "tests/integration/deploy"))
import chart  # noqa: E402


class Agent(Ctl):
    def setUp(self):
        super().setUp()
        self.ctl("pki", "init")

    def create(self, *args, name="w1"):
        self.ctl("agent", "create", name, *(args or ("--brokers", "kafka-1.example.com:9093,kafka-2.example.com:9093")))

    def read(self, file):
        return list(yaml.safe_load_all((self.folder / file).read_text()))

    def check_config(self, folder):
        done = subprocess.run([BIN / "argobus-agent", "-c", "agent.yaml", "--check-config", "--set", "store.kind=directory",
                               "--set", "store.directory.path=."], cwd=self.folder / folder, capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_control_plane_learns_name_and_mode(self):
        self.create()
        namespace, secret = self.read("w1/control-plane.yaml")
        self.assertEqual((namespace["kind"], namespace["metadata"]["name"]), ("Namespace", "w1"))
        meta = secret["metadata"]
        self.assertEqual((meta["name"], meta["namespace"]), ("cluster-w1", "argocd"))
        self.assertEqual(meta["labels"], {"argocd.argoproj.io/secret-type": "cluster",
                                          "argocd-agent.argoproj-labs.io/agent-name": "w1"})
        self.assertEqual(meta["annotations"], {"argocd.argoproj.io/skip-reconcile": "true", "argobus.io/mode": "managed"})
        self.assertEqual(secret["stringData"]["server"], "https://argobus-principal:9090/agents/w1")

    def test_names_that_yaml_would_take_for_something_else(self):
        for name in ("1e3", "0x10", "null", "true", "12"):
            self.create(name=name)
            namespace, secret = self.read(f"{name}/control-plane.yaml")
            self.assertEqual(namespace["metadata"]["name"], name)
            self.assertEqual(secret["stringData"]["name"], name)
            self.assertEqual(self.read(f"{name}/values.yaml")[0]["agent"]["name"], name)

    def test_with_destination_mapping_there_is_no_namespace(self):
        self.create("--brokers", "k:9093", "--mapping", "destination", "--namespace", "cd")
        [secret] = self.read("w1/control-plane.yaml")
        self.assertEqual(secret["metadata"]["namespace"], "cd")

    def test_its_secret_and_its_files_are_the_same_certificate(self):
        self.create()
        [secret] = self.read("w1/workload-cluster.yaml")
        self.assertEqual(secret["metadata"]["name"], "argocd-agent-client-tls")
        for name, file in (("tls.crt", "w1.crt"), ("tls.key", "w1.key"), ("ca.crt", "ca.crt")):
            self.assertEqual(base64.b64decode(secret["data"][name]), (self.folder / "w1" / file).read_bytes())
        self.openssl("verify", "-CAfile", "ca/ca.crt", "-purpose", "sslclient", "w1/w1.crt")
        for file in ("w1.key", "workload-cluster.yaml"):
            self.assertEqual((self.folder / "w1" / file).stat().st_mode & 0o777, 0o600)

    def test_the_agent_trusts_the_server_ca_that_is_named(self):
        self.ctl("pki", "init", "--ca-dir", "other", "--name", "other")
        self.create("--brokers", "k:9093", "--server-ca", "other/ca.crt")
        self.assertEqual((self.folder / "w1/ca.crt").read_bytes(), (self.folder / "other/ca.crt").read_bytes())
        self.openssl("verify", "-CAfile", "ca/ca.crt", "w1/w1.crt")
        self.assertIn("nosuch.crt", self.ctl("agent", "create", "w2", "--brokers", "k:9093", "--server-ca", "nosuch.crt", code=1))
        self.assertFalse((self.folder / "w2").exists())

    def test_the_agent_takes_its_configuration(self):
        self.create()
        self.check_config("w1")
        self.create("--transport", "grpc", "--address", "principal.example.com:8443", "--mode", "autonomous", name="w2")
        self.check_config("w2")

    def test_the_chart_takes_its_values(self):
        self.create()
        self.create("--transport", "grpc", "--address", "principal.example.com:8443", name="w2")
        for name in ("w1", "w2"):
            done = chart.helm(self.read(f"{name}/values.yaml")[0])
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_strimzi_gets_what_deploy_has(self):
        self.create("--brokers", "k:9093", "--strimzi-cluster", "hub")
        mine = self.read("w1/strimzi.yaml")
        shipped = list(yaml.safe_load_all((ROOT / "deploy/kafka/strimzi/agent.yaml").read_text()))
        # This certificate is not Strimzi's.
        self.assertEqual(mine[-1]["spec"]["authentication"], {"type": "tls-external"})
        mine[-1]["spec"]["authentication"] = shipped[-1]["spec"]["authentication"]
        self.assertEqual(mine, shipped)

    def test_bad_input_writes_nothing(self):
        brokers = ("--brokers", "k:9093")
        for said, *args in (("is not a name for an agent", "W1", *brokers), ("is not a name for an agent", "a.b", *brokers),
                            ("Argo CD's name of the control plane's own cluster", "in-cluster", *brokers),
                            ("needs the brokers", "w1"), ("needs the principal's address", "w1", "--transport", "grpc"),
                            ("is for --transport grpc", "w1", *brokers, "--address", "p:1"),
                            ("are for --transport kafka", "w1", "--transport", "grpc", "--address", "p:1", *brokers),
                            ("is not host:port", "w1", "--brokers", "k"), ("is not host:port", "w1", "--brokers", "k:0"),
                            ("is not host:port", "w1", "--brokers", "k:1,"), ("is not host:port", "w1", "--brokers", 'k": 1, "x:1\n'),
                            ("is not managed or autonomous", "w1", *brokers, "--mode", "both"),
                            ("is for managed agents", "w1", *brokers, "--mode", "autonomous", "--mapping", "destination"),
                            ("does not begin a topic's name", "w1", *brokers, "--prefix", "a b"),
                            ("not the name of a Kafka", "w1", *brokers, "--strimzi-cluster", "x y"),
                            ("begin the name of a KafkaTopic", "w1", *brokers, "--strimzi-cluster", "x", "--prefix", "Team_a"),
                            ("is not host:port", "w1", *brokers, "--live-server", "x"),
                            ("not a DNS label", "w1", *brokers, "--namespace", "x.y")):
            self.assertIn(said, self.ctl("agent", "create", *args, code=2), args)
        self.assertIn("there is no CA", self.ctl("agent", "create", "w1", *brokers, "--ca-dir", "x", code=1))
        self.assertEqual([p.name for p in self.folder.iterdir()], ["ca"])
        self.create()
        before = (self.folder / "w1/w1.key").read_bytes()
        self.assertIn("w1 exists already", self.ctl("agent", "create", "w1", *brokers, code=1))
        self.assertEqual((self.folder / "w1/w1.key").read_bytes(), before)

    def test_half_a_folder_is_not_left(self):
        # Only the files up to workload-cluster.yaml are short enough.
        done = self.run_command("bash", "-c", "trap '' XFSZ; ulimit -f 1; exec argobusctl agent create w1 --brokers k:9093")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertIn("cannot write w1/workload-cluster.yaml", done.stderr)
        self.assertEqual([p.name for p in self.folder.iterdir()], ["ca"])
        self.create("--brokers", "k:9093")

    def test_delete_prints_the_cluster_secret_only(self):
        secret = yaml.safe_load(self.ctl("agent", "delete", "w1", "--namespace", "cd"))
        self.assertEqual(secret, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cluster-w1", "namespace": "cd"}})
        self.assertIn("is not a name for an agent", self.ctl("agent", "delete", "W1", code=2))

    def test_a_broker_with_client_certificates_takes_the_agent(self):
        """The CA is the one that the broker trusts; the broker names the user by the certificate."""
        tls = pathlib.Path(os.environ["KAFKA_DEV_HOME"], "tls")
        os.makedirs(self.folder / "broker-ca")
        for name in ("ca.crt", "ca.key"):
            (self.folder / "broker-ca" / name).write_bytes((tls / name).read_bytes())
        self.create("--brokers", f"127.0.0.1:{broker_ports()['tls']}", "--ca-dir", "broker-ca", "--strimzi-cluster", "hub",
                    name="ctl-made")
        *topics, user = self.read("ctl-made/strimzi.yaml")
        topic = "argobus.up.ctl-made.state"
        self.assertIn(topic, [t["metadata"]["name"] for t in topics])
        plain = f"127.0.0.1:{broker_ports()['plain']}"
        kafka_dev("tool", "topics", "--bootstrap-server", plain, "--create", "--topic", topic)
        self.addCleanup(kafka_dev, "tool", "topics", "--bootstrap-server", plain, "--delete", "--topic", topic)
        [acl] = [a for a in user["spec"]["authorization"]["acls"] if "Write" in a["operations"]]
        kafka_dev("tool", "acls", "--bootstrap-server", plain, "--add", "--force", "--allow-principal",
                  f"User:{user['metadata']['name']}", *(part for o in acl["operations"] for part in ("--operation", o)),
                  "--topic", acl["resource"]["name"], "--resource-pattern-type", "prefixed")
        folder = self.folder / "ctl-made"
        settings = ("security.protocol=ssl", f"ssl.ca.location={folder}/ca.crt",
                    f"ssl.certificate.location={folder}/ctl-made.crt", f"ssl.key.location={folder}/ctl-made.key")
        options = [part for setting in settings for part in ("-X", setting)]
        command = ["kcat", "-m", "60", "-b", f"127.0.0.1:{broker_ports()['tls']}", *options]

        def produces(to):
            done = subprocess.run([*command, "-P", "-t", to, "-k", "x"], input="x", capture_output=True, text=True, timeout=120)
            return done.returncode == 0 and "ERROR" not in done.stderr

        wait_for("the agent may write", lambda: produces(topic))
        self.assertFalse(produces("argobus.up.another.state"))


class Docs(Ctl):
    def test_the_page_does_what_it_says(self):
        prefix = f"ctl-docs-{uuid.uuid4().hex[:8]}"
        (self.folder / "admin.yaml").write_text(yaml.safe_dump({"kafka": {
            "brokers": [f"127.0.0.1:{broker_ports()['plain']}"], "insecure": True, "replication-factor": 1, "prefix": prefix}}))
        self.run_page("docs/operate/agents.md", lambda text: text.replace(prefix, "argobus").splitlines())


if __name__ == "__main__":
    unittest.main()
