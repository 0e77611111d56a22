#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An API server that answers each write with a conflict holds back one object, and nothing else."""
import json
import unittest

from daemons import Fleet, application, revision, wait_for
from fake_api import FakeApi

PATH = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/"


class Api(FakeApi):
    """Every kind that an agent watches can be listed."""

    def respond(self, request):
        if request.method == "GET" and not request.is_watch and request.path.endswith(("/appprojects", "/configmaps")):
            return self.list(request)
        return super().respond(request)


class Conflict(Fleet):
    def agent_config(self):
        self.api = Api(self.folder)
        self.api.start()
        self.addCleanup(self.api.stop)
        token = self.folder / "token"
        token.write_text("t")
        kubeconfig = self.folder / "kubeconfig"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{self.api.port}",
                                                   "certificate-authority": str(self.api.ca)}}],
            "users": [{"name": "u", "user": {"tokenFile": str(token)}}]}))
        return {**super().agent_config(), "sync": {"set-aside": "2s"},
                "store": {"kind": "kubernetes", "namespace": "argocd", "kubernetes": {"kubeconfig": str(kubeconfig)}}}

    def here(self, name):
        return revision(self.api.objects.get(PATH + name))

    def conditions(self, name):
        return [c["message"] for c in (self.hub.status("w1", name) or {}).get("conditions", [])
                if c["type"] == "AgentError"]

    def test_a_write_that_always_conflicts_is_set_aside_and_made_once_it_can_be(self):
        for name in ("a", "b"):
            self.hub.write("w1", name, application(name))
        self.start()
        wait_for("both have arrived", lambda: self.here("a") == self.here("b") == "1")
        mend = self.api.fault(lambda r: r.method == "PATCH" and r.path == PATH + "a",
                              lambda r: r.refuse(409, "Conflict", "the object has been modified", {"name": "a"}))
        self.hub.edit("w1", "a", lambda a: a["spec"]["source"].update(targetRevision="2"))
        wait_for("it is set aside", lambda: self.agent.metric("argobus_set_aside_total") == 1)
        wait_for("the object says so", lambda: self.conditions("a"))
        wait_for("nothing is held back", lambda: self.agent.metric("argobus_unacknowledged") == 0)
        self.hub.edit("w1", "b", lambda a: a["spec"]["source"].update(targetRevision="2"))
        wait_for("others go on", lambda: self.here("b") == "2")
        self.assertEqual(self.here("a"), "1")
        mend()
        wait_for("it is tried on", lambda: self.here("a") == "2")
        wait_for("the error is over", lambda: not self.conditions("a"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
