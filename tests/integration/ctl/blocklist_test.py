#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""argobusctl revoke, unrevoke and revoked with --configmap, at a real API server."""
import json
import os
import pathlib
import subprocess
import unittest
import uuid

import yaml

from ctl import Ctl, kubectl

NAME = "argocd-agent-tls-blocklist"
OTHER, THIRD = "CD" * 32, "EF" * 32


class Listing(Ctl):
    def setUp(self):
        super().setUp()
        self.namespace = f"b{uuid.uuid4().hex[:10]}"
        kubectl("create", "namespace", self.namespace)
        self.addCleanup(kubectl, "delete", "namespace", self.namespace, "--wait=false")
        self.ctl("pki", "init")
        self.ctl("pki", "issue", "agent", "w1")
        self.key = json.loads(self.ctl("pki", "inspect", "w1.crt", "-o", "json"))["fingerprint"]
        self.flags = ("--configmap", "--namespace", self.namespace, "--kubeconfig", os.environ["AB_KUBECONFIG"])

    def data(self, name=NAME):
        return json.loads(kubectl("get", "configmap", name, "-n", self.namespace, "-o", "json")).get("data", {})

    def edit(self, **data):
        kubectl("patch", "configmap", NAME, "-n", self.namespace, "--type=merge", "-p", json.dumps({"data": data}))

    def listed(self):
        return json.loads(self.ctl("revoked", *self.flags, "-o", "json"))["revoked"]


class Blocklist(Listing):
    def test_a_list_is_created_extended_shown_and_shortened(self):
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.ctl("revoke", "w1.crt", *self.flags), f"revoked {self.key} CN=w1\n")
        self.assertRegex(self.data()[self.key], r"^CN=w1, revoked 20\d\d-\d\d-\d\dT[0-9:]+Z$")
        said = self.ctl("revoke", self.key.lower(), OTHER.lower(), OTHER, *self.flags)
        self.assertEqual(said, f"already revoked {self.key}\nrevoked {OTHER}\nalready revoked {OTHER}\n")
        self.assertEqual(set(self.data()), {self.key, OTHER})
        self.assertEqual({row["fingerprint"] for row in self.listed()}, {self.key, OTHER})
        self.assertIn("CN=w1, revoked", self.ctl("revoked", *self.flags))
        self.assertEqual(self.ctl("unrevoke", "w1.crt", *self.flags), f"no longer revoked {self.key} CN=w1\n")
        self.assertEqual(set(self.data()), {OTHER})

    def test_what_argocd_agent_and_people_write_is_understood(self):
        kubectl("create", "configmap", NAME, "-n", self.namespace, f"--from-literal={OTHER}=")
        self.edit(**{OTHER.lower(): "", THIRD.lower(): "", "w9": ""})
        self.assertEqual(self.ctl("revoke", THIRD, *self.flags), f"already revoked {THIRD}\n")
        done = self.run_command("argobusctl", "revoked", *self.flags, "-o", "json")
        self.assertIn({"fingerprint": OTHER}, json.loads(done.stdout)["revoked"])
        self.assertIn('"w9" is not a fingerprint', done.stderr)
        self.ctl("unrevoke", OTHER, *self.flags)
        self.assertEqual(set(self.data()), {THIRD.lower(), "w9"})

    def test_another_name(self):
        self.ctl("revoke", "w1.crt", *self.flags, "--name", "thieves")
        self.assertEqual(set(self.data("thieves")), {self.key})

    def test_nothing_is_changed_when_one_is_not_revoked(self):
        self.assertIn("is not revoked; nothing was changed", self.ctl("unrevoke", "w1.crt", *self.flags, code=4))
        self.ctl("revoke", "w1.crt", *self.flags)
        self.assertIn(f"{OTHER} is not revoked", self.ctl("unrevoke", "w1.crt", OTHER, *self.flags, code=4))
        self.assertEqual(set(self.data()), {self.key})

    def test_what_the_api_server_refuses_is_said(self):
        kubectl("create", "configmap", NAME, "-n", self.namespace, f"--from-literal={OTHER}=")
        kubectl("patch", "configmap", NAME, "-n", self.namespace, "--type=merge", "-p", '{"immutable": true}')
        self.assertIn("immutable", self.ctl("revoke", "w1.crt", *self.flags, code=1))
        said = self.ctl("revoked", *self.flags, "--context", "agent", code=1)
        self.assertIn("forbidden", said)
        self.assertIn(f"{self.namespace}/{NAME}", said)

    def test_bad_command_lines(self):
        for args, said in ((("--file", "revoked"), "two lists"), (("--namespace", "A b"), "--namespace"),
                           (("--name", "a/b"), "--name")):
            self.assertIn(said, self.ctl("revoke", "w1.crt", "--configmap", *args, code=2))
        for flag in ("context", "kubeconfig", "namespace", "name"):
            said = self.ctl("revoke", "w1.crt", f"--{flag}", "x", code=2)
            self.assertIn(f"--{flag}: works with --configmap only", said)
        self.assertFalse((self.folder / "revoked").exists())


class Contexts(Listing):
    """The kubeconfig has a context "test" for the API server, and "gone" for one that does not answer."""

    def setUp(self):
        super().setUp()
        admin = yaml.safe_load(pathlib.Path(os.environ["AB_KUBECONFIG"]).read_text())
        [cluster] = admin["clusters"]
        gone = {"name": "gone", "cluster": {**cluster["cluster"], "server": "https://127.0.0.1:1"}}
        [user] = [u for u in admin["users"] if u["name"] == admin["contexts"][0]["context"]["user"]]
        self.config = {"apiVersion": "v1", "kind": "Config", "current-context": "gone", "clusters": [cluster, gone],
                       "users": [user],
                       "contexts": [{"name": "test", "context": {"cluster": cluster["name"], "user": user["name"]}},
                                    {"name": "gone", "context": {"cluster": "gone", "user": user["name"]}}]}
        (self.folder / "config").write_text(yaml.safe_dump(self.config))
        self.flags = ("--configmap", "--namespace", self.namespace, "--kubeconfig", "config", "--context", "test")

    def test_the_context_that_is_named_counts(self):
        self.ctl("revoke", "w1.crt", *self.flags)
        self.assertEqual(set(self.data()), {self.key})

    def test_an_unknown_context_is_told_with_those_there_are(self):
        said = self.ctl("revoked", *self.flags[:-1], "tset", code=1)
        self.assertIn('has no context "tset"; its contexts: test, gone', said)

    def test_the_current_context_counts_where_none_is_named(self):
        self.assertIn("https://127.0.0.1:1", self.ctl("revoked", *self.flags[:-2], code=3))

    def test_the_variable_kubeconfig_counts_where_no_file_is_named(self):
        done = subprocess.run([os.path.join(os.environ["AB_BIN"], "argobusctl"), "revoked", "--configmap", "--namespace",
                               self.namespace, "--context", "test"], capture_output=True, text=True, timeout=120,
                              cwd=self.folder, env={**os.environ, "KUBECONFIG": "config"})
        self.assertEqual((done.returncode, done.stderr), (0, "no certificate is revoked\n"))

    def test_a_kubeconfig_that_is_not_there(self):
        self.assertIn("--kubeconfig: cannot read none", self.ctl("revoked", "--configmap", "--kubeconfig", "none", code=1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
