#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a real API server refuses, and what becomes of the Kubernetes store when its etcd is restored from a backup.
AB_BIN is the folder of store_driver; KUBE_DEV and KUBE_DEV_HOME are as tests/support/kube/kube.cmake sets them."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest
import uuid

from bad_input_test import Store, application

APPLICATION = "applications.argoproj.io"


class Cluster:
    def __init__(self, name, **environment):
        self.name, self.environment = name, environment
        self.folder = pathlib.Path(os.environ["KUBE_DEV_HOME"], "clusters", name)

    def dev(self, command, *args, text=None):
        return subprocess.run([os.environ["KUBE_DEV"], command, self.name, *args], check=True, input=text, text=True,
                              stdout=subprocess.PIPE, env={**os.environ, **self.environment}).stdout

    def kubectl(self, *args, text=None):
        return self.dev("kubectl", *args, text=text)

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    @staticmethod
    def application(name, number, namespace="argocd"):
        o = application(name, number)
        o["metadata"]["namespace"] = namespace
        o["spec"] = {"project": "default", "destination": {"name": "in-cluster", "namespace": "x"},
                     "source": {"repoURL": "https://git.example.com/a", "path": name, "targetRevision": str(number)}}
        return o

    def put(self, name, number, namespace="argocd"):
        o = self.application(name, number, namespace)
        self.apply(o)
        return o

    def store(self, case):
        """One that reads this cluster until the end of the test."""
        store = Store(self.folder / "kubeconfig")

        def end():
            if store.process.poll() is None:
                store.stop()
        case.addCleanup(end)
        return store


def at(revision):
    return lambda line: line.get("object", {}).get("spec", {}).get("source", {}).get("targetRevision") == str(revision)


class Refusals(unittest.TestCase):
    """Each names its reason, and the object beside it is written."""

    def setUp(self):
        self.cluster = Cluster("test")
        self.namespace = f"r{uuid.uuid4().hex[:10]}"
        self.cluster.kubectl("create", "namespace", self.namespace)
        self.addCleanup(self.cluster.kubectl, "delete", "namespace", self.namespace, "--wait=false", "--ignore-not-found")
        self.store = self.cluster.store(self)
        self.store.change("listed")

    def write(self, name):
        o = application(name)
        o["metadata"]["namespace"] = self.namespace
        o["spec"] = {"project": "default", "destination": {"name": "in-cluster", "namespace": "x"},
                     "source": {"repoURL": "https://git.example.com/a", "path": name, "targetRevision": "1"}}
        return self.store.call("apply", o)

    def assert_refused(self, done, code, *words):
        self.assertEqual(done["code"], code, done["text"])
        for word in words:
            self.assertIn(word, done["text"])

    def test_a_quota_that_is_used_up(self):
        resource = f"count/{APPLICATION}"
        self.cluster.apply({"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {resource: "1"}},
                            "metadata": {"name": "few", "namespace": self.namespace}})
        # As the quota controller would.
        self.cluster.kubectl("patch", "resourcequota", "few", "-n", self.namespace, "--subresource=status", "--type=merge",
                             "-p", json.dumps({"status": {"hard": {resource: "1"}, "used": {resource: "0"}}}))
        self.assertEqual(self.write("first")["code"], "success")
        self.assert_refused(self.write("second"), "no space left", "quota", "few")
        self.cluster.kubectl("delete", "resourcequota", "few", "-n", self.namespace)
        self.assertEqual(self.write("second")["code"], "success")

    def test_a_policy_that_refuses_one_object(self):
        policy = f"no-refused-{self.namespace}"
        admission = "admissionregistration.k8s.io/v1"
        self.cluster.apply(
            {"apiVersion": admission, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": policy}, "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": ["argoproj.io"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"],
                    "resources": ["applications"]}]},
                "validations": [{"expression": "object.metadata.name != 'refused'", "message": "no such team"}]}},
            {"apiVersion": admission, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": policy}, "spec": {
                "policyName": policy, "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": {"matchLabels": {
                    "kubernetes.io/metadata.name": self.namespace}}}}})
        self.addCleanup(self.cluster.kubectl, "delete", "validatingadmissionpolicy,validatingadmissionpolicybinding",
                        policy)
        done = self.write("refused")
        while done["code"] == "success":  # a policy is in force some time after it is stored
            self.cluster.kubectl("delete", APPLICATION, "refused", "-n", self.namespace)
            done = self.write("refused")
        self.assert_refused(done, "not valid", "no such team")
        self.assertEqual(self.write("welcome")["code"], "success")

    def test_a_change_that_makes_a_secret_invalid(self):
        """The server quotes all of it, and what it says goes into logs and to the principal."""
        secret = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"password": "aHVudGVyMg=="},
                  "metadata": {"name": "s", "namespace": self.namespace}}
        self.assertEqual(self.store.call("apply", secret)["code"], "success")
        for wrong, why in (("open sesame", "illegal base64"), (5, "cannot unmarshal number")):
            done = self.store.call("update", {**secret, "data": {"password": "aHVudGVyMg==", "pin": wrong}})
            self.assert_refused(done, "not valid", "422", "patch: Invalid value: ", why)
            self.assertNotIn("aHVudGVyMg", done["text"])
            self.assertNotIn("sesame", done["text"])

    def test_a_field_that_the_servers_schema_does_not_know(self):
        """It is dropped. The log says so once, however often it is written."""
        with tempfile.TemporaryFile("w+") as log:
            store = Store(self.cluster.folder / "kubeconfig", log=log)
            store.change("listed")
            for name in ("first", "second"):
                o = self.cluster.application(name, 1, self.namespace)
                o["spec"]["syncPolicy"] = {"automated": {"newField": False}}
                done = store.call("apply", o)
                self.assertEqual((done["code"], done["object"]["spec"]["syncPolicy"]), ("success", {"automated": {}}))
            self.assertEqual(store.stop(), 0)
            log.seek(0)
            warnings = [line for line in log if "the API server warns" in line]
        self.assertEqual(len(warnings), 1, warnings)
        self.assertIn("spec.syncPolicy.automated.newField", warnings[0])

    def test_an_event_about_deletions_that_are_held_back(self):
        about = {"apiVersion": "v1", "kind": "Namespace", "name": self.namespace, "namespace": self.namespace}
        now = "2026-01-02T03:04:05Z"
        done = self.store.call("create", {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "argobus-w1.1234", "namespace": self.namespace},
            "involvedObject": about, "type": "Warning", "reason": "DeletionsHeld", "message": "30 are held",
            "firstTimestamp": now, "lastTimestamp": now, "count": 1, "source": {"component": "argobus-principal"}})
        self.assertEqual(done["code"], "success", done)
        shown = self.cluster.kubectl("get", "events", "-n", self.namespace)
        self.assertIn("DeletionsHeld", shown if isinstance(shown, str) else shown.stdout)

    def test_a_namespace_that_is_being_deleted(self):
        self.assertEqual(self.write("held")["code"], "success")
        self.cluster.kubectl("patch", APPLICATION, "held", "-n", self.namespace, "--type=merge",
                             "-p", '{"metadata": {"finalizers": ["example.com/held"]}}')
        self.cluster.kubectl("delete", "namespace", self.namespace, "--wait=false")
        self.assert_refused(self.write("late"), "peer or service not reachable", self.namespace, "terminated")
        self.cluster.kubectl("patch", APPLICATION, "held", "-n", self.namespace, "--type=merge",
                             "-p", '{"metadata": {"finalizers": null}}')
        self.store.change("deleted", "held")


class Restored(unittest.TestCase):
    """etcd is put back to what it was: resource versions are given out a second time."""

    def setUp(self):
        self.cluster = Cluster("restored", KUBE_DEV_CONTROLLERS="none")
        self.addCleanup(self.cluster.dev, "wipe")
        self.cluster.dev("fresh")
        self.etcd = self.cluster.folder / "etcd"
        self.backup = self.cluster.folder / "backup"

    def back_up(self):
        self.cluster.dev("stop")
        shutil.copytree(self.etcd, self.backup)
        self.cluster.dev("start")

    def restore(self):
        self.cluster.dev("kill")
        shutil.rmtree(self.etcd)
        shutil.copytree(self.backup, self.etcd)
        self.cluster.dev("start")

    def seen(self, store, name, revision, since):
        def fits(line):
            return line in store.lines[since:] and line.get("change") == "seen" and \
                line["key"].endswith(f"/{name}") and at(revision)(line)
        return store.wait(f"{name} is {revision}", fits, 120)

    def test_what_stands_after_a_restore_is_what_is_reported(self):
        for name in ("changed", "deleted", "same"):
            self.cluster.put(name, 1)
        self.back_up()
        store = self.cluster.store(self)
        store.change("synced")
        self.cluster.put("changed", 2)
        self.cluster.kubectl("delete", APPLICATION, "deleted", "-n", "argocd")
        for number in range(5):
            self.cluster.put("made", number)
        store.wait("all of it", lambda line: line.get("key", "").endswith("/made") and at(4)(line))
        store.change("deleted", "deleted")
        since = len(store.lines)
        self.restore()
        self.seen(store, "changed", 1, since)
        self.seen(store, "deleted", 1, since)
        store.wait("what was made is gone", lambda line: line.get("change") == "absent" and
                   line["key"].endswith("/made"), 120)
        self.cluster.put("after", 1)
        self.seen(store, "after", 1, since)
        store.wait("the watch is resumed", lambda line: line.get("change") == "resumed", 120)
        self.assertEqual([line["change"] for line in store.lines[since:] if line.get("change") in
                          ("interrupted", "absent", "resumed")], ["interrupted", "absent", "resumed"])
        self.assertEqual(store.count("deleted", "changed"), 0)
        self.assertEqual(store.count("deleted", "same"), 0)
        self.assertEqual(store.count("deleted", "made"), 0)


class Redefined(unittest.TestCase):
    """The CRD of Applications is removed, and put in again."""

    def setUp(self):
        self.cluster = Cluster("redefined", KUBE_DEV_CONTROLLERS="none")
        self.addCleanup(self.cluster.dev, "wipe")
        self.cluster.dev("fresh")

    def test_no_object_is_missing_while_its_kind_is_not_served(self):
        self.cluster.put("a", 1)
        store = self.cluster.store(self)
        store.change("synced")
        crd = json.loads(self.cluster.kubectl("get", "crd", APPLICATION, "-o", "json"))
        self.cluster.kubectl("delete", "crd", APPLICATION)
        store.change("deleted", "a")
        deadline = time.monotonic() + 60  # a kind is served some time after its definition is removed
        end = store.call("get", "Application/argocd/a")
        while end["code"] == "not found" and time.monotonic() < deadline:
            end = store.call("get", "Application/argocd/a")
        self.assertEqual(end["code"], "peer or service not reachable", end)
        self.assertEqual(store.call("remove", "Application/argocd/a")["code"], "peer or service not reachable")
        crd["metadata"] = {name: crd["metadata"][name] for name in ("name", "annotations", "labels")
                           if name in crd["metadata"]}
        del crd["status"]
        self.cluster.kubectl("create", "-f", "-", text=json.dumps(crd))
        while store.call("apply", self.cluster.application("b", 1))["code"] != "success":
            pass  # a kind is served some time after it is defined
        store.wait("what is made then is seen", lambda line: line.get("change") == "seen" and
                   line["key"].endswith("/b"))
        self.assertEqual(store.call("get", "Application/argocd/a")["code"], "not found")


if __name__ == "__main__":
    unittest.main(verbosity=2)
