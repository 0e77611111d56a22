#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Logs of pods through the principal, as argocd-server asks for them: with timestamps, and followed."""
import contextlib
import http.client
import re
import threading
import unittest

from access import Access, kubectl
from daemons import wait_for

COUNTING = "while sleep 0.02; do echo line $((++i)); done"
LINE = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\S+ line (\d+)\n")


class Viewer(threading.Thread):
    """Reads a log until it ends, or until it is told to stop."""

    def __init__(self, answer):
        super().__init__(daemon=True)
        self.answer, self.lines = answer, []
        self.start()

    def run(self):
        with contextlib.suppress(http.client.HTTPException, OSError):  # the principal ends with the test
            for line in self.answer:
                self.lines.append(line)

    def numbers(self):
        return [int(LINE.fullmatch(line).group(1)) for line in list(self.lines)]


class Logs(Access):
    def setUp(self):
        super().setUp()
        wait_for("the namespace has its account", lambda: "default" in kubectl(
            "-n", self.namespace, "get", "serviceaccounts", "-o", "name"))
        self.apply({"apiVersion": "v1", "kind": "Pod",
                    "metadata": {"name": "counter", "annotations": {"kubelet-dev/run": COUNTING}},
                    "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "main", "image": "any"}]}})
        kubectl("-n", self.namespace, "wait", "--for=condition=Ready", "pod/counter", "--timeout=60s")
        self.ask_when_there("GET", "/version")
        self.log = self.path("pods", "counter") + "/log?container=main&timestamps=true"

    def follow(self, more=""):
        answer = self.begin("GET", f"{self.log}&follow=true{more}")
        self.assertEqual(answer.status, 200)
        return Viewer(answer)

    def grows(self, viewer, by=20):
        count = len(viewer.lines) + by
        wait_for(f"{count} lines", lambda: len(viewer.lines) >= count)

    def assert_whole(self, viewer):
        numbers = viewer.numbers()
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))

    def test_several_viewers_follow_one_log(self):
        viewers = [self.follow("&tailLines=3") for _ in range(3)]
        for viewer in viewers:
            self.grows(viewer)
            self.assert_whole(viewer)
        wait_for("they are counted", lambda: self.principal.metric("argobus_live_open") == 3)

    def test_what_is_not_followed_ends(self):
        self.grows(self.follow())
        tail = self.ask("GET", f"{self.log}&tailLines=5")
        self.assertEqual(len(LINE.findall(tail.body)), 5)
        none = self.ask("GET", f"{self.log}&previous=true")
        self.assertEqual((none.code, none.json()["reason"]), (400, "BadRequest"))

    def test_a_log_goes_on_without_gap_or_repeat_when_its_agent_comes_back(self):
        viewer = self.follow("&tailLines=1")
        for _ in range(2):
            self.grows(viewer)
            self.agent.kill()
            self.agent.start()
            self.grows(viewer)
        self.assert_whole(viewer)

    def test_a_log_ends_with_its_pod(self):
        viewer = self.follow()
        self.grows(viewer)
        kubectl("-n", self.namespace, "delete", "pod", "counter", "--now")
        viewer.join(60)
        self.assertFalse(viewer.is_alive())
        self.assert_whole(viewer)


unittest.main()
