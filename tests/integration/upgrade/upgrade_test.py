#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""This version beside the one before it, and each after the other on the state that the other has stored.

AB_BUILD_VERSION builds the version before, AB_BEFORE, from the history. Nothing may be deleted, sent or written again
because of a change of version, but for names that objects lack (decision 0060).
"""
import functools
import os
import pathlib
import re
import subprocess
import unittest

from daemons import Fleet, application, revision, wait_for
from documented import commands

NAME = "argobus.io/name"
POPULATION = 30


@functools.cache
def programs(version):
    """The folder of the programs that are `before` or `now`."""
    if version == "now":
        return pathlib.Path(os.environ["AB_BIN"])
    command = [os.environ["AB_BUILD_VERSION"], os.environ["AB_BEFORE"]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr
    return pathlib.Path(done.stdout.strip())


class Upgrade(Fleet):
    def setUp(self):
        programs("before")
        super().setUp()
        self.value = 0

    def principal_config(self):
        data = self.folder / "principal" / "data"
        data.mkdir(parents=True, exist_ok=True)
        return dict(super().principal_config(), principal={"data": str(data)})

    def begin(self, principal, agent):
        for number in range(POPULATION):
            self.hub.write("w1", f"app-{number}", application(f"app-{number}"))
        self.all_names = {f"app-{number}" for number in range(POPULATION)} | {"guestbook"}
        self.use(self.principal, principal).start()
        self.use(self.agent, agent).start()
        self.flows()
        wait_for("all are at the agent", lambda: self.spoke.names("argocd") == self.all_names)
        for name in self.all_names:
            self.spoke.set_status("argocd", name, {"sync": {"status": "Synced"}})
        wait_for("their status is at the hub", lambda: all(self.hub.status("w1", name) for name in self.all_names))
        self.at_rest()
        self.expected = {daemon: self.restart(daemon) for daemon in (self.principal, self.agent)}

    @staticmethod
    def use(daemon, version):
        daemon.program = programs(version) / daemon.program.name
        return daemon

    def replace(self, daemon, version):
        """The program, on its own stored state. Over Kafka it sends none of the population, over gRPC no more than at any
        restart."""
        self.use(daemon, version)
        allowed = self.expected[daemon] if self.transport == "grpc" else 0
        self.assertLess(self.restart(daemon), allowed + POPULATION / 2, f"sent again by {daemon.program}")

    def restart(self, daemon):
        """How many state events it sends then, beside those of `flows`: over gRPC an agent reports each object again."""
        names = daemon is self.agent and daemon.program.parent == programs("now") and not self.are_named()
        before = self.files()
        daemon.stop()
        daemon.start()
        self.flows()
        if names:
            wait_for("the objects at the agent have their names", self.are_named)
            before = before[:POPULATION] + self.files()[POPULATION:]
        self.at_rest()
        self.assertEqual(self.files(), before, f"written again by {daemon.program}")
        return self.sent(daemon)

    def flows(self):
        """A desired state in one direction, a status in the other, and a deletion."""
        self.value += 1
        value = str(self.value)
        self.hub.write("w1", "guestbook", application("guestbook", value))
        self.hub.write("w1", "passing", application("passing", value))
        self.arrives("guestbook", value)
        self.arrives("passing", value)
        self.spoke.set_status("argocd", "guestbook", {"sync": {"status": "Synced", "revision": value}})
        wait_for("the status is at the hub", lambda: (self.hub.status("w1", "guestbook") or {}).get(
            "sync", {}).get("revision") == value)
        self.hub.remove("w1", "passing")
        wait_for("the deletion is at the agent", lambda: self.spoke.read("argocd", "passing") is None)

    def at_rest(self):
        wait_for("all is acknowledged", lambda: self.agent.metric("argobus_unacknowledged") == 0)
        self.assertEqual(self.hub.names("w1"), self.all_names)
        self.assertEqual(self.spoke.names("argocd"), self.all_names)
        self.assertEqual(self.principal.metric("argobus_deletions_held"), 0)

    def files(self):
        """Which files hold the population: a file that is written again is another one."""
        places = ((self.hub, "w1"), (self.spoke, "argocd"))
        return [tree.path(namespace, f"app-{number}").stat().st_ino
                for tree, namespace in places for number in range(POPULATION)]

    def are_named(self):
        objects = (self.spoke.read("argocd", f"app-{number}") for number in range(POPULATION))
        return all(found and NAME in found["metadata"]["annotations"] for found in objects)

    @staticmethod
    def sent(daemon):
        """State events since its start."""
        text = wait_for("/metrics answers", lambda: daemon.get("/metrics"))
        found = re.findall(r'^argobus_events_sent_total\{[^}]*lane="state"[^}]*\} (\S+)$', text, re.M)
        assert found, text
        return sum(float(value) for value in found)

    def test_the_principal_before_serves_an_agent_of_now(self):
        self.begin("before", "now")

    def test_the_principal_of_now_serves_an_agent_before(self):
        self.begin("now", "before")

    def test_both_are_upgraded_and_rolled_back_on_what_they_have_stored(self):
        self.begin("before", "before")
        self.replace(self.principal, "now")
        self.replace(self.agent, "now")
        self.check_page()
        self.replace(self.agent, "before")
        self.replace(self.principal, "before")

    def test_the_agent_may_be_upgraded_first(self):
        self.begin("before", "before")
        self.replace(self.agent, "now")
        self.replace(self.principal, "now")
        self.replace(self.principal, "before")
        self.replace(self.agent, "before")

    def test_changes_made_while_a_program_is_replaced_arrive(self):
        self.begin("before", "before")
        for daemon, version in ((self.agent, "now"), (self.principal, "now"), (self.agent, "before"), (self.principal, "before")):
            daemon.stop()
            self.value += 1
            self.hub.write("w1", "app-0", application("app-0", f"away-{self.value}"))
            self.use(daemon, version).start()
            self.arrives("app-0", f"away-{self.value}")
            self.at_rest()

    def check_page(self):
        """The commands of docs/operate/upgrade.md, about these programs."""
        env = dict(os.environ, PATH=f"{programs('now')}:{os.environ['PATH']}",
                   PRINCIPAL=f"127.0.0.1:{self.principal.port}", AGENT=f"127.0.0.1:{self.agent.port}")
        for block in (command.text for command in commands("docs/operate/upgrade.md", env=env)):
            for program in ("principal", "agent"):
                block = block.replace(f"/etc/argobus/{program}.yaml", str(self.folder / program / "config.yaml"))
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], env=env, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, f"{block}\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
