#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Of an API server in trouble the Kubernetes store asks less and less often, when the server says, and not for ever.
AB_BIN is the folder of store_driver."""
import itertools
import threading
import time
import unittest

from bad_input_test import LIST, Case, application


class Answer:
    """A fault that knows when it was asked."""

    def __init__(self, act):
        self.act = act
        self.times = []
        self.asked = threading.Condition()

    def __call__(self, request):
        with self.asked:
            self.times.append(request.time)
            self.asked.notify_all()
        return self.act(request)

    def pauses(self, count):
        """As many as this, when there were so many."""
        with self.asked:
            if not self.asked.wait_for(lambda: len(self.times) > count, 120):
                raise AssertionError(f"asked {len(self.times)} times")
            return [later - former for former, later in itertools.pairwise(self.times[:count + 1])]


def ends(request):
    request.begin_stream()
    request.end_stream()
    return True


def is_too_old(request):
    request.begin_stream()
    request.chunk({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}})
    request.end_stream()
    return True


def is_busy(*headers, status=429):
    return lambda r: r.refuse(status, "TooManyRequests", "later", headers=headers)


class Reading(Case):
    def assert_rarer(self, pauses):
        """At the least 125, 250, 500, 1000 and 2000 ms; a watch that lasted a second, here by chance, begins anew."""
        self.assertGreater(min(pauses), 0.12, pauses)
        self.assertGreater(sum(pauses), 1.5, pauses)

    def test_a_watch_that_ends_at_once_is_begun_less_and_less_often(self):
        answer = Answer(ends)
        self.api.fault(lambda r: r.is_watch and r.path.endswith(LIST), answer)
        store = self.synced()
        self.assert_rarer(answer.pauses(5))
        store.change("interrupted")
        self.assertEqual(store.order("replaced"), [])

    def test_what_is_too_old_each_time_is_listed_less_and_less_often(self):
        self.api.fault(lambda r: r.is_watch and r.path.endswith(LIST), is_too_old)
        answer = Answer(lambda _: False)
        self.api.fault(lambda r: r.query.get("limit") == "500" and r.path.endswith(LIST), answer)
        self.synced()
        self.assert_rarer(answer.pauses(5))

    def test_what_was_too_old_once_is_watched_from_where_it_broke_off(self):
        self.api.fault(lambda r: r.is_watch and r.path.endswith(LIST), is_too_old, times=1)
        store = self.synced()
        self.api.await_watch(LIST)
        lists = len(self.api.asked("GET", LIST))
        self.api.cut()
        store.wait("both interruptions", lambda _: store.order("interrupted", "resumed") ==
                   ["interrupted", "resumed"] * 2)
        self.assertEqual([r.query.get("limit") for r in self.api.asked("GET", LIST)[lists:]], ["1"])

    def test_a_list_that_is_refused_each_time_is_asked_for_less_and_less_often(self):
        answer = Answer(lambda r: r.refuse(500, "InternalError", "boom"))
        self.api.fault(lambda r: r.path.endswith(LIST), answer)
        self.start()
        self.assert_rarer(answer.pauses(5))

    def test_a_watch_that_is_refused_is_begun_when_the_server_says(self):
        watch, probe = Answer(is_busy("Retry-After: 3")), Answer(is_busy("Retry-After: 3"))
        self.api.fault(lambda r: r.is_watch and r.path.endswith(LIST), watch, times=1)
        self.api.fault(lambda r: r.query.get("limit") == "1" and r.path.endswith(LIST), probe, times=1)
        store = self.synced()
        store.change("resumed")
        for refused in (watch, probe):
            later = min(r.time for r in self.api.requests if r.path.endswith(LIST) and r.time > refused.times[0])
            self.assertGreater(later - refused.times[0], 2.9)


class Writing(Case):
    def is_post(self, request):
        return request.method == "POST"

    def test_a_busy_server_is_asked_again_when_it_says_or_after_a_while(self):
        store = self.synced()
        for act, least in ((is_busy(), 0.9), (is_busy("Retry-After: 2", status=503), 1.9)):
            stop = self.api.fault(self.is_post, act, times=1)
            before = len(self.api.asked("POST"))
            self.assertEqual(store.call("create", application(f"a{before}"))["code"], "success")
            refused, taken = [r.time for r in self.api.asked("POST")[before:]]
            self.assertGreater(taken - refused, least)
            stop()

    def test_a_server_that_is_always_busy_is_not_asked_for_ever(self):
        store = self.synced("store.kubernetes.timeout=5s")
        self.api.fault(self.is_post, is_busy("Retry-After: 1"))
        end = store.call("create", application("a"))
        self.assertEqual((end["code"], "later" in end["text"]), ("peer or service not reachable", True))
        self.assertIn(len(self.api.asked("POST")), range(2, 7))

    def test_stop_does_not_wait_for_a_busy_server(self):
        store = self.synced("store.kubernetes.timeout=10m")
        answer = Answer(is_busy("Retry-After: 300"))
        self.api.fault(self.is_post, answer)
        call = store.begin("create", application("a"))
        answer.pauses(0)
        self.assertEqual(store.call("get", "Application/argocd/b")["code"], "not found")
        before = time.monotonic()
        self.assertEqual(store.stop(), 0)
        self.assertLess(time.monotonic() - before, 60)
        self.assertIn(store.end(call)["code"], ("closed", "peer or service not reachable"))

    def test_an_object_that_comes_and_goes_is_not_written_for_ever(self):
        store = self.synced()
        self.api.fault(self.is_post, lambda r: r.refuse(409, "AlreadyExists", "there", {"name": "a"}))
        end = store.call("apply", application("a"))
        self.assertEqual(end["code"], "exists already")
        self.assertLess(len(self.api.asked("POST")) + len(self.api.asked("PATCH")), 10)

    def test_a_namespace_that_another_makes_first_is_taken(self):
        def is_quicker(request):
            self.api.namespaces["team"] = {}
            return request.refuse(409, "AlreadyExists", 'namespaces "team" already exists', {"name": "team"})
        store = self.synced("store.kubernetes.create-namespaces=team")
        self.api.fault(lambda r: self.is_post(r) and r.path.endswith("/namespaces"), is_quicker)
        end = store.call("apply", {**application("a"), "metadata": {"name": "a", "namespace": "team"}})
        self.assertEqual(end["code"], "success", end)


if __name__ == "__main__":
    unittest.main()
