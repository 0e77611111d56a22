#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests to an agent's API server through the principal, beside the same requests to the server itself."""
import json
import unittest

from access import TOKEN, TOKEN_W1, Access, Answer, config_map
from daemons import wait_for

MERGE = "application/merge-patch+json"


class All(Access):
    """An agent that lets the principal do what it may do itself."""

    def setUp(self):
        super().setUp()
        self.apply(config_map("one", a="1"))
        self.ask_when_there("GET", "/version")

    def assert_same(self, path, **fields):
        through, bare = self.ask("GET", path, **fields), self.bare("GET", path, **fields)
        self.assertEqual((through.code, through.body), (bare.code, bare.body))
        self.assertEqual(through.fields.get("Content-Type") or through.fields.get("content-type"),
                         bare.fields["Content-Type"])

    def test_discovery_and_objects_are_as_the_server_gives_them(self):
        aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
        self.assert_same("/api")
        self.assert_same("/apis", accept=aggregated)
        self.assert_same("/apis/apps")
        self.assert_same("/apis/argoproj.io/v1alpha1?timeout=32s")
        self.assert_same(self.path("configmaps", "one"))
        self.assert_same(self.path("configmaps", "one"), accept="application/vnd.kubernetes.protobuf")
        table = self.ask("GET", self.path("configmaps"), accept="application/json;as=Table;v=v1;g=meta.k8s.io")
        self.assertEqual(table.json()["kind"], "Table")

    def test_refusals_of_the_server_keep_their_body(self):
        self.assert_same(self.path("configmaps", "none"))
        self.assert_same(self.path("nonsense"))
        conflict = self.ask("POST", self.path("configmaps"), config_map("one"))
        self.assertEqual((conflict.code, conflict.json()["reason"]), (409, "AlreadyExists"))
        wrong = self.ask("PATCH", self.path("configmaps", "one"), "{}", content_type="text/plain")
        self.assertEqual((wrong.code, wrong.json()["reason"]), (415, "UnsupportedMediaType"))

    def test_an_object_is_created_changed_and_deleted(self):
        path = self.path("configmaps", "two")
        self.assertEqual(self.ask("POST", self.path("configmaps"), config_map("two", a="1")).code, 201)
        two = self.ask("GET", path).json()
        two["data"]["a"] = "2"
        self.assertEqual(self.ask("PUT", path, two).json()["data"], {"a": "2"})
        patch = self.ask("PATCH", path, {"data": {"b": "3"}}, content_type=MERGE)
        self.assertEqual(patch.json()["data"], {"a": "2", "b": "3"})
        patch = self.ask("PATCH", path, [{"op": "remove", "path": "/data/a"}],
                         content_type="application/json-patch+json")
        self.assertEqual(patch.json()["data"], {"b": "3"})
        applied = self.ask("PATCH", f"{path}?fieldManager=test&force=true", json.dumps(config_map("two", c="4")),
                           content_type="application/apply-patch+yaml")
        self.assertEqual(applied.json()["data"], {"b": "3", "c": "4"})
        self.assertEqual(self.ask("DELETE", path, {"propagationPolicy": "Foreground"}).code, 200)
        wait_for("it is gone", lambda: self.ask("GET", path).code == 404)

    def test_a_collection_is_not_deleted_unless_the_policy_names_it(self):
        refused = self.ask("DELETE", self.path("configmaps"))
        self.assertEqual(refused.code, 403)
        self.assertIn("live.kubernetes.verbs", refused.json()["message"])

    def test_a_watch_tells_of_changes_as_they_come(self):
        version = self.ask("GET", self.path("configmaps")).json()["metadata"]["resourceVersion"]
        connection = self.connect()
        watch = self.begin("GET", f"{self.path('configmaps')}?watch=true&resourceVersion={version}",
                           connection=connection)
        for name in ("a", "b"):
            self.apply(config_map(name))
            event = json.loads(watch.readline())
            self.assertEqual((event["type"], event["object"]["metadata"]["name"]), ("ADDED", name))
        self.assertEqual(self.principal.metric("argobus_live_open"), 1)
        watch.close()
        connection.close()
        wait_for("the watch is over", lambda: self.principal.metric("argobus_live_open") == 0)
        self.assertEqual(len(self.audited("verb=watch", "agent=w1", "code=200")), 1)

    def test_a_large_list_is_whole_and_a_viewer_that_does_not_read_holds_up_nobody(self):
        for number in range(20):
            self.ask("POST", self.path("configmaps"), config_map(f"large-{number}", a="x" * 900000))
        viewers = [self.begin("GET", self.path("configmaps")) for _ in range(3)]
        self.assert_same(self.path("configmaps", "one"))
        bare = self.bare("GET", self.path("configmaps"))
        self.assertGreater(len(bare.body), 18000000)
        for viewer in viewers:
            self.assertEqual(json.loads(viewer.read())["items"], bare.json()["items"])

    def test_who_asks_is_known_and_reaches_its_own_agent_only(self):
        path = self.path("configmaps", "one")
        self.assertEqual(self.ask("GET", path, token=None).code, 401)
        self.assertEqual(self.ask("GET", path, token="0123456789abcdef-none").code, 401)
        self.assertEqual(self.ask("GET", path, token=TOKEN).code, 400)
        self.assertEqual(self.ask("GET", f"/agents/w1{path}", token=TOKEN).code, 200)
        self.assertEqual(self.ask("GET", f"/agents/w1{path}").code, 200)
        self.assertEqual(self.ask("GET", f"/agents/w2{path}").code, 403)
        self.assertEqual(self.ask("GET", path, token=None, connection=self.connect("w1")).code, 200)
        away = self.ask("GET", path, token=None, connection=self.connect("w2"))
        self.assertEqual((away.code, away.json()["kind"], away.json()["reason"]), (503, "Status", "ServiceUnavailable"))

    def test_what_is_ambiguous_never_reaches_an_agent(self):
        for path in ("/api/v1/namespaces/a/../b/pods", "/api/v1/namespaces/a%2Fpods", "/api/v1//pods",
                     "/api/v1/namespaces/%2e%2e/pods", "/metrics", "/agents/W1/api", "/api/v1/watch/pods"):
            refused = self.ask("GET", path)
            self.assertEqual((refused.code, refused.json()["kind"]), (400, "Status"), path)
        self.assertEqual(self.agent.metric("argobus_live_served_total"), 1)

    def begin_with_fields(self, count):
        """As many fields as that, of which the last says whose rights the request is to have."""
        connection = self.connect()
        connection.putrequest("GET", self.path("configmaps", "one"), skip_accept_encoding=True)
        connection.putheader("Authorization", f"Bearer {TOKEN_W1}")
        for _ in range(count - 1):
            connection.putheader("Accept", "application/json")
        connection.putheader("Impersonate-User", "nobody")
        connection.endheaders()
        return Answer(connection.getresponse())

    def test_a_request_is_made_with_the_rights_that_it_names_or_not_at_all(self):
        self.assertEqual(self.begin_with_fields(2).code, 403)
        self.assertEqual(self.begin_with_fields(31).code, 403)
        refused = self.begin_with_fields(32)
        self.assertEqual((refused.code, refused.json()["kind"]), (400, "Status"))
        self.assertIn("too many fields", refused.json()["message"])

    def test_an_agent_that_goes_away_is_told_with_503(self):
        self.agent.stop()
        answer = wait_for("503", lambda: (lambda a: a if a.code == 503 else None)(
            self.ask("GET", self.path("configmaps", "one"))))
        self.assertEqual(answer.json()["reason"], "ServiceUnavailable")
        self.agent.start()
        self.assertEqual(self.ask_when_there("GET", self.path("configmaps", "one")).code, 200)


class Managed(Access):
    """An agent that shows what Argo CD manages."""

    policy = {"policy": "managed"}
    tracked = {"argocd.argoproj.io/tracking-id": "app:/ConfigMap:x/one"}

    def setUp(self):
        super().setUp()
        self.apply(config_map("managed", self.tracked), config_map("other"))
        self.ask_when_there("GET", "/version")

    def owner(self, name):
        found = self.bare("GET", self.path("configmaps", name)).json()["metadata"]
        return [{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": found["uid"]}]

    def test_only_what_is_managed_is_shown_and_changed(self):
        self.assertEqual(self.ask("GET", self.path("configmaps", "managed")).code, 200)
        for method, body in (("GET", None), ("PATCH", {"data": {"a": "1"}}), ("DELETE", None)):
            refused = self.ask(method, self.path("configmaps", "other"), body, content_type=MERGE)
            self.assertEqual(refused.code, 403)
            self.assertIn("live.kubernetes.policy", refused.json()["message"])
        self.assertEqual(self.ask("GET", self.path("configmaps")).code, 403)
        self.assertEqual(self.ask("GET", self.path("events")).code, 200)
        self.assertEqual(self.ask("GET", self.path("configmaps", "none")).json()["reason"], "NotFound")

    def test_what_a_managed_object_owns_is_managed(self):
        owned = config_map("owned")
        owned["metadata"]["ownerReferences"] = self.owner("managed")
        by_owned = config_map("by-owned")
        self.apply(owned)
        by_owned["metadata"]["ownerReferences"] = self.owner("owned")
        self.apply(by_owned)
        self.assertEqual(self.ask("GET", self.path("configmaps", "by-owned")).code, 200)
        claims = config_map("claims")
        claims["metadata"]["ownerReferences"] = [{**self.owner("managed")[0], "uid": "not-the-one"}]
        self.assertEqual(self.ask("POST", self.path("configmaps"), claims).code, 403)

    def test_what_is_created_must_be_managed(self):
        created = config_map("created")
        created["metadata"]["ownerReferences"] = self.owner("managed")
        self.assertEqual(self.ask("POST", self.path("configmaps"), config_map("alone")).code, 403)
        self.assertEqual(self.ask("POST", self.path("configmaps"), created).code, 201)
        self.assertEqual(self.ask("POST", self.path("configmaps"), "not json").code, 400)

    def test_values_of_a_secret_are_masked(self):
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": self.tracked},
                  "stringData": {"password": "hunter2"}}
        self.apply(secret)
        for fields in ({}, {"accept": "application/vnd.kubernetes.protobuf"}, {"accept_encoding": "gzip"}):
            shown = self.ask("GET", self.path("secrets", "s"), **fields)
            self.assertEqual((shown.code, shown.json()["data"]), (200, {"password": "++++++++"}))
            self.assertNotIn(b"aHVudGVyMg", shown.body)
            self.assertNotIn(b"hunter2", shown.body)
        patch = {"metadata": {"labels": {"a": "b"}}}
        patched = self.ask("PATCH", self.path("secrets", "s"), patch, content_type=MERGE)
        self.assertEqual((patched.code, patched.json()["data"]), (200, {"password": "++++++++"}))
        stored = self.bare("GET", self.path("secrets", "s")).json()
        self.assertEqual((stored["metadata"]["labels"], stored["data"]), ({"a": "b"}, {"password": "aHVudGVyMg=="}))

    def told(self, ask, query, patch, content_type):
        """What tells one guess from another: the status, and whether the Secret would be another one."""
        answer = ask("PATCH", self.path("secrets", "s") + query, body=patch, content_type=content_type)
        metadata = answer.json().get("metadata", {})
        return answer.code, metadata.get("resourceVersion"), len(metadata.get("managedFields", []))

    def test_no_write_of_a_secret_tells_whether_a_value_was_guessed(self):
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": self.tracked},
                  "stringData": {"password": "hunter2"}}
        self.apply(secret)
        strategic, applied = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
        query = "?dryRun=All&fieldManager=x"
        for kept in ({}, {"immutable": True}):
            if kept:
                self.bare("PATCH", self.path("secrets", "s"), body=kept, content_type=MERGE)
            right, wrong = (json.dumps({"apiVersion": "v1", "kind": "Secret", "data": {"password": value}, **kept})
                            for value in ("aHVudGVyMg==", "aHVudGVyMw=="))
            for content_type in (MERGE, strategic, applied):
                with self.subTest(content_type=content_type, kept=kept):
                    self.assertNotEqual(self.told(self.bare, query, right, content_type),
                                        self.told(self.bare, query, wrong, content_type))
                    self.assertEqual(self.told(self.ask, query, right, content_type),
                                     self.told(self.ask, query, wrong, content_type))
                    answer = self.ask("PATCH", self.path("secrets", "s") + query, right, content_type=content_type)
                    self.assertEqual(answer.code, 403)
                    self.assertIn("live.kubernetes.secrets", answer.json()["message"])

    def patch_of_types(self, name, patch, types):
        connection = self.connect()
        body = json.dumps(patch).encode()
        connection.putrequest("PATCH", self.path("secrets", name))
        connection.putheader("Authorization", f"Bearer {TOKEN_W1}")
        connection.putheader("Content-Length", str(len(body)))
        for content_type in types:
            connection.putheader("Content-Type", content_type)
        connection.endheaders(body)
        return Answer(connection.getresponse())

    def test_no_patch_copies_a_value_of_a_secret_to_where_it_is_shown(self):
        self.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": self.tracked},
                    "stringData": {"password": "hunter2"}})
        copies = [{"op": "copy", "from": "/data/password", "path": "/metadata/annotations/shown"}]
        for types in (["application/json-patch+json"], ["", "application/json-patch+json"]):
            answer = self.patch_of_types("s", copies, types)
            self.assertNotIn(b"aHVudGVyMg", answer.body)
            self.assertEqual(answer.code, 403)
            self.assertIn("live.kubernetes.secrets", answer.json()["message"])

    def test_what_is_said_of_an_invalid_patch_of_a_secret_holds_no_value_of_it(self):
        self.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": self.tracked},
                    "stringData": {"password": "hunter2"}})
        for query, patch in (("", {"metadata": {"labels": 5}}), ("?fieldValidation=Strict", {"other": "x"})):
            path = self.path("secrets", "s") + query
            quoted = self.bare("PATCH", path, body=patch, content_type=MERGE)
            self.assertIn(b"aHVudGVyMg", quoted.body, "the API server quotes nothing: this test shows nothing")
            answer = self.ask("PATCH", path, patch, content_type=MERGE)
            self.assertNotIn(b"aHVudGVyMg", answer.body)
            self.assertEqual((answer.code, answer.json()["reason"]), (422, "Invalid"))
            self.assertIn("live.kubernetes.secrets", answer.json()["message"])


unittest.main()
