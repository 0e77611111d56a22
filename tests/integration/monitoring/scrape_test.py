#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one scrape costs a principal that serves 3,000 agents: time, and memory at its peak."""
import os
import pathlib
import re
import time
import unittest

from daemons import Fleet, wait_for

AGENTS = 3000
SECONDS_MAX = 1
BYTES_MAX = 10 << 20


class Scrape(Fleet):
    transport = "grpc"

    def principal_config(self):
        return {**super().principal_config(),
                "agents": [{"name": f"w{i}", "mode": "managed"} for i in range(AGENTS)]}

    def memory(self, field):
        status = pathlib.Path("/proc", str(self.principal.process.pid), "status").read_text()
        return int(re.search(rf"^{field}:\s+(\d+) kB", status, re.M).group(1)) << 10

    def test_a_scrape_of_3000_agents_is_quick_and_small(self):
        self.principal.start(ready=False)
        wait_for("all agents are served", lambda: self.principal.log.read_bytes().count(b"serving agent") == AGENTS, 60)
        before = self.memory("VmRSS")
        pathlib.Path("/proc", str(self.principal.process.pid), "clear_refs").write_text("5")  # the peak begins anew
        seconds = []
        for _ in range(10):
            begun = time.monotonic()
            page = self.principal.get("/metrics")
            seconds.append(time.monotonic() - begun)
        grown = self.memory("VmHWM") - before
        series = len(re.findall(r"^argobus_", page, re.M))
        if os.environ.get("AB_SHOW"):
            print(f"{series} series, {len(page)} bytes; {sorted(seconds)[5]:.3f} s p50, {max(seconds):.3f} s longest; "
                  f"{before >> 20} MiB before, {grown / (1 << 20):.2f} MiB more")
        self.assertGreater(series, 10 * AGENTS)
        self.assertLess(sorted(seconds)[5], SECONDS_MAX)
        self.assertLess(grown, BYTES_MAX)


if __name__ == "__main__":
    unittest.main()
