#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of principal, agent and (with Kafka) broker at random moments under load.

CHAOS_KILLS (9) is how many, CHAOS_SEED makes a run repeatable as far as processes allow. Three kinds of Applications
keep the test's own writers apart from each other: "spec" ones change at the hub, "status" ones at the agent, "op"
ones are asked to sync.
"""
import os
import pathlib
import random
import time
import unittest
from unittest import mock

from daemons import Fleet, Load, application, kafka_dev, revision, wait_for

KILLS = int(os.environ.get("CHAOS_KILLS", "9"))
SEED = int(os.environ.get("CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 2**31)


class Chaos(Fleet):
    def own_broker(self):
        home = pathlib.Path(os.environ["KAFKA_DEV_HOME"] + "-chaos")
        self.enterContext(mock.patch.dict(os.environ, {"KAFKA_DEV_HOME": str(home)}))
        kafka_dev("fresh")
        self.addCleanup(kafka_dev, "kill")

    def setUp(self):
        if self.transport == "kafka":
            self.own_broker()
        super().setUp()
        self.victims = ["principal", "agent"] + (["broker"] if self.transport == "kafka" else [])
        self.random = random.Random(SEED)
        self.wanted = {f"spec-{i}": 0 for i in range(20)}
        self.reported = {f"status-{i}": 0 for i in range(10)}
        self.asked = {f"op-{i}": 0 for i in range(5)}
        self.executed = []
        self.highest = {}
        for name in [*self.wanted, *self.reported, *self.asked]:
            self.hub.write("w1", name, application(name, "0"))

    def change_specs(self):
        name = self.random.choice(list(self.wanted))
        self.wanted[name] += 1
        self.hub.write("w1", name, application(name, str(self.wanted[name])))

    def change_statuses(self):
        name = self.random.choice(list(self.reported))
        if self.spoke.read("argocd", name):
            self.reported[name] += 1
            self.spoke.set_status("argocd", name, {"sync": {"revision": str(self.reported[name])}})

    def ask(self):
        """A new sync wherever the former one has been taken off the hub."""
        for name in self.asked:
            app = self.hub.read("w1", name)
            if "operation" not in app:
                self.asked[name] += 1
                self.hub.edit("w1", name, lambda a, n=name: a.update(
                    operation={"sync": {"revision": f"{n}/{self.asked[n]}"}}))

    def control(self):
        """Argo CD's controller at the agent: takes operations up and reports them."""
        for name in self.asked:
            app = self.spoke.read("argocd", name)
            if app and "operation" in app:
                done = app["operation"]["sync"]["revision"]
                self.executed.append(done)
                self.spoke.edit("argocd", name, lambda a, d=done: (
                    a.pop("operation", None), a.update(status={"sync": {"revision": d}})))

    def watch(self):
        """No older state is ever written over a newer one."""
        for name in self.wanted:
            self.rises(("spec", name), revision(self.spoke.read("argocd", name)))
        for name in self.reported:
            self.rises(("status", name), (self.hub.status("w1", name) or {}).get("sync", {}).get("revision"))

    def rises(self, what, value):
        if value is not None:
            assert int(value) >= self.highest.get(what, 0), f"{what} fell from {self.highest[what]} to {value}"
            self.highest[what] = int(value)

    def kill_one(self):
        victim = self.random.choice(self.victims)
        if victim == "broker":
            kafka_dev("kill")
            kafka_dev("start")
        else:
            daemon = getattr(self, victim)
            daemon.kill()
            daemon.start(ready=False)
        return victim

    def settled(self):
        statuses = all((self.hub.status("w1", n) or {}).get("sync", {}).get("revision") == str(v)
                       for n, v in self.reported.items() if v > 0)
        specs = all(revision(self.spoke.read("argocd", n)) == str(v) for n, v in self.wanted.items())
        operations = all("operation" not in self.hub.read("w1", n) for n in self.asked)
        return specs and statuses and operations

    def test_killing_any_process_loses_and_repeats_nothing(self):
        print(f"seed {SEED}, {KILLS} kills")
        self.start()
        control, watch = Load(self.control), Load(self.watch)
        loads = [Load(self.change_specs), Load(self.change_statuses), Load(self.ask)]
        killed = []
        for _ in range(KILLS):
            moment = time.monotonic() + self.random.uniform(0.05, 2)
            wait_for("a random moment", lambda: time.monotonic() > moment)
            killed.append(self.kill_one())
        for load in loads:
            load.finish()
        wait_for("everything is in effect", self.settled, 240)
        control.finish()
        watch.finish()
        twice = {op for op in self.executed if self.executed.count(op) > 1}
        never = {f"{n}/{i}" for n, last in self.asked.items() for i in range(1, last + 1)} - set(self.executed)
        print(f"killed {killed}; {sum(self.wanted.values())} spec changes, {sum(self.reported.values())} status "
              f"changes, {len(self.executed)} syncs")
        self.assertEqual(twice, set(), "executed twice")
        self.assertEqual(never, set(), "never executed")


if __name__ == "__main__":
    unittest.main(verbosity=2)
