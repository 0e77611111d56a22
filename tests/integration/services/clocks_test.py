#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clocks that are hours apart, of principal and agent, and of one of them before and after: changes go both ways, what
is newer is never replaced by what is older, what is deleted goes, and a sync runs once."""
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest
from unittest import mock

import daemons
from daemons import Fleet, Load, application, kafka_dev, revision, wait_for

AHEAD, RIGHT, BEHIND = 6 * 3600, 0, -6 * 3600


class Clock:
    """What time a daemon takes it to be, in seconds beside the right one; may be set while it runs."""

    def __init__(self, path):
        self.path = path
        self.path.write_bytes(bytes(8))
        library = pathlib.Path(os.environ["AB_BIN"], "libshifted_clock.so")
        self.env = {"LD_PRELOAD": str(library), "AB_CLOCK_SHIFT": str(path)}

    def set(self, seconds):
        with open(self.path, "r+b") as file:
            file.write(struct.pack("=q", seconds))


class Clocks(Fleet):
    mode = "managed"

    @classmethod
    def setUpClass(cls):
        if cls.transport == "grpc":
            cls.make_old_certificates()

    @classmethod
    def make_old_certificates(cls):
        """A clock that is behind must not take them to be of the future."""
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        clock = Clock(pathlib.Path(folder, "clock"))
        clock.set(4 * BEHIND)
        script = pathlib.Path(daemons.__file__).parent / "grpc" / "certs"
        subprocess.run([script, folder], check=True, capture_output=True, env=dict(os.environ, **clock.env))
        cls.enterClassContext(mock.patch.dict(os.environ, {"AB_GRPC_CERTS": folder}))

    def setUp(self):
        super().setUp()
        self.clocks = {}
        for daemon in (self.principal, self.agent):
            self.clocks[daemon] = Clock(daemon.folder / "clock")
            daemon.env = self.clocks[daemon].env
        hub, spoke = (self.hub, "w1"), (self.spoke, "argocd")
        self.source, self.mirror = (hub, spoke) if self.mode == "managed" else (spoke, hub)
        self.value = 0
        self.executed, self.highest = [], {}
        for name in ("spec", "status", "op"):
            self.write(name)

    def principal_config(self):
        data = self.folder / "principal" / "data"
        data.mkdir(parents=True, exist_ok=True)
        return dict(super().principal_config(), agents=[{"name": "w1", "mode": self.mode}], principal={"data": str(data)},
                    control={"socket": str(self.folder / "ctl.sock")})

    def agent_config(self):
        config = super().agent_config()
        config["agent"]["mode"] = self.mode
        return config

    # --- what people and Argo CD do ---

    def write(self, name):
        tree, namespace = self.source
        tree.write(namespace, name, application(name, str(self.value), namespace=namespace))

    def mirrored(self, name):
        tree, namespace = self.mirror
        return tree.read(namespace, name)

    def control(self):
        """Argo CD's controller at the agent takes an operation up and reports."""
        app = self.spoke.read("argocd", "op")
        if app and "operation" in app:
            done = app["operation"]["sync"]["revision"]
            self.executed.append(done)
            self.spoke.edit("argocd", "op", lambda a: (a.pop("operation"), a.update(status={"sync": {"revision": done}})))

    def watch(self):
        """What stands there is never older than what stood there, and never missing."""
        app = self.mirrored("spec")
        assert app or "spec" not in self.highest, "it is gone"
        self.rises("spec", revision(app))
        self.rises("status", self.status_at_hub("status"))

    def rises(self, what, value):
        if value and value.isdigit():
            assert int(value) >= self.highest.get(what, 0), f"{what} fell from {self.highest[what]} to {value}"
            self.highest[what] = int(value)

    def status_at_hub(self, name):
        return (self.hub.status("w1", name) or {}).get("sync", {}).get("revision")

    def change(self):
        """Something of each that travels."""
        tree, namespace = self.source
        if self.value > 0:
            tree.remove(namespace, f"app-{self.value}")
        self.value += 1
        self.write("spec")
        self.write(f"app-{self.value}")
        self.spoke.set_status("argocd", "status", {"sync": {"revision": str(self.value)}})
        self.hub.edit("w1", "op", lambda a: a.update(operation={"sync": {"revision": str(self.value)}}))

    # --- what follows ---

    def is_in_effect(self):
        value = str(self.value)
        wait_for(f"change {value} is in effect", lambda: revision(self.mirrored("spec")) == value)
        wait_for(f"status {value} is at the hub", lambda: self.status_at_hub("status") == value)
        wait_for(f"sync {value} is reported", lambda: self.status_at_hub("op") == value)
        wait_for("it is taken off the hub", lambda: "operation" not in (self.hub.read("w1", "op") or {"operation": 1}))
        names = {"spec", "status", "op", f"app-{value}"}
        wait_for("what is deleted is gone", lambda: self.mirror[0].names(self.mirror[1]) == names)

    def is_undone(self):
        tree, namespace = self.mirror
        tree.edit(namespace, "spec", lambda a: a["spec"]["source"].update(targetRevision="hacked"))
        wait_for("it is undone", lambda: revision(self.mirrored("spec")) == str(self.value))

    def all_goes_on(self):
        self.change()
        self.is_in_effect()
        self.is_undone()
        before = self.principal.metric("argobus_resyncs_total")
        wait_for("a resync is taken up", lambda: self.ctl("resync", "--agent", "w1").returncode == 0)
        wait_for("both ends have compared", lambda: self.principal.metric("argobus_resyncs_total") > before)
        self.assertEqual(self.principal.metric("argobus_deletions_held"), 0)

    def begin(self):
        self.start()
        wait_for("all have arrived", lambda: self.mirror[0].names(self.mirror[1]) == {"spec", "status", "op"})
        self.loads = [Load(self.control), Load(self.watch)]
        self.all_goes_on()

    def finish(self):
        for load in self.loads:
            load.finish()
        self.assertEqual(self.executed, [str(i + 1) for i in range(self.value)])

    def restart(self, daemon, shift):
        daemon.stop()
        self.change()
        self.clocks[daemon].set(shift)
        daemon.start(ready=False)
        self.is_in_effect()
        self.all_goes_on()

    def comes_back_each_time(self, daemon):
        self.clocks[daemon].set(BEHIND)
        self.begin()
        for shift in (RIGHT, AHEAD, RIGHT):
            self.restart(daemon, shift)
        self.finish()

    def test_an_agent_whose_clock_is_wrong_and_set_while_it_is_down(self):
        self.comes_back_each_time(self.agent)

    def test_a_principal_whose_clock_is_wrong_and_set_while_it_is_down(self):
        self.comes_back_each_time(self.principal)

    def test_a_clock_that_is_set_while_everything_runs(self):
        self.begin()
        for daemon in (self.agent, self.principal):
            for shift in (AHEAD, BEHIND, RIGHT):
                self.clocks[daemon].set(shift)
                self.all_goes_on()
        self.finish()

    @unittest.skipUnless(Fleet.transport == "grpc", "a broker lets in whom it wants")
    def test_a_stream_does_not_outlive_the_certificate_of_its_agent(self):
        self.start()
        wait_for("all have arrived", lambda: self.mirror[0].names(self.mirror[1]) == {"spec", "status", "op"})
        self.clocks[self.principal].set(31 * 24 * 3600)
        wait_for("it is said why", lambda: "the agent's identity is no longer valid" in self.principal.log.read_text())
        wait_for("the agent is told", lambda: "the stream has ended: UNAUTHENTICATED" in self.agent.log.read_text())
        wait_for("it is not let in again", lambda: not self.agent.is_ready())
        self.value += 1
        self.write("spec")
        self.clocks[self.principal].set(RIGHT)
        wait_for("it goes on", lambda: revision(self.mirrored("spec")) == str(self.value))

    @unittest.skipUnless(Fleet.transport == "grpc", "a broker lets in whom it wants")
    def test_a_login_of_every_day_is_no_loss(self):
        self.start()
        wait_for("all have arrived", lambda: self.mirror[0].names(self.mirror[1]) == {"spec", "status", "op"})
        seen = set()
        self.loads = [Load(lambda: seen.add(self.agent.why_unready()))]
        for day in (2, 4):
            self.clocks[self.principal].set(day * 24 * 3600)
            wait_for("it logs in again", lambda: self.agent.log.read_text().count("logging in again") == day / 2)
            wait_for("it has", lambda: self.agent.log.read_text().count("principal connected") == 1 + day / 2)
            self.value += 1
            self.write("spec")
            wait_for("it goes on", lambda: revision(self.mirrored("spec")) == str(self.value))
        for load in self.loads:
            load.finish()
        self.assertEqual(seen, {""})
        self.assertEqual(self.principal.metric("argobus_auth_failures_total"), 0)
        for daemon, words in ((self.agent, "no stream"), (self.principal, "no longer valid"), (self.principal, "refused")):
            self.assertNotIn(words, daemon.log.read_text())

    def test_clocks_that_were_ahead_and_logs_that_are_lost(self):
        """What stands at the other end, and what was executed there, is newer than all that is said now."""
        for clock in self.clocks.values():
            clock.set(AHEAD)
        self.begin()
        self.agent.stop()
        self.principal.stop()
        if self.transport == "kafka":  # else they went with the processes
            kafka_dev("tool", "topics", "--delete", "--topic", f"{self.prefix}[.](down|up)[.]w1[.]state")
        self.change()
        for clock in self.clocks.values():
            clock.set(BEHIND)
        self.principal.start(ready=False)
        self.agent.start(ready=False)
        self.is_in_effect()
        self.all_goes_on()
        self.finish()


class Autonomous(Clocks):
    mode = "autonomous"


if __name__ == "__main__":
    unittest.main(verbosity=2)
