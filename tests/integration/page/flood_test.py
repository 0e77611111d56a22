#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Floods on the HTTP servers of a principal: its agent is served meanwhile, and nothing is left of them afterwards."""
import itertools
import os
import pathlib
import re
import threading
import unittest

from daemons import application
from flood import Flood, fetch, follow, glance, silent, slow_head, unread
from fleet_page import PageFleet
from ports import free_port
from waiting import wait_for

AGENTS = 3000
OPENS = 10000
CLIENTS = 200
REQUESTS = 2400
SPARE_MIB = 48  # that an allocator may keep of what a flood has needed


class Floods(PageFleet):
    def setUp(self):
        super().setUp()
        self.revisions = itertools.count(1)
        self.over = threading.Event()
        self.addCleanup(self.over.set)

    def principal_config(self):
        data = pathlib.Path(self.folder, "data")
        data.mkdir(exist_ok=True)
        return dict(super().principal_config(), agents=[{"name": f"w{i}"} for i in range(1, AGENTS + 1)],
                    principal={"data": str(data)})

    def a_change_arrives(self):
        value = str(next(self.revisions))
        self.hub.write("w1", "guestbook", application("guestbook", value))
        self.arrives("guestbook", value)

    def changes_arrive_until(self, condition):
        """@return how many"""
        for count in itertools.count(1):
            self.a_change_arrives()
            if condition():
                return count

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.principal.process.pid}/fd"))

    def resident_mib(self):
        status = pathlib.Path(f"/proc/{self.principal.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) // 1024

    def begin(self):
        """What each part needs once, it has after a small flood."""
        self.start()
        self.a_change_arrives()
        page = self.page_port()
        Flood(CLIENTS, [glance(page, "/api/stream")] * CLIENTS).finish()
        Flood(16, [fetch(self.principal.port, "/metrics"), fetch(page, "/api/agents")] * 16).finish()
        wait_for("the small flood is over", lambda: self.principal.get("/metrics"))
        self.before = self.descriptors(), self.resident_mib()

    def nothing_is_left(self):
        wait_for("the descriptors are closed", lambda: self.descriptors() <= self.before[0])
        wait_for("the memory is returned", lambda: self.resident_mib() <= self.before[1] + SPARE_MIB)
        self.assertTrue(self.principal.is_ready())
        self.a_change_arrives()
        said = re.findall(r"^\S+ (?:WARN|ERROR) .*", self.principal.log.read_text(), re.M)
        self.assertEqual([line for line in said if "replaying the agent's log" not in line], [])

    def tell(self, seen, changes):
        print(f"{self.id()}: {dict(seen)}, {changes} changes arrived, descriptors and MiB "
              f"{self.before} before, {(self.descriptors(), self.resident_mib())} after")

    def test_viewers_come_and_go_ten_thousand_times_while_applications_change(self):
        self.begin()
        flood = Flood(CLIENTS, [glance(self.page_port(), "/api/stream")] * OPENS)
        changes = self.changes_arrive_until(flood.is_over)
        self.tell(flood.finish(), changes)
        self.assertEqual(flood.seen, {200: OPENS})
        self.nothing_is_left()

    def test_all_viewers_come_at_once_after_a_restart(self):
        port, shown = free_port(), set()
        self.principal.configure(dict(self.principal_config(), fleet={"listen": f"127.0.0.1:{port}"}))
        self.begin()
        flood = Flood(CLIENTS, [follow(port, AGENTS, shown, self.over)] * CLIENTS)
        wait_for("all see the fleet", lambda: len(shown) == CLIENTS)
        self.principal.stop()
        wait_for("none sees it", lambda: not shown)
        self.principal.start()
        wait_for("all see the fleet again", lambda: len(shown) == CLIENTS)
        self.a_change_arrives()
        self.over.set()
        self.tell(flood.finish(), 1)
        self.nothing_is_left()

    def test_health_metrics_and_page_answer_among_clients_that_are_slow(self):
        self.begin()
        page, health = self.page_port(), self.principal.port
        bad = [silent(health, self.over), slow_head(health, self.over), unread(health, "/metrics", self.over),
               silent(page, self.over), slow_head(page, self.over), unread(page, "/api/stream", self.over),
               unread(page, "/api/agents", self.over)] * 12
        bad += [silent(page, self.over), silent(health, self.over)] * 256  # more than there is room for
        slow = Flood(len(bad), bad)
        asked = [fetch(health, "/metrics"), fetch(health, "/healthz"), fetch(health, "/readyz"), fetch(page, "/"),
                 fetch(page, "/api/agents"), glance(page, "/api/stream"), fetch(page, "/api/agents/w1"),
                 fetch(health, "/readyz")]
        good = Flood(16, asked * (REQUESTS // len(asked)))
        changes = self.changes_arrive_until(good.is_over)
        self.assertTrue(self.principal.is_ready())
        self.over.set()
        slow.finish()
        self.tell(good.finish() + slow.seen, changes)
        self.assertLessEqual(set(good.seen), {200, 429, 503})
        self.nothing_is_left()

    def test_who_connects_when_there_is_no_room_is_served_once_there_is(self):
        self.principal.start()
        port, shown, last = self.page_port(), set(), set()
        flood = Flood(256, [follow(port, AGENTS, shown, self.over)] * 256)
        wait_for("all see the fleet", lambda: len(shown) == 256)
        leave = threading.Event()
        self.addCleanup(leave.set)
        late = Flood(1, [follow(port, AGENTS, last, leave)])
        self.over.set()
        self.assertEqual(flood.finish(), {200: 256})
        wait_for("the last sees the fleet", lambda: last)
        leave.set()
        self.assertEqual(late.finish(), {200: 1})


if __name__ == "__main__":
    unittest.main()
