#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The HTTP/2 connection between an agent and its principal is cut, or goes silent, while both go on: what changes on
either side meanwhile is in effect once it is mended, and each change is written once."""
import unittest

from cable import Cable
from daemons import Fleet, application, revision, wait_for

HEALTHY = {"health": {"status": "Healthy"}}


class CutLink:
    transport = "grpc"

    def setUp(self):
        super().setUp()
        self.cable = Cable(self.grpc_port)
        self.addCleanup(self.cable.close)
        config = self.agent_config()
        config["grpc"].update(address=f"localhost:{self.cable.port}", keepalive="500ms",
                              **{"keepalive-timeout": "500ms"})
        self.agent.configure(config)
        self.begin()

    def test_a_connection_that_is_cut(self):
        self.survives(self.cable.cut)

    def test_a_connection_that_goes_silent(self):
        self.survives(self.cable.mute)


class Managed(CutLink, Fleet):
    def begin(self):
        for name in ("changed", "deleted", "reported"):
            self.hub.write("w1", name, application(name))
        self.start()
        for name in ("changed", "deleted", "reported"):
            self.arrives(name, "1")

    def survives(self, breaks):
        breaks()
        wait_for("the agent knows", lambda: not self.agent.is_ready())
        self.hub.write("w1", "changed", application("changed", "2"))
        self.hub.write("w1", "created", application("created"))
        self.hub.remove("w1", "deleted")
        self.spoke.set_status("argocd", "reported", HEALTHY)
        self.assertIsNotNone(self.spoke.read("argocd", "deleted"))
        self.cable.mend()
        self.arrives("changed", "2")
        self.arrives("created", "1")
        wait_for("the deletion arrives", lambda: self.spoke.read("argocd", "deleted") is None)
        wait_for("the status is at the hub", lambda: self.hub.status("w1", "reported") == HEALTHY)
        wait_for("the agent is back", self.agent.is_ready)
        self.assertEqual(self.principal.metric("argobus_deletions_held"), 0)


class Autonomous(CutLink, Fleet):
    def principal_config(self):
        data = self.folder / "principal" / "data"
        data.mkdir(parents=True, exist_ok=True)
        return dict(super().principal_config(), agents=[{"name": "w1", "mode": "autonomous"}], principal={"data": str(data)})

    def agent_config(self):
        config = super().agent_config()
        config["agent"]["mode"] = "autonomous"
        return config

    def begin(self):
        for name in ("changed", "deleted"):
            self.spoke.write("argocd", name, application(name, namespace="argocd"))
        self.start()
        for name in ("changed", "deleted"):
            self.is_mirrored(name, "1")

    def is_mirrored(self, name, value):
        wait_for(f"{name} is {value} at the hub", lambda: revision(self.hub.read("w1", name)) == value)

    def survives(self, breaks):
        breaks()
        wait_for("the agent knows", lambda: not self.agent.is_ready())
        self.spoke.write("argocd", "changed", application("changed", "2", namespace="argocd"))
        self.spoke.write("argocd", "created", application("created", namespace="argocd"))
        self.spoke.remove("argocd", "deleted")
        self.assertIsNotNone(self.hub.read("w1", "deleted"))
        self.cable.mend()
        self.is_mirrored("changed", "2")
        self.is_mirrored("created", "1")
        wait_for("the deletion arrives", lambda: self.hub.read("w1", "deleted") is None)
        wait_for("the agent is back", self.agent.is_ready)
        self.assertEqual(self.principal.metric("argobus_deletions_held"), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
