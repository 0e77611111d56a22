#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An autonomous agent, end to end: what stands at the hub follows the agent's cluster and nothing else, and what is
asked for at the hub is carried out there."""
import unittest

from daemons import Fleet, application, revision, wait_for

SOURCE_UID = "argocd.argoproj.io/source-uid"
REFRESH = "argocd.argoproj.io/refresh"
SYNCED = {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}}


class Autonomous(Fleet):
    def principal_config(self):
        data = self.folder / "principal" / "data"
        data.mkdir(parents=True, exist_ok=True)
        return dict(super().principal_config(), agents=[{"name": "w1"}], principal={"data": str(data)})

    def agent_config(self):
        config = super().agent_config()
        config["agent"]["mode"] = "autonomous"
        return config

    def setUp(self):
        super().setUp()
        self.spoke.write("argocd", "guestbook", application("guestbook", namespace="argocd", labels={"team": "a"}))
        self.start()
        self.is_mirrored("guestbook", "1")

    def is_mirrored(self, name, value):
        wait_for(f"{name} is {value} at the hub", lambda: revision(self.hub.read("w1", name)) == value)

    def is_gone(self, name):
        wait_for(f"{name} is gone at the hub", lambda: self.hub.read("w1", name) is None)

    def change(self, value, name="guestbook"):
        self.spoke.edit("argocd", name, lambda a: a["spec"]["source"].update(targetRevision=value))

    def tamper(self, value="hacked"):
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision=value))

    def mirror(self):
        return self.hub.read("w1", "guestbook")

    def test_a_mirror_stands_in_the_agents_namespace_and_project(self):
        mirror = self.mirror()
        self.assertEqual(mirror["spec"]["project"], "w1-default")
        self.assertEqual(mirror["spec"]["destination"], {"name": "w1", "namespace": "default"})
        self.assertEqual(mirror["metadata"]["labels"], {"team": "a"})
        self.assertEqual(mirror["metadata"]["annotations"][SOURCE_UID], self.spoke.sidecar("argocd", "guestbook")["uid"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
