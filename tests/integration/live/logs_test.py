#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Logs of pods through the principal, as argocd-server asks for them: with timestamps, and followed."""
import unittest

from access import Access, kubectl
from daemons import wait_for
from viewers import COUNTING, LINE, LogViewer


class Logs(Access):
    def setUp(self):
        super().setUp()
        self.run_pod("counter", COUNTING)
        self.ask_when_there("GET", "/version")
        self.log = self.path("pods", "counter") + "/log?container=main&timestamps=true"

    def follow(self, more=""):
        answer = self.begin("GET", f"{self.log}&follow=true{more}")
        self.assertEqual(answer.status, 200)
        return LogViewer(answer)

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
