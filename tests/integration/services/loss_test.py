#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kafka loses everything: agents of both modes and their principal say all again, and nothing that stands at either
end is deleted or written anew for it."""
import os
import unittest
from unittest import mock

from both_modes import BothModes
from daemons import broker_ports, kafka_dev


class Loss(BothModes):
    """w3 is managed, too."""

    transport = "kafka"
    modes = {**BothModes.modes, "w3": "managed"}

    def setUp(self):
        home = os.environ["KAFKA_DEV_HOME"] + "-loss"  # of its own: it loses what it has
        self.enterContext(mock.patch.dict(os.environ, {"KAFKA_DEV_HOME": home}))
        kafka_dev("fresh")
        self.addCleanup(kafka_dev, "kill")
        super().setUp()

    def test_every_topic_is_deleted_under_them(self):
        self.survives(lambda: kafka_dev("tool", "topics", "--delete", "--topic", f"{self.prefix}[.].*"))

    def test_an_empty_broker_takes_the_place_of_theirs(self):
        def replace():
            port = broker_ports()["plain"]
            with mock.patch.dict(os.environ, {"KAFKA_DEV_PORT": port}):
                kafka_dev("fresh")

        self.survives(replace)

    def test_they_come_back_to_another_cluster(self):
        def move():
            self.stop()
            self.prefix = f"{self.prefix}b"
            self.principal.configure(self.principal_config())
            self.agent.configure(self.agent_config())
            for name in ("w2", "w3"):
                self.agents[name].configure(self.config_of(name))
            self.start()

        self.survives(move)


if __name__ == "__main__":
    unittest.main(verbosity=2)
