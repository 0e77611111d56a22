#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The disk below agent.data or principal.data does not answer: what needs it waits, and nothing else does."""
import signal
import time
import unittest

from both_modes import BothModes
from daemons import application, revision, wait_for
from held_disk import Disk


class HeldDisk(BothModes):
    def setUp(self):
        super().setUp()
        folders = {self.principal: self.folder / "principal" / "data", self.agents["w1"]: self.folder / "agent" / "data"}
        for daemon in folders:
            daemon.stop()
        self.disks = {daemon: Disk(daemon, folder) for daemon, folder in folders.items()}
        for daemon in folders:
            daemon.start()
        for name in self.modes:
            self.make_cold(name)

    def make_cold(self, name):
        """A row is written: what SQLite has read of the others before does not count any more."""
        tree, namespace = self.source(name)
        tree.write(namespace, "app-9", application("app-9", "2", namespace=namespace))
        tree, namespace = self.other(name)
        wait_for("a change arrives", lambda: revision(tree.read(namespace, "app-9")) == "2")
        self.compare()

    def healthz_answers(self, daemon):
        """At least 20 times, and each time soon: only the loop thread answers."""
        slowest = 0
        for _ in range(20):
            begin = time.monotonic()
            self.assertIsNotNone(daemon.get("/healthz"), "no answer from /healthz")
            slowest = max(slowest, time.monotonic() - begin)
        print(f"slowest answer of {daemon.program.name}: {slowest * 1000:.1f} ms")

    def serve_one_more(self):
        """The principal writes down whom it serves."""
        config = self.principal_config()
        config["agents"].append({"name": "w3", "mode": "managed"})
        self.principal.configure(config)
        self.principal.process.send_signal(signal.SIGHUP)
        wait_for("w3 is served", lambda: "serving agent agent=w3" in self.principal.log.read_text())

    def hack(self, tree, namespace):
        """Somebody changes what is not theirs: for the way back the row is needed."""
        tree.edit(namespace, "app-0", lambda a: a["spec"]["source"].update(targetRevision="hacked"))

    def is_back(self, tree, namespace):
        wait_for("the edit is undone", lambda: revision(tree.read(namespace, "app-0")) == "1")

    def test_an_agent_whose_disk_hangs_goes_on(self):
        disk, spoke = self.disks[self.agent], self.spokes["w1"]
        with disk.held():
            self.hack(spoke, "argocd")
            self.hub.write("w1", "new", application("new"))
            wait_for("something waits for the disk", disk.waits.exists)
            self.healthz_answers(self.agent)
            spoke.set_status("argocd", "app-1", {"sync": {"status": "OutOfSync"}})
            wait_for("a status goes up meanwhile",
                     lambda: self.hub.status("w1", "app-1") == {"sync": {"status": "OutOfSync"}})
            self.healthz_answers(self.agent)
            self.assertIsNone(spoke.read("argocd", "new"), "written before it was durable that it is wanted")
        self.is_back(spoke, "argocd")
        wait_for("what came meanwhile is made", lambda: revision(spoke.read("argocd", "new")) == "1")
        self.changes_flow()

    def test_a_principal_whose_disk_hangs_serves_the_others(self):
        disk, spoke = self.disks[self.principal], self.spokes["w2"]
        with disk.held():
            self.hack(self.hub, "w2")
            spoke.write("argocd", "new", application("new", namespace="argocd"))
            wait_for("something waits for the disk", disk.waits.exists)
            self.healthz_answers(self.principal)
            self.serve_one_more()
            self.hub.write("w1", "more", application("more"))
            wait_for("a change of another agent arrives meanwhile",
                     lambda: revision(self.spokes["w1"].read("argocd", "more")) == "1")
            self.healthz_answers(self.principal)
            self.assertIsNone(self.hub.read("w2", "new"), "written before it was durable that it was published")
        self.is_back(self.hub, "w2")
        wait_for("what came meanwhile is made", lambda: revision(self.hub.read("w2", "new")) == "1")
        self.changes_flow()


if __name__ == "__main__":
    unittest.main(verbosity=2)
