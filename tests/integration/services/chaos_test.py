#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of principal, agents and (with Kafka) broker at random moments under load.

CHAOS_KILLS (9) is how many, CHAOS_SEED makes a run repeatable as far as processes allow.
"""
import os
import pathlib
import random
import time
import unittest
from unittest import mock

from daemons import kafka_dev, wait_for
from under_load import UnderLoad

KILLS = int(os.environ.get("CHAOS_KILLS", "9"))
SEED = int(os.environ.get("CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 2**31)


class Chaos(UnderLoad):
    seed = SEED

    def own_broker(self):
        home = pathlib.Path(os.environ["KAFKA_DEV_HOME"] + "-chaos")
        self.enterContext(mock.patch.dict(os.environ, {"KAFKA_DEV_HOME": str(home)}))
        kafka_dev("fresh")
        self.addCleanup(kafka_dev, "kill")

    def setUp(self):
        if self.transport == "kafka":
            self.own_broker()
        super().setUp()
        self.victims = [*self.modes, "principal"] + (["broker"] if self.transport == "kafka" else [])

    def kill_one(self):
        victim = self.random.choice(self.victims)
        if victim == "broker":
            kafka_dev("kill")
            kafka_dev("start")
        else:
            daemon = self.principal if victim == "principal" else self.agents[victim]
            daemon.kill()
            daemon.start(ready=False)
        return victim

    def test_killing_any_process_loses_and_repeats_nothing(self):
        print(f"seed {SEED}, {KILLS} kills")
        killed = []
        with self.under_load():
            for _ in range(KILLS):
                # Behind a broker that has just started all takes seconds to come back.
                longest = 10 if killed[-1:] == ["broker"] else 2
                moment = time.monotonic() + self.random.uniform(0.05, longest)
                wait_for("a random moment", lambda m=moment: time.monotonic() > m)
                killed.append(self.kill_one())
        print(f"killed {killed}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
