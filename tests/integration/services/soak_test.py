#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What comes and goes for ever, as objects that an ApplicationSet makes, and agents, under ever new names: what principal
and agents take does not grow with what there was.

SOAK_ROUNDS (200) is how often EACH Applications come and go at each agent, after WARM_UP rounds; the other scenarios
take shares of it.
"""
import base64
import os
import pathlib
import re
import shutil
import unittest

from both_modes import BothModes
from daemons import Fleet, Objects, application, revision, wait_for
from kinds_test import AGENT_NAME, cluster, project
from ports import free_port

ROUNDS = int(os.environ.get("SOAK_ROUNDS", "200"))
WARM_UP = 100  # until the allocator, SQLite and librdkafka have what they keep
EACH = 20
BYTES_EACH = 100  # for a name that is gone; an agent once kept 800
RESTART_BYTES = 1000
AGENT_BYTES = 400  # for that of an agent; a principal once kept 2,500


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


def assert_not_grown(case, daemons, before, after, gone, each=BYTES_EACH):
    """`gone`: how many there were meanwhile, at each of the daemons."""
    for daemon, b, a, count in zip(daemons, before, after, gone):
        grown = (a.memory - b.memory) / count
        print(f"{daemon.folder.name}: {b}; then {a}; {grown:.0f} bytes for each that is gone")
        case.assertLess(grown, each, daemon.folder.name)
        case.assertLessEqual(a.files, b.files + 8, daemon.folder.name)
        case.assertLessEqual(a.threads, b.threads, daemon.folder.name)


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
        gone = [ROUNDS * EACH * agents for agents in (len(self.modes), *[1] * len(self.agents))]
        assert_not_grown(self, self.daemons(), before, after, gone)


class Agents(Fleet):
    """Cluster Secrets of ever new agents come and go, with an Application each; and those that name no agent. The redis
    that is to be told of them is away."""

    def principal_config(self):
        data = self.folder / "principal" / "data"
        data.mkdir(parents=True, exist_ok=True)
        redis = {"listen": f"127.0.0.1:{free_port()}", "address": f"127.0.0.1:{free_port()}"}
        return {**super().principal_config(), "principal": {"data": str(data)}, "live": {"redis": redis}}

    @staticmethod
    def clusters(name):
        """One of agent `name`, one of a name that none can have."""
        server = base64.b64encode(f"https://{name}/{'x' * 900}".encode()).decode()
        served, refused = cluster(name), cluster(f"{name}-refused")
        refused["metadata"]["labels"][AGENT_NAME] = f"{name}_"
        for document in (served, refused):
            document["data"]["server"] = server
        return served, refused

    def lines(self, text):
        """The last ones of the log are about those that were last."""
        return self.principal.log.read_bytes()[-50000:].decode(errors="replace").count(text)

    def rounds(self, first, count):
        here = Objects(self.hub)
        for i in range(first, first + count):
            names = [f"name-{i}-{j}" for j in range(EACH)]
            for name in names:
                for document in self.clusters(name):
                    here.write(document)
                self.hub.write(name, "app", application("app", namespace=name))
            wait_for("they are served", lambda n=names[-1]: self.lines(f"serving agent agent={n}\n"))
            for name in names:
                for document in self.clusters(name):
                    here.remove("Secret", document["metadata"]["name"])
                self.hub.remove(name, "app")
            wait_for("they are gone", lambda n=names[-1]: self.lines(f"no longer served agent={n}\n"))
            for name in names:
                shutil.rmtree(self.hub.folder / name, ignore_errors=True)
        return Taken(self.principal)

    @unittest.skipIf(Fleet.transport == "kafka", "a broker makes four topics for each")
    def test_agents_that_are_gone_take_nothing(self):
        self.principal.start()
        before = self.rounds(0, WARM_UP // 2)  # the watermark keeps 500
        series = len(self.principal.get("/metrics").splitlines())
        after = self.rounds(WARM_UP // 2, WARM_UP // 2)
        assert_not_grown(self, [self.principal], [before], [after], [WARM_UP // 2 * EACH], AGENT_BYTES)
        self.assertLessEqual(len(self.principal.get("/metrics").splitlines()), series + 8)
        self.principal.stop()
        self.assertEqual((self.folder / "principal" / "data" / "agents").read_text().split()[1:], ["w1"])


class Projects(Fleet):
    """AppProjects under ever new names come and go, which go to every agent."""

    def rounds(self, first, count):
        here, there = Objects(self.hub), Objects(self.spoke)
        for i in range(first, first + count):
            names = [f"name-{i}-{j}" for j in range(EACH)]
            for name in names:
                document = project("w1")
                document["metadata"]["name"] = name
                here.write(document)
            wait_for("they are there", lambda n=names: all(there.path("AppProject", name).exists() for name in n))
            for name in names:
                here.remove("AppProject", name)
            wait_for("they are gone", lambda n=names: not any(there.path("AppProject", name).exists() for name in n))
        return [Taken(daemon) for daemon in (self.principal, self.agent)]

    def test_projects_that_are_gone_take_nothing(self):
        self.start()
        before = self.rounds(0, WARM_UP)
        after = self.rounds(WARM_UP, ROUNDS // 2)
        assert_not_grown(self, (self.principal, self.agent), before, after, [ROUNDS // 2 * EACH] * 2)


class Restarts(BothModes):
    """Agents of the same names end without a word, and start, again and again."""

    def rounds(self, first, count):
        for i in range(first, first + count):
            for agent in self.modes:
                self.agents[agent].kill()
                self.agents[agent].start(ready=False)
                tree, namespace = self.source(agent)
                tree.write(namespace, "probe", application("probe", str(i), namespace=namespace))
            for agent in self.modes:
                tree, namespace = self.other(agent)
                wait_for("it goes on", lambda t=tree, n=namespace: revision(t.read(n, "probe")) == str(i))
        return [Taken(self.principal)]

    def test_processes_that_are_gone_take_nothing(self):
        before = self.rounds(0, WARM_UP // 2)
        after = self.rounds(WARM_UP // 2, ROUNDS // 2)
        assert_not_grown(self, [self.principal], before, after, [ROUNDS // 2 * len(self.modes)], RESTART_BYTES)


if __name__ == "__main__":
    unittest.main(verbosity=2)
