#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Objects under ever new names come and go, as an ApplicationSet makes them: what principal and agents take does not
grow with the names that there were.

SOAK_ROUNDS (200) is how often EACH of them come and go at each agent, after WARM_UP rounds.
"""
import os
import pathlib
import re
import unittest

from both_modes import BothModes
from daemons import application, wait_for

ROUNDS = int(os.environ.get("SOAK_ROUNDS", "200"))
WARM_UP = 100  # until the allocator, SQLite and librdkafka have what they keep
EACH = 20
BYTES_EACH = 100  # for a name that is gone; an agent once kept 800


class Taken:
    """By a process: memory of its own in bytes, open files, threads."""

    def __init__(self, daemon):
        process = pathlib.Path("/proc", str(daemon.process.pid))
        found = re.search(r"^Anonymous: +(\d+) kB$", (process / "smaps_rollup").read_text(), re.M)
        self.memory = int(found.group(1)) * 1024
        self.files = len(os.listdir(process / "fd"))
        self.threads = len(os.listdir(process / "task"))

    def __repr__(self):
        return f"{self.memory // 1024} KiB, {self.files} files, {self.threads} threads"


class Soak(BothModes):
    def come(self, names):
        for agent in self.modes:
            tree, namespace = self.source(agent)
            for name in names:
                tree.write(namespace, name, application(name, namespace=namespace))
        for agent in self.modes:
            tree, namespace = self.other(agent)
            wait_for("they are there", lambda t=tree, n=namespace: t.names(n) >= names)

    def report(self, names):
        for agent in self.modes:
            for name in names:
                self.spokes[agent].set_status("argocd", name, {"sync": {"revision": name}})
        for agent in self.modes:
            wait_for("they are reported", lambda a=agent: all(
                (self.hub.status(a, name) or {}).get("sync") == {"revision": name} for name in names))

    def go(self, names):
        for agent in self.modes:
            tree, namespace = self.source(agent)
            for name in names:
                tree.remove(namespace, name)
        for agent in self.modes:
            tree, namespace = self.other(agent)
            wait_for("they are gone", lambda t=tree, n=namespace: not t.names(n) & names)

    def rounds(self, first, count):
        for i in range(first, first + count):
            names = {f"name-{i}-{j}" for j in range(EACH)}
            self.come(names)
            self.report(names)
            self.go(names)
        self.compare()
        return [Taken(daemon) for daemon in self.daemons()]

    def test_what_is_gone_takes_nothing(self):
        before = self.rounds(0, WARM_UP)
        after = self.rounds(WARM_UP, ROUNDS)
        gone = [len(self.modes), *[1] * len(self.agents)]
        for daemon, b, a, agents in zip(self.daemons(), before, after, gone):
            grown = (a.memory - b.memory) / (ROUNDS * EACH * agents)
            print(f"{daemon.folder.name}: {b}; then {a}; {grown:.0f} bytes for each name that is gone")
            self.assertLess(grown, BYTES_EACH, daemon.folder.name)
            self.assertLessEqual(a.files, b.files + 8, daemon.folder.name)
            self.assertLessEqual(a.threads, b.threads, daemon.folder.name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
