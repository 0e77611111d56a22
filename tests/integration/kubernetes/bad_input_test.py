#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an API server may do to the Kubernetes store: the text says what it was, nothing is lost or invented, and other
objects do not wait. AB_BIN is the folder of store_driver."""
import itertools
import json
import os
import pathlib
import queue
import subprocess
import tempfile
import threading
import time
import unittest

from fake_api import FakeApi, make_certificate

LIST = "/applications"


def nested(depth):
    return {"n": 1, "x": nested(depth - 1)} if depth > 0 else {}


def application(name, number=1, **metadata):
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
            "metadata": {"name": name, "namespace": "argocd", **metadata}, "spec": {"n": number}}


class Store:
    """A store_driver and what it reported."""

    def __init__(self, kubeconfig, *settings, log=None):
        program = pathlib.Path(os.environ["AB_BIN"], "store_driver")
        settings = ["store.kind=kubernetes", f"store.kubernetes.kubeconfig={kubeconfig}", *settings]
        self.process = subprocess.Popen([program, *settings], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                        text=True)
        self.lines = []
        self.incoming = queue.Queue()
        self.calls = 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.incoming.put(json.loads(line))
        self.incoming.put(None)

    def wait(self, what, condition, seconds=120):
        """The first line, old or new, for which `condition` is true."""
        deadline = time.monotonic() + seconds
        for line in self.lines:
            if condition(line):
                return line
        while True:
            try:
                line = self.incoming.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"not within {seconds} s: {what}; last: {self.lines[-3:]}") from None
            if line is None:
                raise AssertionError(f"the store ended; waited for {what}")
            self.lines.append(line)
            if condition(line):
                return line

    def change(self, change, name=None, number=None):
        def fits(line):
            return line.get("change") == change and (name is None or line["key"].endswith(f"/{name}")) and \
                (number is None or line["object"]["spec"]["n"] == number)
        return self.wait(f"{change} {name}", fits)

    def fault(self, *words):
        return self.wait(f"fault {words}", lambda line: all(word in line.get("fault", "") for word in words))

    def begin(self, *words):
        text = " ".join(w if isinstance(w, str) else json.dumps(w) for w in words)
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        self.calls += 1
        return self.calls - 1

    def end(self, number):
        return self.wait(f"end of call {number}", lambda line: line.get("done") == number)

    def call(self, *words):
        return self.end(self.begin(*words))

    def count(self, change, name):
        return sum(1 for line in self.lines if line.get("change") == change and line["key"].endswith(f"/{name}"))

    def order(self, *changes):
        """Which of these changes were reported, in their order."""
        return [line["change"] for line in list(self.lines) if line.get("change") in changes]

    def stop(self, seconds=120):
        self.process.stdin.close()
        code = self.process.wait(seconds)
        self.process.stdout.close()
        return code


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="argobus-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.api = FakeApi(folder.name)
        self.api.start()
        self.addCleanup(self.api.stop)
        self.token = self.folder / "token"
        self.token.write_text("good")
        self.kubeconfig = self.folder / "kubeconfig"
        self.configure(self.api.ca)

    def configure(self, ca):
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{self.api.port}",
                                                   "certificate-authority": str(ca)}}],
            "users": [{"name": "u", "user": {"tokenFile": str(self.token)}}]}))

    def start(self, *settings):
        self.store = Store(self.kubeconfig, *settings)
        self.addCleanup(self.end)
        return self.store

    def end(self):
        if self.store.process.poll() is None:
            self.assertEqual(self.store.stop(), 0)

    def synced(self, *settings):
        store = self.start(*settings)
        store.change("synced")
        return store


class Reading(Case):
    def test_a_server_that_is_not_there_is_named_and_waited_for(self):
        self.api.put("Application", "a", spec={"n": 1})
        self.api.stop()
        store = self.start()
        store.fault("applications", "127.0.0.1")
        self.api.start()
        store.change("synced")
        self.assertEqual(store.count("seen", "a"), 1)

    def test_a_list_that_does_not_come_is_given_up_and_asked_for_again(self):
        self.api.put("Application", "a", spec={"n": 1})
        self.api.fault(lambda r: r.path.endswith(LIST), self.api.say_nothing, times=1)
        store = self.start("store.kubernetes.timeout=1s")
        self.assertEqual(store.fault("applications")["code"], "deadline passed")
        store.change("synced")

    def test_errors_of_the_server_delete_nothing(self):
        self.api.put("Application", "a", spec={"n": 1})
        store = self.synced()
        self.api.await_watch(LIST)  # or the first fault would be its answer
        for times, act in ((1, lambda r: r.answer(500, b"<html>oops</html>")), (1, lambda r: r.answer(200, b"garbage")),
                           (1, lambda r: r.answer(200, b'{"kind":"List","items":[{"metadata"')),
                           (1, lambda r: r.refuse(503, "ServiceUnavailable", "etcd is away"))):
            self.api.fault(lambda r: r.path.endswith(LIST), act, times)
        self.api.cut()
        store.fault("500", "oops")
        store.fault("GET applications", "JSON")
        store.fault("503", "etcd is away")
        self.api.put("Application", "b", spec={"n": 1})
        store.change("seen", "b")
        self.assertEqual(store.count("deleted", "a") + store.count("absent", "a"), 0)

    def test_a_list_that_breaks_off_deletes_nothing(self):
        for i in range(5):
            self.api.put("Application", f"a{i}", spec={"n": 1})
        store = self.synced("store.kubernetes.page=2")
        for first in (True, False):
            self.api.fault(lambda r, first=first: r.path.endswith(LIST) and r.query.get("limit") == "2" and
                           ("continue" not in r.query) == first,
                           lambda r: r.answer(200, b'{"kind":"List","items":[{"metadata"'), times=1)
        self.expire(store)
        store.fault("applications")
        self.api.put("Application", "b", spec={"n": 1})
        store.change("seen", "b")
        self.assertEqual(sum(1 for line in store.lines if line.get("change") in ("deleted", "absent")), 0)

    def test_what_is_no_list_is_neither_empty_nor_another_store(self):
        """A proxy may say anything with 200."""
        self.api.put("Application", "a", spec={"n": 1})
        store = self.synced()

        def told(word):
            return sum(word in line.get("fault", "") for line in store.lines)
        for body, limit, word in ((b'{"items": []}', "500", "not a valid watch event or list"),
                                  (b'{"items": null, "metadata": {}}', "500", "not a valid watch event or list"),
                                  (b'{"up": true}', "1", "no resourceVersion")):
            self.api.await_watch(LIST)
            before = told(word)
            self.api.fault(lambda r, limit=limit: r.path.endswith(LIST) and r.query.get("limit") == limit,
                           lambda r, body=body: r.answer(200, body), times=1)
            if limit == "1":
                self.api.cut()
            else:
                self.expire(store)
            store.wait(word, lambda _, word=word, before=before: told(word) > before)
        self.api.put("Application", "b", spec={"n": 1})
        store.change("seen", "b")
        self.assertEqual(store.order("replaced", "absent", "deleted"), [])

    def test_a_list_whose_next_page_is_too_old_begins_anew(self):
        for i in range(5):
            self.api.put("Application", f"a{i}", spec={"n": 1})
        self.api.fault(lambda r: "continue" in r.query,
                       lambda r: r.refuse(410, "Expired", "The provided continue parameter is too old"), times=1)
        self.synced("store.kubernetes.page=2")
        self.assertEqual(sum("continue" not in r.query for r in self.api.asked("GET", LIST)), 2)

    def expire(self, store):
        """Each watch from a version before this is told that it is too far behind: the cut may break one such answer off,
        and libcurl asks again without a word. The end of this is returned, for a store with smaller versions."""
        def act(request):
            request.begin_stream()
            request.chunk({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired",
                                                       "message": "too old resource version"}})
            request.end_stream()
        with self.api.changed:
            self.api.version += 1
            oldest = self.api.version
            stop = self.api.fault(lambda r: r.is_watch and r.path.endswith(LIST) and
                                  int(r.query["resourceVersion"]) < oldest, act)
        self.api.cut()
        return stop

    def test_after_410_what_was_deleted_and_made_meanwhile_is_found(self):
        for name in ("gone", "stays", "changed", "replaced"):
            self.api.put("Application", name, spec={"n": 1})
        store = self.synced()
        self.api.drop("Application", "gone", event=False)
        self.api.drop("Application", "replaced", event=False)
        self.api.put("Application", "replaced", spec={"n": 2}, event=False)
        self.api.put("Application", "changed", spec={"n": 2}, event=False)
        self.api.put("Application", "new", spec={"n": 1}, event=False)
        self.expire(store)
        gone = store.change("absent", "gone")
        self.assertTrue(gone["object"]["metadata"]["uid"])
        for name in ("changed", "new", "replaced"):
            store.change("seen", name)
        store.change("absent", "replaced")
        self.assertEqual([store.count("seen", n) for n in ("gone", "stays", "changed", "replaced")], [1, 1, 2, 2])
        self.assertEqual(sum(1 for line in store.lines if line.get("change") == "deleted"), 0)

    def test_a_deletion_while_the_watch_was_cut_is_observed(self):
        """The next watch begins after the last event, so the server tells it."""
        for name in ("gone", "stays"):
            self.api.put("Application", name, spec={"n": 1})
        store = self.synced()
        self.api.await_watch(LIST)
        lists = len(self.api.asked("GET", LIST))
        self.api.cut()
        self.api.drop("Application", "gone")
        store.change("deleted", "gone")
        store.change("resumed")
        self.assertEqual(store.count("absent", "gone"), 0)
        self.assertEqual(store.order("interrupted", "resumed"), ["interrupted", "resumed"])
        self.assertEqual({r.query.get("limit") for r in self.api.asked("GET", LIST)[lists:]} - {"1"}, set())

    def test_a_watch_that_ends_is_taken_up_without_a_list(self):
        store = self.start()
        store.change("synced")
        self.api.await_watch(LIST)
        lists = len(self.api.asked("GET", LIST))
        time_before = len(self.api.asked("GET", LIST, watch=True))
        self.api.cut()
        self.api.put("Application", "a", spec={"n": 1})
        store.change("seen", "a")
        self.assertGreater(len(self.api.asked("GET", LIST, watch=True)), time_before)
        probes = self.api.asked("GET", LIST)[lists:]
        self.assertEqual([r.query.get("limit") for r in probes], ["1"])

    def test_a_watch_that_ends_while_nothing_happens_is_taken_up_without_a_list(self):
        store = self.synced()
        self.api.await_watch(LIST)
        lists = len(self.api.asked("GET", LIST))
        self.api.cut()
        store.change("resumed")
        self.assertEqual([r.query.get("limit") for r in self.api.asked("GET", LIST)[lists:]], ["1"])
        self.assertEqual(store.order("replaced"), [])

    def test_a_watch_cut_in_the_middle_of_an_object_loses_nothing(self):
        def half(request):
            request.begin_stream()
            request.chunk(b'{"type":"ADDED","object":{"kind":"Application","metadata":{"na')
            return request.hang_up()

        def half_but_whole(request):
            request.begin_stream()
            request.chunk(b'{"type":"ADDED","object":{"kind":"Application","metadata":{"na')
            request.end_stream()
        store = self.synced()
        self.api.await_watch(LIST)  # the cut breaks this one off, and no answer of a fault
        for act in (half, half_but_whole):
            self.api.fault(lambda r: r.is_watch and r.path.endswith(LIST), act, times=1)
        self.api.cut()
        self.api.put("Application", "a", spec={"n": 1})
        store.change("seen", "a")
        self.assertEqual(store.count("seen", "a"), 1)

    def test_a_bookmark_is_where_the_next_watch_begins(self):
        store = self.synced()
        self.api.await_watch(LIST)
        bookmark = {"type": "BOOKMARK", "object": {"kind": "Application", "apiVersion": "argoproj.io/v1alpha1",
                                                   "metadata": {"resourceVersion": "150", "creationTimestamp": None}}}
        without_version = {"type": "BOOKMARK", "object": {"kind": "Application", "metadata": {}}}

        def say(request):
            request.begin_stream()
            request.chunk(bookmark)
            request.chunk(without_version)
            request.end_stream()
        self.api.fault(lambda r: r.is_watch and r.path.endswith(LIST), say, times=1)
        self.api.cut()
        self.api.version = 160
        self.api.put("Application", "a", spec={"n": 1})
        store.change("seen", "a")
        watches = [r.query for r in self.api.asked("GET", LIST, watch=True)]
        self.assertEqual({q.get("allowWatchBookmarks") for q in watches}, {"true"})
        self.assertIn("150", [q["resourceVersion"] for q in watches])
        self.assertFalse([line for line in store.lines if "fault" in line and "metadata" in line["fault"]])

    def test_a_list_that_is_refused_is_asked_for_when_the_server_says(self):
        self.api.fault(lambda r: r.path.endswith(LIST),
                       lambda r: r.refuse(429, "TooManyRequests", "later", headers=["Retry-After: 4"]), times=1)
        store = self.start()
        store.fault("applications", "later")
        store.change("synced")
        refused, taken = [r.time for r in self.api.asked("GET", LIST)][:2]
        self.assertGreaterEqual(taken - refused, 3.9)

    def test_a_list_that_is_refused_for_an_hour_is_asked_for_after_a_minute(self):
        self.api.fault(lambda r: r.path.endswith(LIST),
                       lambda r: r.refuse(503, "ServiceUnavailable", "maintenance", headers=["Retry-After: 3600"]), times=1)
        store = self.start()
        store.fault("applications", "maintenance")
        store.change("synced")

    def test_only_applications_that_fit_the_selector_are_asked_for(self):
        self.synced("store.kubernetes.selector=team=a,!old")
        self.api.await_watch(LIST)
        self.api.await_watch("/secrets")
        for watch in (False, True):
            asked = {r.query["labelSelector"] for r in self.api.asked("GET", LIST, watch)}
            self.assertEqual(len(asked), 1)
            self.assertTrue(asked.pop().endswith(",team=a,!old"))
            secrets = {r.query.get("labelSelector", "") for r in self.api.asked("GET", "/secrets", watch)}
            self.assertFalse([s for s in secrets if "team=a" in s])

    def test_a_store_restored_from_a_backup_is_listed_anew(self):
        self.api.put("Application", "kept", spec={"n": 1})
        self.api.put("Application", "lost", spec={"n": 1})
        for i in range(9):
            self.api.put("Application", "kept", spec={"n": i})
        store = self.synced()
        self.api.await_watch(LIST)
        self.api.drop("Application", "lost", event=False)
        self.api.version = 50
        self.api.put("Application", "kept", spec={"n": 77}, event=False)
        self.api.cut()
        store.change("absent", "lost")
        self.assertEqual(store.count("deleted", "lost"), 0)
        store.change("seen", "kept", 77)
        store.change("resumed")
        self.assertEqual(store.order("interrupted", "replaced", "absent", "resumed"),
                         ["interrupted", "replaced", "absent", "resumed"])
        told = store.order("interrupted", "replaced", "seen")
        self.assertEqual(told[told.index("interrupted"):][:2], ["interrupted", "replaced"])  # before anything of it is shown

    def test_each_restore_from_a_backup_is_told(self):
        self.api.put("Application", "kept", spec={"n": 0})
        store = self.synced()
        for version in (80, 60):
            for path in (LIST, "/secrets"):
                self.api.await_watch(path)
            self.api.version = version
            self.api.put("Application", "kept", spec={"n": version}, event=False)
            self.api.cut()
            store.change("seen", "kept", version)
            told = store.order("interrupted", "replaced")
            store.wait("resumed", lambda _: store.order("interrupted", "resumed")[-1] == "resumed")
            self.assertEqual(told, ["interrupted", "replaced"] * (len(told) // 2))
        self.assertEqual(store.order("replaced"), ["replaced"] * 2)

    def test_a_version_that_was_given_out_a_second_time_is_another_state(self):
        self.api.put("Application", "kept", spec={"n": 1})
        before = self.api.version - 1
        self.api.put("Application", "later", spec={"n": 1})
        store = self.synced()
        for way, limit in (("found before the watch", "1"), ("found by the list", "500")):
            self.api.await_watch(LIST)
            stop = self.api.fault(lambda r, limit=limit: r.path.endswith(LIST) and r.query.get("limit") == limit,
                                  lambda r, way=way: r.refuse(500, "InternalError", way))
            stop_expired = self.expire(store)
            store.fault(way)
            self.api.drop("Application", "later", event=False)
            self.api.version = before
            self.api.put("Application", "kept", spec={"n": way}, event=False)
            stop_expired()
            stop()
            store.change("seen", "kept", way)
            self.api.put("Application", "later", spec={"n": way})
            store.change("seen", "later", way)

    def test_a_store_restored_while_it_was_to_be_listed_anyway_is_another_one(self):
        self.api.put("Application", "kept", spec={"n": 1})
        self.api.put("Application", "lost", spec={"n": 1})
        store = self.synced()
        self.api.await_watch(LIST)
        stop = self.api.fault(lambda r: r.path.endswith(LIST) and not r.is_watch and r.query.get("limit") != "1",
                              lambda r: r.refuse(500, "InternalError", "not yet"))
        stop_expired = self.expire(store)
        store.fault("not yet")
        self.api.drop("Application", "lost", event=False)
        self.api.version = 50
        self.api.put("Application", "kept", spec={"n": 77}, event=False)
        stop_expired()
        stop()
        store.change("seen", "kept", 77)
        store.change("absent", "lost")
        self.assertEqual(store.order("replaced", "absent"), ["replaced", "absent"])

    def test_the_watch_is_resumed_when_all_that_it_may_have_lost_was_listed(self):
        self.api.put("Application", "kept", spec={"n": 1})
        self.api.put("Secret", "late", metadata={"labels": {"argocd.argoproj.io/secret-type": "repository"}})
        store = self.synced()
        store.change("seen", "late")
        for path in (LIST, "/secrets"):
            self.api.await_watch(path)
        self.api.drop("Secret", "late", event=False)
        self.api.version = 50
        self.api.put("Application", "kept", spec={"n": 77}, event=False)
        stop = self.api.fault(lambda r: r.path.endswith("/secrets"), lambda r: r.refuse(500, "InternalError", "not yet"))
        self.api.cut()
        store.change("seen", "kept", 77)
        store.fault("not yet")
        self.assertEqual(store.order("interrupted", "resumed"), ["interrupted"])
        stop()
        store.change("resumed")
        self.assertEqual(store.order("interrupted", "absent", "resumed"), ["interrupted", "absent", "resumed"])

    def test_missing_crds_are_named_and_waited_for(self):
        stop = self.api.fault(lambda r: r.path.endswith(LIST), lambda r: r.answer(404, b"404 page not found\n"))
        store = self.start()
        store.fault("does not serve applications", "install the CRDs")
        self.assertFalse([line for line in store.lines if line.get("change") == "listed"])
        stop()
        store.change("listed")

    def test_a_missing_right_is_named_and_waited_for(self):
        def forbid(request):
            return request.refuse(403, "Forbidden", 'secrets is forbidden: User "agent" cannot list', {"kind": "secrets"})
        stop = self.api.fault(lambda r: r.path.endswith("/secrets"), forbid)
        self.api.put("Application", "a", spec={"n": 1})
        store = self.start()
        store.change("seen", "a")
        store.fault("grant the verbs list and watch on secrets", 'User "agent"')
        stop()
        store.change("synced")

    def test_an_expired_token_is_replaced_by_the_one_in_the_file(self):
        expired = lambda r: r.headers.get("authorization") != f"Bearer {self.valid}"
        self.valid = "good"
        self.api.fault(expired, lambda r: r.refuse(401, "Unauthorized", "Unauthorized"))
        store = self.synced()
        self.valid = "better"
        refused = store.call("get", "Application/argocd/a")
        self.assertEqual((refused["code"], "401" in refused["text"]), ("peer or service not reachable", True))
        self.token.write_text("better")
        self.assertEqual(store.call("apply", application("a"))["code"], "success")
        store.change("seen", "a")

    def test_a_token_that_is_refused_once_is_fetched_anew_and_tried_again(self):
        store = self.synced()
        self.api.fault(lambda r: not r.is_watch, lambda r: r.refuse(401, "Unauthorized", "Unauthorized"), times=1)
        self.assertEqual(store.call("create", application("a"))["code"], "success")
        self.assertEqual(len(self.api.asked("POST")), 2)

    def test_a_certificate_of_another_ca_is_not_trusted(self):
        other, _ = make_certificate(self.folder, "other")
        self.configure(other)
        store = self.start()
        self.assertIn("certificate", store.fault("applications")["fault"])
        self.assertFalse(self.api.requests)

    def test_an_expired_certificate_is_not_trusted(self):
        ca, pair = make_certificate(self.folder, "old", days=-1)
        self.api.stop()
        self.api.start(pair=pair)
        self.configure(ca)
        self.assertIn("expired", self.start().fault("applications")["fault"])

    def test_one_object_that_cannot_be_read_hides_no_other(self):
        broken = self.api.put("Application", "a", spec={"n": 1})
        broken["metadata"]["namespace"] = "not a namespace"
        self.api.put("Application", "b", spec={"n": 1})
        store = self.start()
        store.fault('"a"', "metadata.namespace must be")
        store.change("seen", "b")
        store.change("listed")
        self.api.put("Application", "c", spec={"n": 1})
        store.change("seen", "c")
        self.assertFalse([line for line in store.lines if line.get("change") == "synced"])
        broken["metadata"]["namespace"] = "argocd"
        self.expire(store)
        store.change("seen", "a")
        store.change("synced")

    def test_one_object_that_is_nested_too_deeply_ends_no_watch(self):
        for name in ("a", "b"):
            self.api.put("Application", name, spec={"n": 1})
        store = self.synced()
        self.api.await_watch(LIST)
        watches = len(self.api.asked("GET", LIST, watch=True))
        self.api.put("Application", "a", spec=nested(150))
        store.fault('applications "a"', "nested too deeply")
        self.api.put("Application", "b", spec={"n": 2})
        store.change("seen", "b", 2)
        self.api.drop("Application", "a")
        store.change("deleted", "a")
        self.api.put("Application", "a", spec={"n": 3})
        store.change("seen", "a", 3)
        self.assertEqual(len(self.api.asked("GET", LIST, watch=True)), watches)

    def test_after_410_what_was_deleted_is_found_beside_what_cannot_be_read(self):
        for name in ("gone", "stays", "made-again"):
            self.api.put("Application", name, spec={"n": 1})
        store = self.synced()
        self.api.drop("Application", "gone", event=False)
        self.api.put("Application", "stays", spec=nested(150), event=False)
        self.api.drop("Application", "made-again", event=False)
        self.api.put("Application", "made-again", spec=nested(150), event=False)
        self.expire(store)
        store.change("absent", "gone")
        store.change("absent", "made-again")
        store.wait("resumed at last", lambda line: store.order("interrupted", "resumed")[-1] == "resumed")
        self.assertEqual(store.count("absent", "stays"), 0)

    def test_after_410_nothing_is_gone_while_an_object_cannot_be_named(self):
        self.api.put("Application", "gone", spec={"n": 1})
        broken = self.api.put("Application", "broken", spec={"n": 1})
        store = self.synced()
        self.api.drop("Application", "gone", event=False)
        broken["metadata"]["name"] = {}
        self.expire(store)
        store.fault("metadata.name must be")
        for path in (LIST, "/secrets"):
            self.api.await_watch(path)
        self.api.put("Application", "new", spec={"n": 1})
        store.change("seen", "new")
        self.assertEqual(store.count("absent", "gone"), 0)
        self.assertEqual(store.order("interrupted", "resumed")[-1], "interrupted")
        broken["metadata"]["name"] = "broken"
        self.expire(store)
        store.change("absent", "gone")
        store.wait("resumed at last", lambda line: store.order("interrupted", "resumed")[-1] == "resumed")


class Writing(Case):
    def test_requests_per_operation(self):
        store = self.synced()
        key = "Application/argocd/a"
        before = len(self.api.requests)

        def asked():
            nonlocal before
            methods = [r.method for r in self.api.requests[before:] if not r.is_watch]
            before = len(self.api.requests)
            return methods
        for call, methods in ((("create", application("a")), ["POST"]), (("apply", application("b")), ["POST"]),
                              (("apply", application("b", 2)), ["POST", "PATCH"]),
                              (("update", application("a", 2)), ["PATCH"]),
                              (("status", key, "1.1", {"x": 1}), ["PATCH", "PATCH"]),
                              (("status", key, "1.2", {"x": 2}), ["PATCH"]), (("status", key, "-", {"x": 3}), ["PATCH"]),
                              (("remove", key), ["DELETE"])):
            self.assertEqual(store.call(*call)["code"], "success")
            self.assertEqual(asked(), methods, call)

    def test_every_write_names_argobus_as_its_manager(self):
        store = self.synced("store.kubernetes.create-namespaces=team")
        key = "Application/team/a"
        store.call("apply", {**application("a"), "metadata": {"name": "a", "namespace": "team"}})
        store.call("apply", {**application("a", 2), "metadata": {"name": "a", "namespace": "team"}})
        store.call("status", key, "1.1", {"x": 1})
        writes = [r for method in ("POST", "PATCH") for r in self.api.asked(method)]
        self.assertGreaterEqual(len(writes), 5)
        self.assertEqual({r.query.get("fieldManager") for r in writes}, {"argobus"}, [r.path for r in writes])

    def test_a_busy_server_is_asked_again_and_others_are_not_held(self):
        store = self.synced()
        stop = self.api.fault(lambda r: r.method == "POST" and r.body["metadata"]["name"] == "slow",
                              lambda r: r.refuse(429, "TooManyRequests", "later", headers=["Retry-After: 1"]))
        slow = store.begin("create", application("slow"))
        for i in range(20):
            self.assertEqual(store.call("create", application(f"quick{i}"))["code"], "success")
        self.assertFalse([line for line in store.lines if line.get("done") == slow])
        stop()
        self.assertEqual(store.end(slow)["code"], "success")
        times = [r.time for r in self.api.asked("POST") if r.body["metadata"]["name"] == "slow"]
        self.assertGreaterEqual(len(times), 2)
        for former, later in itertools.pairwise(times):
            self.assertGreaterEqual(later - former, 0.9)

    def gather(self, count, surely=0):
        """Answer no POST before `surely` are there, and then before `count` are, or no more come; the largest number that
        were there at once."""
        here = threading.Condition()
        now, most = 0, 0

        def act(request):
            nonlocal now, most
            with here:
                now += 1
                most = max(most, now)
                here.notify_all()
                here.wait_for(lambda: most >= surely, 120)
                here.wait_for(lambda: most >= count, 0.5)
                now -= 1
            return False
        self.api.fault(lambda r: r.method == "POST", act)
        return lambda: most

    def test_objects_are_written_at_once_up_to_the_limit(self):
        store = self.synced("store.kubernetes.concurrency=4")
        most = self.gather(5, surely=4)
        calls = [store.begin("create", application(f"a{i}")) for i in range(12)]
        self.assertEqual({store.end(call)["code"] for call in calls}, {"success"})
        self.assertEqual(most(), 4)

    def test_a_busy_server_is_asked_for_less_at_once(self):
        store = self.synced("store.kubernetes.concurrency=8")
        self.api.fault(lambda r: r.method == "POST",
                       lambda r: r.refuse(429, "TooManyRequests", "later", headers=["Retry-After: 1"]), times=8)
        most = self.gather(8)
        calls = [store.begin("create", application(f"a{i}")) for i in range(8)]
        self.assertEqual({store.end(call)["code"] for call in calls}, {"success"})
        self.assertLess(most(), 8)

    def test_a_server_that_was_busy_is_asked_for_as_much_as_before(self):
        store = self.synced("store.kubernetes.concurrency=2")
        self.api.fault(lambda r: r.method == "POST",
                       lambda r: r.refuse(429, "TooManyRequests", "later", headers=["Retry-After: 1"]), times=1)
        self.assertEqual(store.call("create", application("busy"))["code"], "success")
        most = self.gather(2, surely=2)
        calls = [store.begin("create", application(f"a{i}")) for i in range(2)]
        self.assertEqual({store.end(call)["code"] for call in calls}, {"success"})
        self.assertEqual(most(), 2)

    def test_writes_of_one_object_go_one_by_one_in_order(self):
        store = self.synced()
        calls = [store.begin("apply", application("a", i)) for i in range(20)]
        self.assertEqual([store.end(call)["object"]["spec"]["n"] for call in calls], list(range(20)))
        asked = [r for r in self.api.requests if r.method in ("POST", "PATCH")]
        self.assertEqual([r.method for r in asked], ["POST"] + ["POST", "PATCH"] * 19)

    def test_what_the_server_refuses_is_told_apart(self):
        webhook = 'admission webhook "policy.example.com" denied the request: no such team'
        cases = [
            (lambda r: r.refuse(500, "InternalError", "boom"), "peer or service not reachable", "boom"),
            (lambda r: r.refuse(504, "Timeout", "too long"), "deadline passed", "too long"),
            (lambda r: r.refuse(400, "BadRequest", webhook), "not valid", "no such team"),
            (lambda r: r.refuse(403, "Forbidden", webhook), "not valid", "no such team"),
            (lambda r: r.refuse(500, "InternalError", "failed calling webhook"), "peer or service not reachable", "webhook"),
            (lambda r: r.refuse(403, "Forbidden", "exceeded quota: objects"), "no space left", "quota"),
            (lambda r: r.refuse(403, "Forbidden", "being terminated", {"causes": [{"reason": "NamespaceTerminating"}]}),
             "peer or service not reachable", "terminated"),
            (lambda r: r.refuse(403, "Forbidden", "cannot create"), "not allowed", "cannot create"),
            (lambda r: r.refuse(422, "Invalid", "spec.x", {"causes": [{"field": "spec.x"}]}), "not valid", "spec.x"),
            (lambda r: r.refuse(413, "RequestEntityTooLarge", "limit is 3145728"), "larger than the limit", "3145728"),
            (lambda r: r.answer(200, b"what?"), "not well-formed", "the API server's response"),
            (lambda r: r.answer(502, b"<html>\nbad gateway"), "peer or service not reachable", "bad gateway"),
            (lambda r: r.hang_up(), "peer or service not reachable", "Application/argocd/bad"),
        ]
        store = self.synced()
        for act, code, word in cases:
            stop = self.api.fault(lambda r: r.method == "POST" and r.body["metadata"]["name"] == "bad", act)
            bad = store.begin("create", application("bad"))
            good = store.call("apply", application("good"))
            self.assertEqual(good["code"], "success", good)
            end = store.end(bad)
            self.assertEqual(end["code"], code, end)
            self.assertIn(word, end["text"])
            self.assertIn("Application/argocd/bad", end["text"])
            stop()

    def test_only_who_names_the_object_says_that_it_is_not_there(self):
        # The kind is not served, or a proxy answers for an API server that it does not reach.
        strangers = ((404, b"404 page not found\n"),
                     (404, b'{"type": "error", "status": "404", "message": "cluster not found"}'),
                     (404, b'{"kind": "Status", "code": 404, "reason": "NotFound", "message": "no such resource"}'),
                     (410, b"this cluster was removed\n"))
        self.api.put("Application", "a", spec={"n": 1})
        store = self.synced()
        for status, body in strangers:
            stop = self.api.fault(lambda r: r.path.endswith("/applications/a"), lambda r, s=status, b=body: r.answer(s, b))
            for call in (("get", "Application/argocd/a"), ("remove", "Application/argocd/a"),
                         ("update", application("a", 2))):
                end = store.call(*call)
                self.assertEqual(end["code"], "peer or service not reachable", (call, body, end))
                self.assertIn(str(status), end["text"])
            stop()
        self.assertEqual(store.call("get", "Application/argocd/a")["object"]["spec"], {"n": 1})
        self.api.drop("Application", "a")
        store.change("deleted", "a")
        self.assertEqual(store.call("get", "Application/argocd/a")["code"], "not found")

    def test_a_write_that_is_not_answered_ends_in_time(self):
        store = self.synced("store.kubernetes.timeout=5s")
        self.api.fault(lambda r: r.method == "POST" and r.body["metadata"]["name"] == "bad", self.api.say_nothing, 1)
        bad = store.begin("create", application("bad"))
        self.assertEqual(store.call("create", application("good"))["code"], "success")
        self.assertEqual(store.end(bad)["code"], "deadline passed")

    def test_an_object_deleted_while_it_is_written(self):
        store = self.synced()
        self.api.put("Application", "a", spec={"n": 1})

        def vanish(request):
            self.api.drop("Application", "a")
            return False
        self.api.fault(lambda r: r.method == "PATCH", vanish, times=1)
        self.assertEqual(store.call("apply", application("a", 2))["code"], "success")
        self.api.put("Application", "a", spec={"n": 1})
        self.api.fault(lambda r: r.method == "PATCH", vanish, times=1)
        self.assertEqual(store.call("update", application("a", 3))["code"], "not found")

    def test_a_finalizer_that_stays_keeps_the_object_and_nothing_else(self):
        store = self.synced()
        made = store.call("create", application("a", finalizers=["x/y"]))
        for _ in range(2):
            end = store.call("remove", "Application/argocd/a", made["object"]["metadata"]["uid"])
            self.assertEqual(end["code"], "success")
            self.assertIn("deletionTimestamp", end["object"]["metadata"])
        self.assertEqual(store.call("create", application("b"))["code"], "success")
        end = store.call("update", application("a"))
        self.assertEqual((end["code"], end.get("object")), ("success", None))
        store.change("deleted", "a")

    def test_another_uid_is_a_conflict(self):
        store = self.synced()
        store.call("create", application("a"))
        self.assertEqual(store.call("remove", "Application/argocd/a", "another")["code"], "changed underneath")

    def test_a_missing_namespace_is_named(self):
        store = self.synced()
        end = store.call("apply", {**application("a"), "metadata": {"name": "a", "namespace": "team"}})
        self.assertEqual(end["code"], "not allowed")
        self.assertIn("namespace team does not exist: create it, or allow it in store.kubernetes.create-namespaces",
                      end["text"])

    def test_a_missing_namespace_is_created_where_allowed(self):
        store = self.synced("store.kubernetes.create-namespaces=team-*,/^x$/", "store.kubernetes.namespace-labels.a=b")
        calls = [store.begin("apply", {**application(f"a{i}"), "metadata": {"name": f"a{i}", "namespace": "team-1"}})
                 for i in range(4)]
        for call in calls:
            self.assertEqual(store.end(call)["code"], "success")
        self.assertEqual(self.api.namespaces["team-1"], {"a": "b"})

    def test_stop_does_not_wait_for_a_server_that_says_nothing(self):
        store = self.synced("store.kubernetes.timeout=1s")
        self.api.fault(lambda r: r.method == "POST", self.api.say_nothing)
        calls = [store.begin("create", application(f"a{i}")) for i in range(30)]
        time_before = time.monotonic()
        self.assertEqual(store.stop(), 0)
        self.assertLess(time.monotonic() - time_before, 60)
        for call in calls:
            self.assertIn(store.end(call)["code"], ("deadline passed", "closed"))


if __name__ == "__main__":
    unittest.main()
