# SPDX-License-Identifier: Apache-2.0
"""Three real brokers and their controller, as in production: each is a kafka-dev of its own in a folder beside the others.

The controller is a process of its own, so that it decides who leads also while two of three brokers are away. Every
topic, also the one of committed positions, has three replicas, and two must be in sync.
"""
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess

from waiting import wait_for

BROKERS = (1, 2, 3)
CONTROLLER = 100
HEAP = {CONTROLLER: "160m"}

SHARED = """
controller.quorum.voters={controller}@127.0.0.1:{at}
broker.session.timeout.ms=4000
broker.heartbeat.interval.ms=500
"""

OF_CONTROLLER = """
process.roles=controller
node.id={controller}
listeners=CONTROLLER://127.0.0.1:{at}
advertised.listeners=CONTROLLER://127.0.0.1:{at}
min.insync.replicas=2
"""

OF_BROKER = """
process.roles=broker
node.id={node}
listeners=PLAINTEXT://127.0.0.1:{plain},SSL://127.0.0.1:{tls},SASL_SSL://127.0.0.1:{sasl}
log.dirs={home}/data,{home}/second
min.insync.replicas=2
default.replication.factor=3
offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
share.coordinator.state.topic.replication.factor=3
share.coordinator.state.topic.min.isr=2
replica.lag.time.max.ms=3000
replica.fetch.backoff.ms=200
"""


def is_free(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count):
    """The first of so many in a row; kafka-dev's own are below."""
    for first in random.sample(range(30000, 32700 - count, count), 100):
        if all(is_free(port) for port in range(first, first + count)):
            return first
    raise AssertionError(f"no {count} free ports in a row")


class KafkaCluster:
    def __init__(self, home):
        self.home = pathlib.Path(home)
        self.ports = {}

    def fresh(self):
        """All start with nothing. Returns when every broker takes requests."""
        self.kill()
        shutil.rmtree(self.home, ignore_errors=True)
        first = free_ports(4 * (len(BROKERS) + 1))
        self.ports = {node: first + 4 * i for i, node in enumerate((CONTROLLER, *BROKERS))}
        (self.home / "tls").mkdir(parents=True)
        for node in self.ports:
            self._configure(node)
        self.run(CONTROLLER, "start")
        self.start(*BROKERS)
        return self

    def _configure(self, node):
        home = self.folder(node)
        home.mkdir()
        (home / "tls").symlink_to(self.home / "tls")  # one authority for all
        plain = self.ports[node]
        (home / "properties").write_text((SHARED + (OF_CONTROLLER if node == CONTROLLER else OF_BROKER)).format(
            controller=CONTROLLER, at=self.ports[CONTROLLER], node=node, home=home, plain=plain, tls=plain + 1,
            sasl=plain + 2))

    def folder(self, node):
        return self.home / str(node)

    def _begin(self, node, *command):
        home = self.folder(node)
        env = dict(os.environ, KAFKA_DEV_HOME=str(home), KAFKA_DEV_PORT=str(self.ports.get(node, "")),
                   KAFKA_DEV_PROPS=str(home / "properties"), KAFKA_DEV_HEAP=HEAP.get(node, "256m"),
                   KAFKA_DEV_JAVA="-XX:TieredStopAtLevel=1")
        return subprocess.Popen([os.environ["KAFKA_DEV"], *command], env=env, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def _end(self, process):
        said, _ = process.communicate(timeout=400)
        assert process.returncode == 0, said
        return said

    def run(self, node, *command):
        """kafka-dev of this broker."""
        return self._end(self._begin(node, *command))

    def start(self, *nodes):
        """All of them at the same time."""
        for process in [self._begin(node, "start") for node in nodes]:
            self._end(process)

    def stop(self, *nodes):
        """In order: they hand over first what they lead."""
        for process in [self._begin(node, "stop") for node in nodes]:
            self._end(process)

    def kill(self, *nodes):
        """Those named, or all; the controller last."""
        those = nodes or [int(path.name) for path in self.home.glob("[0-9]*")]
        for process in [self._begin(node, "kill") for node in sorted(those)]:
            self._end(process)

    def lose_disk(self, node):
        """Of a broker that does not run: it comes back with nothing."""
        for name in ("data", "second"):
            shutil.rmtree(self.folder(node) / name, ignore_errors=True)

    def brokers(self):
        return [f"127.0.0.1:{self.ports[node]}" for node in BROKERS]

    def running(self):
        return [node for node in BROKERS if not is_free(self.ports[node])]

    def tool(self, name, *arguments):
        """A command-line tool of Kafka, at any broker that runs."""
        return self.run(self.running()[0], "tool", name, "--bootstrap-server", ",".join(
            f"127.0.0.1:{self.ports[node]}" for node in self.running()), *arguments)

    def partition(self, topic, number=0):
        """What the brokers say of it: leader, replicas and isrs."""
        done = subprocess.run(["kcat", "-m", "20", "-b", ",".join(self.brokers()), "-L", "-J", "-t", topic],
                              capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            return None
        parts = {p["partition"]: p for t in json.loads(done.stdout)["topics"] for p in t["partitions"]}
        return parts.get(number)

    def leader(self, topic, number=0):
        """The broker that leads it, as soon as one does."""
        found = wait_for(f"{topic} has a leader", lambda: (self.partition(topic, number) or {}).get("leader", -1) > 0
                         and self.partition(topic, number))
        return found["leader"]

    def in_sync(self, topic, number=0):
        return {replica["id"] for replica in (self.partition(topic, number) or {}).get("isrs", [])}

    def wait_in_sync(self, *topics):
        for topic in topics:
            wait_for(f"all replicas of {topic} are in sync", lambda t=topic: len(self.in_sync(t)) == len(BROKERS))
