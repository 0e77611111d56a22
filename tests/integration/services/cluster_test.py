#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three real brokers, of which some go and come back while the objects of agents of both modes change: no change is lost,
none is undone, nothing is deleted, and the logs say in few lines why something waits."""
import json
import os
import shutil
import signal
import time
import unittest
from unittest import mock

from daemons import Load, application, revision, wait_for
from kafka_cluster import BROKERS, KafkaCluster
from under_load import UnderLoad

OFFSETS, OFFSETS_PARTITIONS = "__consumer_offsets", 4
LATER = {"sync": {"status": "OutOfSync"}}


def java_hash(text):
    value = 0
    for c in text:
        value = (31 * value + ord(c)) & 0xFFFFFFFF
    return value & 0x7FFFFFFF


class Cluster(UnderLoad):
    transport = "kafka"

    @classmethod
    def setUpClass(cls):
        cls.cluster = KafkaCluster(os.environ["KAFKA_DEV_HOME"] + "-cluster").fresh()
        cls.addClassCleanup(cls.cluster.kill)

    def setUp(self):
        super().setUp()
        self.addCleanup(self.print_logs)
        self.in_sync()

    def kafka(self, **more):
        return {"brokers": self.cluster.brokers(), "insecure": True, "prefix": self.prefix, **more}

    def log_of(self, topic):
        with mock.patch("daemons.broker_ports", lambda: {"plain": self.cluster.ports[self.cluster.running()[0]]}):
            return super().log_of(topic)

    def principal_config(self):
        config = super().principal_config()
        config["kafka"].update({"replication-factor": 3, "min-insync-replicas": 2})
        return config

    def topics(self, lane="state"):
        return [f"{self.prefix}.{way}.{name}.{lane}" for way in ("down", "up") for name in self.modes]

    def in_sync(self):
        self.cluster.wait_in_sync(*self.topics(), *self.topics("live"))

    def flows(self, agents=None):
        """What is changed from now on arrives, of each agent and both ways."""
        agents = agents or list(self.modes)
        specs = {one: value + 1 for one, value in self.wanted.items() if one[1] == "spec-0" and one[0] in agents}
        statuses = {one: value + 1 for one, value in self.reported.items() if one[1] == "status-0" and one[0] in agents}
        for one, value in specs.items():
            wait_for(f"{one} is {value}", lambda o=one, v=value: int(revision(self.copy_of(*o))) >= v)
        for one, value in statuses.items():
            wait_for(f"{one} is {value}", lambda o=one, v=value: int(self.status_at_hub(*o) or 0) >= v)

    def warnings(self, daemon):
        return [line for line in daemon.log.read_text().splitlines() if " WARN " in line or " ERROR" in line]

    def says(self, daemon, text):
        """How many lines of its log."""
        return sum(text in line for line in daemon.log.read_text().splitlines())

    def print_logs(self):
        if "CLUSTER_LOGS" in os.environ:
            for daemon in self.daemons():
                print(f"--- {daemon.folder.name}", *self.warnings(daemon), sep="\n")

    def test_the_leader_stops_and_is_killed(self):
        with self.under_load():
            for end in (self.cluster.stop, self.cluster.kill):
                leader = self.cluster.leader(self.topic("down"))
                end(leader)
                self.flows()
                self.cluster.start(leader)
                self.in_sync()
                self.flows()

    def test_too_few_replicas_are_in_sync(self):
        with self.under_load():
            self.flows()
            left = self.cluster.leader(self.topic("down"))
            away = [node for node in BROKERS if node != left]
            self.cluster.kill(*away)
            wait_for("the principal says that the topic takes nothing", lambda: "takes no events" in
                     self.principal.why_unready())
            wait_for("an agent says so", lambda: "takes no events" in self.agent.why_unready())
            for daemon in self.daemons():
                wait_for("the log says so", lambda d=daemon: self.says(d, "topic takes no events, so they wait"))
            self.cluster.start(*away)
            self.in_sync()
            self.flows()
        for daemon in self.daemons():
            wait_for("the log says that it is over", lambda d=daemon: self.says(d, "topic takes events again"))
            self.assertEqual(self.says(daemon, "topic takes no events, so they wait"), 1)

    def test_all_are_restarted_one_after_the_other(self):
        with self.under_load():
            for node in BROKERS:
                self.cluster.stop(node)
                self.cluster.start(node)
                self.in_sync()
                self.flows()

    def test_the_coordinator_of_the_groups_goes_away(self):
        with self.under_load():
            for group in (f"{self.prefix}.principal", f"{self.prefix}.agent.w1"):
                self.flows()
                coordinator = self.cluster.leader(OFFSETS, java_hash(group) % OFFSETS_PARTITIONS)
                self.cluster.kill(coordinator)
                self.flows()
                self.cluster.start(coordinator)
                self.in_sync()
        for group in (f"{self.prefix}.principal", *(f"{self.prefix}.agent.{name}" for name in self.modes)):
            wait_for(f"{group} has committed all", lambda g=group: self.lag_of(g) == 0)

    def lag_of(self, group):
        rows = [line.split() for line in self.cluster.tool("consumer-groups", "--describe", "--group", group).splitlines()]
        lags = [row[5] for row in rows if len(row) > 5 and row[0] == group]
        return sum(map(int, lags)) if lags and "-" not in lags else None

    def test_topics_move_between_the_brokers(self):
        with self.under_load():
            for _ in range(2):
                for topic in self.topics():
                    first, *others = sorted(BROKERS, key=lambda node, t=topic: node != self.cluster.leader(t))
                    self.move(topic, others)
                    self.move(topic, [*others, first])
                self.flows()
            self.cluster.tool("org.apache.kafka.tools.LeaderElectionCommand", "--election-type", "PREFERRED",
                              "--all-topic-partitions")
            self.flows()

    def move(self, topic, brokers):
        plan = self.folder / "plan.json"
        plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": brokers}]}))
        self.cluster.tool("org.apache.kafka.tools.reassign.ReassignPartitionsCommand", "--reassignment-json-file", str(plan),
                          "--execute")
        wait_for(f"{topic} is at {brokers}", lambda: self.cluster.in_sync(topic) == set(brokers))

    def test_a_broker_loses_its_disk(self):
        with self.under_load():
            leader = self.cluster.leader(self.topic("down"))
            disk = next(self.cluster.folder(leader).glob(f"*/{self.topic('down')}-0")).parent
            shutil.rmtree(disk)  # under the running broker
            wait_for("another leads", lambda: self.cluster.leader(self.topic("down")) != leader)
            self.flows()
            self.cluster.kill(leader)
            self.cluster.lose_disk(leader)
            self.cluster.start(leader)
            self.in_sync()
            self.flows()

    def test_a_throttled_agent_holds_up_nobody(self):
        limits = {"consumer_byte_rate": 1000, "producer_byte_rate": 1000, "request_percentage": 1}
        who = ("--entity-type", "clients", "--entity-name", "argobus-agent-w1")
        self.cluster.tool("configs", "--alter", *who, "--add-config", ",".join(f"{k}={v}" for k, v in limits.items()))
        with self.under_load():
            begun = time.monotonic()
            self.flows(["w2"])
            print(f"w2 took {time.monotonic() - begun:.1f} s")
            self.cluster.tool("configs", "--alter", *who, "--delete-config", ",".join(limits))
            self.flows()

    def lose_the_end(self, written):
        """What `written` does is acknowledged by the one replica that is in sync, and lost with it: one that lacks it leads."""
        for topic in self.topics():
            self.cluster.tool("configs", "--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config",
                              "unclean.leader.election.enable=true,min.insync.replicas=1")
        left = self.cluster.leader(self.topic("down"))
        others = [node for node in BROKERS if node != left]
        self.cluster.kill(*others)
        for topic in self.topics():
            wait_for(f"only {left} has {topic}", lambda t=topic: self.cluster.in_sync(t) == {left})
        written()
        self.cluster.kill(left)
        self.cluster.start(*others)
        for topic in self.topics():
            wait_for(f"another leads {topic}", lambda t=topic: self.cluster.leader(t) != left)
        self.cluster.start(left)
        self.in_sync()

    def change_all_kinds(self):
        """An object is made, one is changed, one is deleted, and one has another status."""
        for name in self.modes:
            tree, namespace = self.source(name)
            tree.write(namespace, "new", application("new", namespace=namespace))
            self.set_spec(name, "app-1", "2")
            tree.remove(namespace, "app-2")
            self.spokes[name].set_status("argocd", "app-3", LATER)

    def all_kinds_are_in_effect(self):
        return all(self.copy_of(name, "new") and revision(self.copy_of(name, "app-1")) == "2"
                   and not self.copy_of(name, "app-2") and self.hub.status(name, "app-3") == LATER for name in self.modes)

    def test_what_was_acknowledged_and_read_is_lost(self):
        def written():
            self.change_all_kinds()
            wait_for("all is in effect", self.all_kinds_are_in_effect)

        self.lose_the_end(written)
        stays = Load(lambda: self.assertTrue(self.all_kinds_are_in_effect()))
        self.changes_flow()
        stays.finish()

    def test_what_was_acknowledged_is_lost_before_it_is_read(self):
        def written():
            sent = self.principal.metric("argobus_events_sent_total")
            self.set_spec("w1", "app-1", "2")
            self.hub.remove("w1", "app-2")
            wait_for("it is in the log", lambda: self.principal.metric("argobus_events_sent_total") >= sent + 2
                     and len(self.log_of(self.topic("down"))) >= records + 2)

        records = len(self.log_of(self.topic("down")))
        self.agent.process.send_signal(signal.SIGSTOP)
        self.lose_the_end(written)
        self.assertEqual(len(self.log_of(self.topic("down"))), records)
        self.agent.process.send_signal(signal.SIGCONT)
        wait_for("the change is in effect", lambda: revision(self.copy_of("w1", "app-1")) == "2")
        wait_for("the deletion is in effect", lambda: not self.copy_of("w1", "app-2"))
        self.changes_flow()


if __name__ == "__main__":
    unittest.main(verbosity=2)
