# SPDX-License-Identifier: Apache-2.0
"""Agents of both modes whose objects change all the time, and what must hold whatever happens meanwhile.

Three kinds of Applications keep the test's own writers apart from each other: "spec" ones change where they come from,
at the hub or at the autonomous agent, "status" ones at the agents, "op" ones are asked at the hub to sync.
"""
import contextlib
import random

from both_modes import BothModes
from daemons import Load, application, revision, wait_for


class UnderLoad(BothModes):
    seed = None

    def setUp(self):
        super().setUp()
        self.random = random.Random(self.seed)
        self.wanted = {(agent, f"spec-{i}"): 0 for agent in self.modes for i in range(20)}
        self.reported = {(agent, f"status-{i}"): 0 for agent in self.modes for i in range(10)}
        self.asked = {(agent, f"op-{i}"): 0 for agent in self.modes for i in range(5)}
        self.executed = []
        self.highest = {}
        for agent, name in [*self.wanted, *self.reported, *self.asked]:
            self.set_spec(agent, name, "0")

    def set_spec(self, agent, name, value):
        tree, namespace = self.source(agent)
        tree.write(namespace, name, application(name, value, namespace=namespace))

    def copy_of(self, agent, name):
        tree, namespace = self.other(agent)
        return tree.read(namespace, name)

    def status_at_hub(self, agent, name):
        return (self.hub.status(agent, name) or {}).get("sync", {}).get("revision")

    def change_specs(self):
        one = self.random.choice(list(self.wanted))
        self.wanted[one] += 1
        self.set_spec(*one, str(self.wanted[one]))

    def change_statuses(self):
        agent, name = self.random.choice(list(self.reported))
        if self.spokes[agent].read("argocd", name):
            self.reported[agent, name] += 1
            self.spokes[agent].set_status("argocd", name, {"sync": {"revision": str(self.reported[agent, name])}})

    def ask(self):
        """A new sync wherever the former one has been taken off the hub."""
        for agent, name in self.asked:
            app = self.hub.read(agent, name)
            if app and "operation" not in app:
                self.asked[agent, name] += 1
                revision_asked = f"{agent}/{name}/{self.asked[agent, name]}"
                self.hub.edit(agent, name, lambda a, r=revision_asked: a.update(operation={"sync": {"revision": r}}))

    def control(self):
        """Argo CD's controllers at the agents: take operations up and report them."""
        for agent, name in self.asked:
            app = self.spokes[agent].read("argocd", name)
            if app and "operation" in app:
                done = app["operation"]["sync"]["revision"]
                self.executed.append(done)
                self.spokes[agent].edit("argocd", name, lambda a, d=done: (
                    a.pop("operation", None), a.update(status={"sync": {"revision": d}})))

    def watch(self):
        """No older state is ever written over a newer one."""
        for one in self.wanted:
            self.rises(one, revision(self.copy_of(*one)))
        for one in self.reported:
            self.rises(one, self.status_at_hub(*one))

    def rises(self, what, value):
        if value is not None:
            assert int(value) >= self.highest.get(what, 0), f"{what} fell from {self.highest[what]} to {value}"
            self.highest[what] = int(value)

    def settled(self):
        statuses = all(self.status_at_hub(*one) == str(v) for one, v in self.reported.items() if v > 0)
        specs = all(revision(self.copy_of(*one)) == str(v) for one, v in self.wanted.items())
        operations = all("operation" not in self.hub.read(*one) for one in self.asked)
        return specs and statuses and operations

    @contextlib.contextmanager
    def under_load(self):
        """While it lasts everything changes; then everything is in effect, and each sync was executed once."""
        control, watch = Load(self.control), Load(self.watch)
        loads = [Load(self.change_specs), Load(self.change_statuses), Load(self.ask)]
        yield
        for load in loads:
            load.finish()
        wait_for("everything is in effect", self.settled, 240)
        control.finish()
        watch.finish()
        twice = {op for op in self.executed if self.executed.count(op) > 1}
        wanted = {f"{agent}/{name}/{i}" for (agent, name), last in self.asked.items() for i in range(1, last + 1)}
        print(f"{sum(self.wanted.values())} spec changes, {sum(self.reported.values())} status changes, "
              f"{len(self.executed)} syncs")
        self.assertEqual(twice, set(), "executed twice")
        self.assertEqual(wanted - set(self.executed), set(), "never executed")
