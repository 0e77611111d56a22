#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""argocd-agent's list of blocked certificates while the API server does not let the principal read it. tests/e2e has the list
at a real API server."""
import unittest

from api_server_test import Api, Beside
from daemons import application, wait_for
from grpc_test import openssl

NAME = "argocd-agent-tls-blocklist"
PATH = f"/api/v1/namespaces/argocd/configmaps/{NAME}"


class Listing(Api):
    @staticmethod
    def selects(request, item):
        """The list has no labels."""
        return Api.selects(request, item) and (item["metadata"]["name"] != NAME or "labelSelector" not in request.query)

    def block(self, *keys):
        self.store(PATH, {"apiVersion": "v1", "kind": "ConfigMap", "data": dict.fromkeys(keys, ""),
                          "metadata": {"name": NAME, "namespace": "argocd", "uid": "1"}})

    def forbid(self):
        """The list cannot be read from now on. Gives the function that allows it again."""
        allow = self.fault(lambda r: r.query.get("fieldSelector") == f"metadata.name={NAME}",
                           lambda r: r.refuse(403, "Forbidden", 'configmaps is forbidden: User "u" cannot list it'))
        self.cut()
        return allow


class Unreadable(Beside):
    make_api = Listing

    def principal_config(self):
        return {**super().principal_config(), "store": self.serve()}

    def setUp(self):
        super().setUp()
        said = openssl("x509", "-in", self.grpc("w1")["tls"]["cert"], "-noout", "-fingerprint", "-sha256")
        self.key = said.strip().partition("=")[2].replace(":", "")
        self.api.put("Application", "guestbook", "w1", spec=application("guestbook")["spec"])

    def refusals(self):
        return self.principal.metric(r'argobus_auth_failures_total\{reason="revoked"\}')

    def is_refused(self):
        before = self.refusals()
        wait_for("its login is refused", lambda: self.refusals() > before)
        self.assertFalse(self.agent.is_ready())

    def says_what_to_grant(self):
        wanted = ("cannot read", PATH, "grant the verbs list and watch on configmaps (RBAC)")
        wait_for("it says so", lambda: any(all(word in line for word in wanted)
                                           for line in self.principal.log.read_text().splitlines()))

    def test_nobody_is_let_in_before_it_was_read(self):
        self.api.block(self.key)
        allow = self.api.forbid()
        self.principal.start(ready=False)
        self.agent.start(ready=False)
        self.says_what_to_grant()
        wait_for("it waits for it", lambda: "the store has not been read yet" in self.principal.why_unready())
        self.assertFalse(self.agent.is_ready())
        allow()
        wait_for("it is ready", self.principal.is_ready)
        self.is_refused()
        self.assertEqual(self.spoke.names("argocd"), set())
        self.api.block()
        self.arrives("guestbook", "1")

    def test_what_it_said_last_stays_in_force(self):
        self.start()
        self.arrives("guestbook", "1")
        self.api.block(self.key)
        self.is_refused()
        allow = self.api.forbid()
        self.says_what_to_grant()
        self.is_refused()
        self.api.block()
        self.is_refused()
        allow()
        wait_for("it is let in again", self.agent.is_ready)


if __name__ == "__main__":
    unittest.main(verbosity=2)
