#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""argobusctl agent create and delete at a real broker: the topics and ACLs of deploy/kafka/provision, and nothing of others."""
import os
import socket
import subprocess
import sys
import unittest
import uuid

import yaml

from ctl import ROOT, Ctl
from daemons import broker_ports, kafka_dev, wait_for

sys.path.append(str(ROOT / "tests/integration/deploy"))
import broker  # noqa: E402


class Provision(Ctl):
    def setUp(self):
        super().setUp()
        self.ctl("pki", "init")
        self.prefix = f"ctl-{uuid.uuid4().hex[:8]}"
        self.user = self.prefix  # of Kafka: that of another test has other rights
        self.server = ("--bootstrap-server", f"127.0.0.1:{broker_ports()['plain']}")
        self.administrator()
        self.addCleanup(kafka_dev, "tool", "topics", *self.server, "--delete", "--if-exists", "--topic",
                        f"{self.prefix}[.].*")

    def administrator(self, prefix=None, **kafka):
        kafka = {"brokers": [f"127.0.0.1:{broker_ports()['plain']}"], "insecure": True, "prefix": prefix or self.prefix,
                 "replication-factor": 1, **kafka}
        (self.folder / "admin.yaml").write_text(yaml.safe_dump({"kafka": kafka}))

    def create(self, name="w1", *more, code=0, user=None):
        return self.ctl("agent", "create", name, "--brokers", "k:9093", "-c", "admin.yaml", "--kafka-user", user or self.user,
                        *more, code=code)

    def delete(self, name="w1", *more, user=None):
        done = self.run_command("argobusctl", "agent", "delete", name, "--delete-topics", "-c", "admin.yaml", "--kafka-user",
                                user or self.user, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(yaml.safe_load(done.stdout)["metadata"]["name"], f"cluster-{name}")
        return done.stderr

    def topics(self):
        return broker.topics(self.prefix)

    def acls(self, user=None):
        return broker.acls(user or self.user, self.prefix)

    def make_topic(self, name, *more):
        kafka_dev("tool", "topics", *self.server, "--create", "--topic", f"{self.prefix}.{name}", *more)

    def allow(self, user, *what):
        kafka_dev("tool", "acls", *self.server, "--add", "--force", "--allow-principal", f"User:{user}", *what)

    def test_makes_what_the_script_makes(self):
        script = f"{self.prefix}.script"
        done = broker.run(os.path.join(broker.ROOT, "deploy/kafka/provision"), "agent", "w1",
                          env=broker.environment(PREFIX=script, KAFKA_USER=self.user))
        self.assertEqual(done.returncode, 0, done.stderr)
        expected, rights = self.topics(), self.acls()
        self.assertEqual((len(expected), len(rights)), (4, 7))
        self.administrator(prefix=f"{self.prefix}.mine", **{"min-insync-replicas": 1})
        shown = self.create("w1")
        self.assertEqual(shown.count(": created\n"), 11, shown)
        mine = {name.replace(".mine.", ".script."): settings for name, settings in self.topics().items() if ".mine." in name}
        self.assertEqual(mine, expected)
        self.assertEqual({(kind, name.replace(".mine.", ".script."), *rest) for kind, name, *rest in self.acls()
                          if ".mine." in name}, rights)
        self.assertIn(f"--entity-name {self.user}", shown)  # the quota, which only Kafka's tools can set
        config = yaml.safe_load((self.folder / "w1/agent.yaml").read_text())
        self.assertEqual(config["kafka"]["prefix"], f"{self.prefix}.mine")

    def test_what_exists_is_left_and_said(self):
        self.create()
        topic = f"{self.prefix}.up.w1.live"
        broker.run("kafka-configs.sh", *self.server, "--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config",
                   "retention.ms=1200000", env=broker.environment())
        kafka_dev("tool", "topics", *self.server, "--delete", "--topic", f"{self.prefix}.down.w1.live")
        before = self.topics()
        self.assertEqual((len(before), before[topic]["retention.ms"]), (3, "1200000"))
        shown = self.create("w1", "--out", "again")
        self.assertIn(f"topic {self.prefix}.down.w1.live: created\n", shown)
        self.assertEqual(shown.count(": exists\n"), 10, shown)
        after = self.topics()
        self.assertEqual({name: after[name] for name in before}, before)

    def test_finds_a_broker_where_the_first_is_away(self):
        self.administrator(brokers=["127.0.0.1:1", f"127.0.0.1:{broker_ports()['plain']}"])
        shown = self.create("w1")
        self.assertEqual(shown.count(": created\n"), 11, shown)
        self.assertIn(f"--bootstrap-server 127.0.0.1:1,127.0.0.1:{broker_ports()['plain']} --alter", shown)
        self.delete("w1")
        self.assertEqual((self.topics(), self.acls()), ({}, set()))

    def test_a_dry_run_makes_nothing(self):
        shown = self.create("w1", "--dry-run")
        self.assertEqual(shown.count(": would be created\n"), 11, shown)
        self.assertIn("would write w1\n", shown)
        self.assertEqual((self.topics(), self.acls()), ({}, set()))
        self.assertFalse((self.folder / "w1").exists())

    def test_topics_that_are_wrong_stop_it_before_anything_is_made(self):
        self.make_topic("down.w1.state", "--partitions", "3", "--config", "cleanup.policy=compact")
        self.make_topic("up.w1.state", "--partitions", "1", "--config", "cleanup.policy=delete", "--config",
                        "max.message.bytes=4194304")
        self.make_topic("up.w1.live", "--partitions", "1", "--config", "cleanup.policy=delete", "--config",
                        "max.message.bytes=4194303")
        said = self.create(code=1)
        self.assertIn(f"topic {self.prefix}.down.w1.state has 3 partitions, must have 1", said)
        self.assertIn(f"topic {self.prefix}.up.w1.state has cleanup.policy=delete, must be compact", said)
        self.assertIn(f"topic {self.prefix}.up.w1.live has max.message.bytes=4194303, must be 4194304", said)
        self.assertEqual(len(self.topics()), 3)
        self.assertEqual(self.acls(), set())
        self.assertFalse((self.folder / "w1").exists())

    def test_only_its_own_is_deleted(self):
        other = f"{self.user}0"
        self.create("w1")
        self.create("w10", user=other)
        self.make_topic("down.w1.x.state")
        self.make_topic("down.w1")
        own = ("--topic", f"{self.prefix}.up.w1.", "--resource-pattern-type", "prefixed")
        self.allow(other, "--operation", "Read", *own)
        self.allow(self.user, "--operation", "Read", "--topic", f"{self.prefix}.up.w1.x.", "--resource-pattern-type", "prefixed")
        self.allow(self.user, "--operation", "Read", "--topic", f"{self.prefix}.up.w1.")  # literal
        self.allow(self.user, "--operation", "Alter", *own)
        topics, mine, others = self.topics(), self.acls(), self.acls(other)
        self.assertEqual((len(topics), len(mine), len(others)), (10, 10, 8))
        self.assertEqual(self.delete("w1", "--dry-run").count(": would be deleted\n"), 11)
        self.assertEqual((self.topics(), self.acls()), (topics, mine))
        self.assertEqual(self.delete("w1").count(": deleted\n"), 11)
        gone = {f"{self.prefix}.{way}.w1.{lane}" for way in ("down", "up") for lane in ("state", "live")}
        self.assertEqual(self.topics(), {name: of for name, of in topics.items() if name not in gone})
        self.assertEqual(self.acls(), {("topic", f"{self.prefix}.up.w1.x.", "prefixed", "read"),
                                       ("topic", f"{self.prefix}.up.w1.", "literal", "read"),
                                       ("topic", f"{self.prefix}.up.w1.", "prefixed", "alter")})
        self.assertEqual(self.acls(other), others)
        self.assertEqual(self.delete("w1").count(": does not exist\n"), 11)

    def test_without_being_told_nothing_is_deleted(self):
        self.create()
        said = self.run_command("argobusctl", "agent", "delete", "w1").stderr
        self.assertIn("--delete-topics", said)
        self.assertEqual((len(self.topics()), len(self.acls())), (4, 7))
        for flags in (("-c", "admin.yaml"), ("--kafka-user", "x"), ("--dry-run",)):
            self.assertIn("is for --delete-topics", self.ctl("agent", "delete", "w1", *flags, code=2))
        self.assertIn("needs the configuration", self.ctl("agent", "delete", "w1", "--delete-topics", code=2))

    def test_what_contradicts_itself_is_refused(self):
        for said, *flags in (("is not the kafka.prefix of admin.yaml", "--prefix", "other"),
                             ("leaves them to Strimzi", "--strimzi-cluster", "hub")):
            self.assertIn(said, self.create("w1", *flags, code=2))
        for user in ("*", "a\nb"):
            self.assertIn("is not the name of one user", self.create(user=user, code=2))
        self.assertIn("is the control plane's", self.create(user="principal", code=2))
        self.assertIn("is for --config", self.ctl("agent", "create", "w1", "--brokers", "k:1", "--kafka-user", "x", code=2))
        self.assertIn("leave it out with --transport grpc", self.ctl(
            "agent", "create", "w1", "--transport", "grpc", "--address", "p:1", "-c", "admin.yaml", code=2))
        self.assertEqual((self.topics(), self.acls()), ({}, set()))

    def test_brokers_that_refuse_it(self):
        admin = f"{self.user}-admin"
        subprocess.run([os.environ["KAFKA_DEV"], "cert", admin], check=True, capture_output=True)
        tls = os.path.join(os.environ["KAFKA_DEV_HOME"], "tls")
        self.administrator(brokers=[f"127.0.0.1:{broker_ports()['tls']}"], insecure=False, tls={
            "ca": f"{tls}/ca.crt", "cert": f"{tls}/{admin}.crt", "key": f"{tls}/{admin}.key"})
        said = self.create(code=1)
        self.assertIn(f"topic {self.prefix}.up.w1.live: Broker: Topic authorization failed", said)
        self.assertIn("Topic authorization failed; deleted nothing", self.ctl(
            "agent", "delete", "w1", "--delete-topics", "-c", "admin.yaml", "--dry-run", code=1))
        rights = [part for o in ("Create", "Describe", "DescribeConfigs", "Delete") for part in ("--operation", o)]
        self.allow(admin, *rights, "--topic", f"{self.prefix}.", "--resource-pattern-type", "prefixed")
        needs = "Cluster authorization failed; this needs the rights Alter and Describe on the cluster"
        wait_for("it may create topics, and no ACLs", lambda: needs in self.create(code=1))
        self.assertIn("no ACL of User:", self.delete("w1", "--dry-run"))
        self.assertIn(needs, self.ctl("agent", "delete", "w1", "--delete-topics", "-c", "admin.yaml", code=1))
        self.assertEqual((self.topics(), self.acls()), ({}, set()))
        self.assertFalse((self.folder / "w1").exists())

    def test_brokers_that_are_away(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.administrator(brokers=[f"127.0.0.1:{s.getsockname()[1]}"])
            self.assertIn("no broker answers", self.create(code=3))
        self.assertFalse((self.folder / "w1").exists())


if __name__ == "__main__":
    unittest.main()
