#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kafka loses everything: agents of both modes and their principal say all again, and nothing that stands at either
end is deleted or written anew for it."""
import os
import unittest
from unittest import mock

from daemons import Daemon, Fleet, Tree, application, broker_ports, kafka_dev, revision, wait_for

EACH = 10
STATUS = {"sync": {"status": "Synced"}}


class Loss(Fleet):
    """w1 and w3 are managed, w2 is autonomous."""

    transport = "kafka"
    modes = {"w1": "managed", "w2": "autonomous", "w3": "managed"}

    def setUp(self):
        home = os.environ["KAFKA_DEV_HOME"] + "-loss"  # of its own: it loses what it has
        self.enterContext(mock.patch.dict(os.environ, {"KAFKA_DEV_HOME": home}))
        kafka_dev("fresh")
        self.addCleanup(kafka_dev, "kill")
        super().setUp()
        self.spokes = {name: Tree(self.folder / name) for name in self.modes}
        self.agents = {"w1": self.agent}
        for name in ("w2", "w3"):
            self.agents[name] = Daemon("argobus-agent", self.folder / f"agent-{name}", self.config_of(name))
            self.addCleanup(self.agents[name].kill)
        for name, mode in self.modes.items():
            tree, namespace = self.source(name)
            for i in range(EACH):
                tree.write(namespace, f"app-{i}", application(f"app-{i}", namespace=namespace))
        self.start()
        for name in self.modes:
            wait_for(f"all of {name} have arrived", lambda n=name: self.have_arrived(n))
            for i in range(EACH):
                self.spokes[name].set_status("argocd", f"app-{i}", STATUS)
        for name in self.modes:
            wait_for(f"statuses of {name} are at the hub", lambda n=name: all(
                self.hub.status(n, f"app-{i}") == STATUS for i in range(EACH)))
        self.compare()

    def principal_config(self):
        data = self.folder / "principal" / "data"
        data.mkdir(parents=True, exist_ok=True)
        return dict(super().principal_config(), agents=[{"name": name} for name in self.modes],
                    principal={"data": str(data)}, control={"socket": str(self.folder / "ctl.sock")})

    def config_of(self, name):
        data = self.folder / f"data-{name}"
        data.mkdir(exist_ok=True)
        return dict(self.agent_config(), agent={"name": name, "mode": self.modes[name], "data": str(data)},
                    store={"kind": "directory", "namespace": "argocd", "directory": {"path": str(self.folder / name)}},
                    **self.carried(name))

    def source(self, name):
        return (self.hub, name) if self.modes[name] == "managed" else (self.spokes[name], "argocd")

    def other(self, name):
        return (self.spokes[name], "argocd") if self.modes[name] == "managed" else (self.hub, name)

    def have_arrived(self, name):
        tree, namespace = self.other(name)
        return len(tree.names(namespace)) == EACH

    def daemons(self):
        return [self.principal, *self.agents.values()]

    def start(self):
        for daemon in self.daemons():
            daemon.start(ready=False)

    def stop(self):
        for daemon in self.daemons():
            daemon.stop()

    def compare(self):
        """Every agent is in step with the principal by a resync that begins now."""
        for name in self.modes:
            said = f"in step with agent agent={name}\n"
            before = self.principal.log.read_text().count(said)
            wait_for(f"a resync of {name} is taken up", lambda n=name: self.ctl("resync", "--agent", n).returncode == 0)
            wait_for(f"{name} is in step", lambda b=before, s=said: self.principal.log.read_text().count(s) > b)

    def is_at_rest(self):
        return self.principal.metric("argobus_unacknowledged") == 0 and all(
            agent.metric("argobus_unsettled") == 0 for agent in self.agents.values())

    def all_files(self):
        """Each file of an Application: what it says, and when it was written."""
        wait_for("nothing is under way", self.is_at_rest)
        paths = [path for top in ("hub", *self.modes) for path in (self.folder / top).rglob("*.[yj]*")
                 if "Application" in path.parts and path.stem != "probe"]
        return {str(path): (path.read_text(), path.stat().st_mtime_ns) for path in paths}

    def loses(self, lose):
        before = self.all_files()
        self.assertGreaterEqual(len(before), 2 * EACH * len(self.modes))
        lose()
        probes = {name: application("probe", namespace=self.source(name)[1]) for name in self.modes}
        for name, probe in probes.items():
            tree, namespace = self.source(name)
            tree.write(namespace, "probe", probe)
        for name in probes:
            tree, namespace = self.other(name)
            wait_for(f"changes of {name} go on", lambda t=tree, n=namespace: revision(t.read(n, "probe")) == "1")
        self.compare()
        self.assertEqual(self.all_files(), before)
        self.assertEqual(self.principal.metric("argobus_deletions_held"), 0)

    def test_every_topic_is_deleted_under_them(self):
        self.loses(lambda: kafka_dev("tool", "topics", "--delete", "--topic", f"{self.prefix}[.].*"))

    def test_an_empty_broker_takes_the_place_of_theirs(self):
        def replace():
            port = broker_ports()["plain"]
            with mock.patch.dict(os.environ, {"KAFKA_DEV_PORT": port}):
                kafka_dev("fresh")

        self.loses(replace)

    def test_they_come_back_to_another_cluster(self):
        def move():
            self.stop()
            self.prefix = f"{self.prefix}b"
            self.principal.configure(self.principal_config())
            self.agent.configure(self.agent_config())
            for name in ("w2", "w3"):
                self.agents[name].configure(self.config_of(name))
            self.start()

        self.loses(move)


if __name__ == "__main__":
    unittest.main(verbosity=2)
