#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The HTTP/2 connection between an agent and its principal is cut, or goes silent, while both go on: what changes on
either side meanwhile is in effect once it is mended, and each change is written once."""
import unittest

from cable import Cable
from daemons import Fleet, application, wait_for

HEALTHY = {"health": {"status": "Healthy"}}


class CutLink(Fleet):
    transport = "grpc"

    def setUp(self):
        super().setUp()
        self.cable = Cable(self.grpc_port)
        self.addCleanup(self.cable.close)
        config = self.agent_config()
        config["grpc"].update(address=f"localhost:{self.cable.port}", keepalive="500ms",
                              **{"keepalive-timeout": "500ms"})
        self.agent.configure(config)
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

    def test_a_connection_that_is_cut(self):
        self.survives(self.cable.cut)

    def test_a_connection_that_goes_silent(self):
        self.survives(self.cable.mute)


if __name__ == "__main__":
    unittest.main(verbosity=2)
