#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Another principal takes the place of the first, on another host: it has nothing of what that kept of its own."""
import shutil
import unittest

from both_modes import EACH, BothModes
from daemons import Daemon, Tree, application, read_yaml, revision, wait_for

IDENTITY = "argocd-agent-principal-identity"


class Successor(BothModes):
    def succeed(self):
        """The next one starts, with an empty folder."""
        self.host = "successor"
        self.principal = Daemon("argobus-principal", self.folder / self.host, self.principal_config())
        self.principal.start(ready=False)

    def copy_hub(self):
        copy = self.folder / "copy"
        shutil.copytree(self.hub.folder, copy)
        shutil.rmtree(self.hub.folder)
        self.hub = Tree(copy)

    def test_on_the_same_hub(self):
        def replace():
            self.principal.stop()
            self.succeed()

        self.survives(replace)

    def test_on_a_copy_of_the_hub_after_the_first_was_killed(self):
        def replace():
            self.principal.kill()
            self.copy_hub()
            self.succeed()

        self.survives(replace)

    def test_what_changed_at_both_ends_while_there_was_none_arrives_and_nothing_else(self):
        before = self.others()
        self.principal.stop()
        for name in self.modes:
            tree, namespace = self.source(name)
            tree.write(namespace, "app-0", application("app-0", "2", namespace=namespace))
            tree.remove(namespace, "app-1")
        self.copy_hub()
        self.succeed()
        for name in self.modes:
            tree, namespace = self.other(name)
            wait_for(f"a change of {name} arrives", lambda t=tree, n=namespace: revision(t.read(n, "app-0")) == "2")
            wait_for(f"a deletion of {name} does", lambda t=tree, n=namespace: t.read(n, "app-1") is None)
        self.changes_flow()
        self.assertEqual(self.others(), before)

    def others(self):
        """The files of what nobody changes."""
        return {name: file for name, file in self.all_files().items() if "app-0." not in name and "app-1." not in name}

    def test_under_another_identity(self):
        """It takes over what the first one's agents have: only whose it is changes."""
        before, identity = self.what_stands(), self.identity()

        def is_taken_over():
            apps = [self.spoke.read("argocd", f"app-{i}") for i in range(EACH)]
            owners = {a and a["metadata"]["annotations"]["argocd.argoproj.io/principal-uid"] for a in apps}
            return owners == {self.identity()}

        self.principal.stop()
        self.copy_hub()
        for path in self.hub.folder.rglob(f"{IDENTITY}.*"):
            path.unlink()
        self.succeed()
        wait_for("the agents are this one's", is_taken_over)
        self.assertNotEqual(self.identity(), identity)
        self.changes_flow()
        self.assertEqual(self.what_stands(), before)
        self.assertEqual(self.principal.metric("argobus_deletions_held"), 0)

    def identity(self):
        path = self.hub.folder / "argocd" / "ConfigMap" / f"{IDENTITY}.yaml"
        return wait_for("the principal has an identity", lambda: read_yaml(path))["data"]["principal-uid"]

    def what_stands(self):
        """uid, spec and status of each Application."""
        wait_for("nothing is under way", self.is_at_rest)
        return {(top, namespace, name): (tree.sidecar(namespace, name)["uid"], tree.read(namespace, name)["spec"],
                                         tree.status(namespace, name))
                for top, tree in self.trees().items() for namespace in ("argocd", *self.modes)
                for name in tree.names(namespace) - {"probe"}}


if __name__ == "__main__":
    unittest.main(verbosity=2)
