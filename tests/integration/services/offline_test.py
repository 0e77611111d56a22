#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent that is cut off works on: when it is heard again it brings the newest state of each object, once."""
import contextlib
import os
import unittest
from unittest import mock

from daemons import Fleet, application, kafka_dev, revision, wait_for

EDITS = 10


class Offline(Fleet):
    mode = "managed"

    def setUp(self):
        if self.transport == "kafka":  # of its own: it goes down
            home = os.environ["KAFKA_DEV_HOME"] + "-offline"
            self.enterContext(mock.patch.dict(os.environ, {"KAFKA_DEV_HOME": home}))
            kafka_dev("fresh")
            self.addCleanup(kafka_dev, "kill")
        super().setUp()

    def principal_config(self):
        data = self.folder / "principal" / "data"
        data.mkdir(parents=True, exist_ok=True)
        return dict(super().principal_config(), agents=[{"name": "w1", "mode": self.mode}], principal={"data": str(data)})

    def agent_config(self):
        config = super().agent_config()
        config["agent"]["mode"] = self.mode
        return config

    @contextlib.contextmanager
    def cut_off(self):
        if self.transport == "kafka":
            kafka_dev("kill")
        else:
            self.principal.stop()
        wait_for("the agent knows that it is alone", lambda: not self.agent.is_ready())
        yield
        if self.transport == "kafka":
            kafka_dev("start")
        else:
            self.principal.start(ready=False)

    def published(self):
        """What the log says of the Application, one after the other."""
        return [value for key, value in self.log_of(self.topic("up")) if key == "Application/argocd/guestbook"]

    def is_brought_once(self, edit, is_there):
        """`edit` what stands at the agent, again and again while it is cut off. What follows may say the newest state
        again; it says no other one."""
        wait_for("nothing is under way", lambda: self.principal.metric("argobus_unacknowledged") == 0)
        writes = self.principal.metric("argobus_store_writes_total") if self.transport == "kafka" else 0
        published = len(self.published()) if self.transport == "kafka" else 0
        with self.cut_off():
            for i in range(EDITS):
                before = self.spoke.sidecar("argocd", "guestbook")
                edit(i)
                wait_for("the agent sees it", lambda b=before: self.spoke.sidecar("argocd", "guestbook") != b)
        wait_for("the newest is at the hub", is_there, 120)
        self.assertEqual(self.principal.metric("argobus_store_writes_total") - writes, 1)
        if self.transport == "kafka":
            self.assertEqual(len(set(self.published()[published:])), 1)


class Managed(Offline):
    def test_statuses_are_brought_once(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        self.report(0)
        wait_for("a status is at the hub", lambda: self.hub.status("w1", "guestbook"))
        self.is_brought_once(lambda i: self.report(i + 1),
                             lambda: self.hub.status("w1", "guestbook") == self.status(EDITS))

    def status(self, i):
        return {"sync": {"status": "Synced", "revision": f"r{i}"}}

    def report(self, i):
        self.spoke.set_status("argocd", "guestbook", self.status(i))


class Autonomous(Offline):
    mode = "autonomous"

    def test_edits_are_brought_once(self):
        self.spoke.write("argocd", "guestbook", application("guestbook", namespace="argocd"))
        self.start()
        self.is_mirrored("1")
        self.is_brought_once(self.change, lambda: revision(self.hub.read("w1", "guestbook")) == f"e{EDITS - 1}")

    def is_mirrored(self, value):
        wait_for("it is at the hub", lambda: revision(self.hub.read("w1", "guestbook")) == value)

    def change(self, i):
        self.spoke.edit("argocd", "guestbook", lambda a: a["spec"]["source"].update(targetRevision=f"e{i}"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
