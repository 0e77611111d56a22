#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The test bed of logs and terminals: a pod of kubelet-dev as kubectl sees it. KUBE_DEV and KUBE_DEV_HOME are as
tests/support/kube/kube.cmake sets them."""
import json
import os
import subprocess
import unittest
import uuid

from daemons import wait_for

COUNTING = "while sleep 0.05; do echo line $((++i)); done"


def kubectl(*args):
    return [os.environ["KUBE_DEV"], "kubectl", "test", *args]


class Pod(unittest.TestCase):
    """One that writes a line each 50 ms."""

    def setUp(self):
        self.namespace = f"kubelet-{uuid.uuid4().hex[:8]}"
        self.run_kubectl("create", "namespace", self.namespace)
        self.addCleanup(self.run_kubectl, "delete", "namespace", self.namespace, "--wait=false")
        wait_for("the namespace has its account", lambda: "default" in self.run_kubectl(
            "-n", self.namespace, "get", "serviceaccounts", "-o", "name"))
        self.run_kubectl("apply", "-f", "-", input=json.dumps({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "counter", "namespace": self.namespace, "annotations": {"kubelet-dev/run": COUNTING}},
            "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "main", "image": "any"}]},
        }))
        self.run_kubectl("-n", self.namespace, "wait", "--for=condition=Ready", "pod/counter", "--timeout=60s")

    def run_kubectl(self, *args, **options):
        return subprocess.run(kubectl(*args), check=True, text=True, stdout=subprocess.PIPE, timeout=120,
                              **options).stdout

    def run_inside(self, *command, **options):
        return subprocess.run(kubectl("-n", self.namespace, "exec", "-i", "counter", "--", *command), text=True,
                              capture_output=True, timeout=60, **options)

    def test_a_log_that_is_followed_comes_in_order_while_it_is_written(self):
        with subprocess.Popen(kubectl("-n", self.namespace, "logs", "-f", "counter"), text=True,
                              stdout=subprocess.PIPE) as viewer:
            lines = [viewer.stdout.readline() for _ in range(20)]
            viewer.terminate()
        self.assertEqual(lines, [f"line {number}\n" for number in range(1, 21)])

    def test_a_command_gets_what_is_typed_and_its_exit_code_comes_back(self):
        done = self.run_inside("bash", "-c", "read word; echo got $word; exit 3", input="hello\n")
        self.assertEqual((done.stdout, done.returncode), ("got hello\n", 3))

    def test_a_command_of_a_container_that_is_not_there_is_refused(self):
        done = subprocess.run(kubectl("-n", self.namespace, "exec", "counter", "-c", "other", "--", "true"), text=True,
                              capture_output=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("container other is not valid", done.stderr)


unittest.main()
