# SPDX-License-Identifier: Apache-2.0
"""Agents of both modes at one principal, all in step, and what is to stay as it is whatever befalls them."""
from daemons import Daemon, Fleet, Tree, application, revision, wait_for

EACH = 10
STATUS = {"sync": {"status": "Synced"}}


class BothModes(Fleet):
    """w1 is managed, w2 autonomous."""

    modes = {"w1": "managed", "w2": "autonomous"}
    host = "principal"  # whose folder the principal runs in

    def setUp(self):
        super().setUp()
        self.spokes = {name: Tree(self.folder / name) for name in self.modes}
        self.agents = {"w1": self.agent}
        for name in list(self.modes)[1:]:
            self.agents[name] = Daemon("argobus-agent", self.folder / f"agent-{name}", self.config_of(name))
            self.addCleanup(self.agents[name].kill)
        for name, mode in self.modes.items():
            tree, namespace = self.source(name)
            for i in range(EACH):
                tree.write(namespace, f"app-{i}", application(f"app-{i}", namespace=namespace))
        self.start()
        for name in self.modes:
            wait_for(f"all of {name} have arrived", lambda n=name: self.have_arrived(n))
            for i in range(EACH):
                self.spokes[name].set_status("argocd", f"app-{i}", STATUS)
        for name in self.modes:
            wait_for(f"statuses of {name} are at the hub", lambda n=name: all(
                self.hub.status(n, f"app-{i}") == STATUS for i in range(EACH)))
        self.compare()

    def principal_config(self):
        data = self.folder / self.host / "data"
        data.mkdir(parents=True, exist_ok=True)
        return dict(super().principal_config(), agents=[{"name": name, "mode": self.modes[name]} for name in self.modes],
                    principal={"data": str(data)}, control={"socket": str(self.folder / "ctl.sock")})

    def config_of(self, name):
        data = self.folder / f"data-{name}"
        data.mkdir(exist_ok=True)
        return dict(self.agent_config(), agent={"name": name, "mode": self.modes[name], "data": str(data)},
                    store={"kind": "directory", "namespace": "argocd", "directory": {"path": str(self.folder / name)}},
                    **self.carried(name))

    def source(self, name):
        return (self.hub, name) if self.modes[name] == "managed" else (self.spokes[name], "argocd")

    def other(self, name):
        return (self.spokes[name], "argocd") if self.modes[name] == "managed" else (self.hub, name)

    def have_arrived(self, name):
        tree, namespace = self.other(name)
        return len(tree.names(namespace)) == EACH

    def daemons(self):
        return [self.principal, *self.agents.values()]

    def start(self):
        for daemon in self.daemons():
            daemon.start(ready=False)

    def stop(self):
        for daemon in self.daemons():
            daemon.stop()

    def compare(self):
        """Every agent is up to date with the principal by a resync that begins now."""
        for name in self.modes:
            said = f"up to date with the agent agent={name}\n"
            before = self.principal.log.read_text().count(said)
            wait_for(f"a resync of {name} is taken up", lambda n=name: self.ctl("resync", "--agent", n).returncode == 0)
            wait_for(f"{name} is in step", lambda b=before, s=said: self.principal.log.read_text().count(s) > b)

    def is_at_rest(self):
        return self.principal.metric("argobus_unacknowledged") == 0 and all(
            agent.metric("argobus_unsettled") == 0 for agent in self.agents.values())

    def trees(self):
        return {"hub": self.hub, **self.spokes}

    def all_files(self):
        """Each file of an Application: what it says, and when it was written."""
        wait_for("nothing is under way", self.is_at_rest)
        return {f"{top}: {path.relative_to(tree.folder)}": (path.read_text(), path.stat().st_mtime_ns)
                for top, tree in self.trees().items() for path in tree.folder.rglob("*.[yj]*")
                if "Application" in path.parts and path.stem != "probe"}

    def changes_flow(self):
        """Of every agent, and both ends agree."""
        for name in self.modes:
            tree, namespace = self.source(name)
            tree.write(namespace, "probe", application("probe", namespace=namespace))
        for name in self.modes:
            tree, namespace = self.other(name)
            wait_for(f"changes of {name} go on", lambda t=tree, n=namespace: revision(t.read(n, "probe")) == "1")
        self.compare()

    def survives(self, what):
        """Nothing is deleted or written anew for it."""
        before = self.all_files()
        self.assertGreaterEqual(len(before), 2 * EACH * len(self.modes))
        what()
        self.changes_flow()
        self.assertEqual(self.all_files(), before)
        self.assertEqual(self.principal.metric("argobus_deletions_held"), 0)
