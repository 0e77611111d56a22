#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tool that is not ours shows the same number as argobus: the lag of the agent's group, at rest and while the agent is away and a few
objects have changed once each."""
import json
import pathlib
import re
import subprocess
import unittest

from daemons import Fleet, application, broker_ports
from waiting import wait_for

KAFKATOP = pathlib.Path(__file__).with_name("kafkatop")
NAMES = [f"app-{i}" for i in range(3)]
PENDING = re.compile(r'^argobus_changes_pending\{agent="w1",direction="down"\} (\S+)$', re.M)


class Lag(Fleet):
    def lag(self):
        """Of the agent's group, which reads one partition."""
        done = subprocess.run([KAFKATOP, "--kafka-broker", f"127.0.0.1:{broker_ports()['plain']}", "--summary-json", "--all",
                               "--group-filter-pattern", self.prefix], capture_output=True, text=True, timeout=300, check=True)
        groups = json.loads(done.stdout)
        topic = groups.get(f"{self.prefix}.agent.w1", {"topics": {}})["topics"].get(self.topic("down"))
        return topic and topic["lag_max"]

    def both_show(self, count):
        wait_for(f"argobus shows {count}",
                 lambda: [float(found) for found in PENDING.findall(self.principal.get("/metrics"))] == [count], 60)
        wait_for(f"the tool shows {count}", lambda: self.lag() == count, 120)

    def write(self, value):
        for name in NAMES:
            self.hub.write("w1", name, application(name, value))

    def test_a_tool_that_is_not_ours_shows_the_number_that_argobus_shows(self):
        self.write("1")
        self.start()
        for name in NAMES:
            self.arrives(name, "1")
        self.both_show(0)
        self.agent.stop()
        self.write("2")
        self.both_show(len(NAMES))
        self.agent.start()
        self.both_show(0)


if __name__ == "__main__":
    unittest.main()
