#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Beside an API server that refuses writes, or comes back from a backup."""
import json
import os
import shutil
import signal
import threading
import time
import unittest

from daemons import Daemon, Fleet, application, revision, wait_for
from fake_api import FakeApi

TOLD_SECONDS = 10


class Api(FakeApi):
    """Every kind that the programs watch can be listed, and Events can be written."""

    def respond(self, request):
        if request.method == "GET" and not request.is_watch and request.path.endswith(("/appprojects", "/configmaps")):
            return self.list(request)
        if request.method == "POST" and request.path.endswith("/events"):
            return request.answer(201, request.body)
        return super().respond(request)

    def events_of(self, reason):
        return [r.body for r in self.asked("POST", "/events") if r.body["reason"] == reason]


class Beside(Fleet):
    make_api = Api

    def serve(self):
        """An API server, and the part of a configuration that leads there."""
        self.api = self.make_api(self.folder)
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
        return {"kind": "kubernetes", "namespace": "argocd", "kubernetes": {"kubeconfig": str(kubeconfig)}}


class BesideAgent(Beside):
    def agent_config(self):
        return {**super().agent_config(), "store": self.serve()}

    @staticmethod
    def path(name):
        return f"/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/{name}"

    def here(self, name):
        return revision(self.api.objects.get(self.path(name)))


class FirstReading(BesideAgent):
    def test_what_was_read_counts_until_it_is_in_effect(self):
        unfinished = self.folder / "agent" / "data" / "replaying"
        for name in ("a", "b"):
            self.hub.write("w1", name, application(name))
        self.start()
        wait_for("both have arrived", lambda: self.here("a") == self.here("b") == "1")
        self.agent.stop()
        shutil.rmtree(unfinished.parent)
        unfinished.parent.mkdir()
        mend = self.api.fault(lambda r: r.method == "PATCH" and r.path == self.path("a"),
                              lambda r: r.refuse(503, "ServiceUnavailable", "not now"))
        sent = self.principal.metric("argobus_events_sent_total")
        self.hub.edit("w1", "a", lambda a: a["spec"]["source"].update(targetRevision="2"))
        wait_for("it is in the log", lambda: self.principal.metric("argobus_events_sent_total") > sent)
        self.agent.start()
        wait_for("the log has been read", lambda: not unfinished.exists())
        wait_for("it is tried again", lambda: len(self.api.asked("PATCH", self.path("a"))) > 1)
        self.assertGreater(self.agent.metric("argobus_unacknowledged"), 0)
        self.assertGreater(self.agent.metric("argobus_offset_lag"), 0)
        mend()
        wait_for("it is in effect", lambda: self.here("a") == "2")
        wait_for("so is all", lambda: self.agent.metric("argobus_offset_lag") == 0)


class Conflict(BesideAgent):
    def agent_config(self):
        return {**super().agent_config(), "sync": {"set-aside": "2s"}}

    def conditions(self, name):
        return [c["message"] for c in (self.hub.status("w1", name) or {}).get("conditions", [])
                if c["type"] == "AgentError"]

    def test_a_write_that_always_conflicts_is_set_aside_and_made_once_it_can_be(self):
        for name in ("a", "b"):
            self.hub.write("w1", name, application(name))
        self.start()
        wait_for("both have arrived", lambda: self.here("a") == self.here("b") == "1")
        mend = self.api.fault(lambda r: r.method == "PATCH" and r.path == self.path("a"),
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


class Restored(Beside):
    def principal_config(self):
        return {**super().principal_config(), "store": self.serve()}

    def put(self, names):
        for name in names:
            self.api.put("Application", name, "w1", spec=application(name)["spec"])

    def marked(self):
        mark = self.api.objects.get("/api/v1/namespaces/argocd/configmaps/argobus-store-mark", {})
        return " " not in mark.get("data", {}).get("w1", " ")

    def test_half_of_the_objects_missing_is_told_within_ten_seconds(self):
        old, new = [f"old{i}" for i in range(30)], [f"new{i}" for i in range(30)]
        self.put(old)
        self.start()
        wait_for("all have arrived", lambda: len(self.spoke.names("argocd")) == 30)
        wait_for("the watermark follows", self.marked)
        backup = dict(self.api.objects)
        self.put(new)
        wait_for("all have arrived", lambda: len(self.spoke.names("argocd")) == 60)
        self.principal.stop()
        self.api.objects = backup
        deadline = time.monotonic() + TOLD_SECONDS

        def told(what, condition):
            wait_for(what, condition, deadline - time.monotonic())

        self.principal.start(ready=False)
        told("a metric tells", lambda: self.principal.metric("argobus_deletions_held") == 30)
        told("/readyz tells", lambda: "agent w1: 30 deletions are held back" in (self.principal.get("/readyz") or ""))
        told("an Event tells", lambda: self.api.events_of("DeletionsHeld"))
        self.assertIn("deletions held back: the store does not show", self.principal.log.read_text())
        event = self.api.events_of("DeletionsHeld")[0]
        self.assertEqual(event["involvedObject"]["namespace"], "w1")
        self.assertIn("30", event["message"])
        self.assertEqual(len(self.spoke.names("argocd")), 60)


class Paused(Beside):
    """A principal is stopped, another one takes its place, and the first one goes on."""

    def setUp(self):
        super().setUp()
        self.api.put("Application", "a", "w1", spec=application("a")["spec"])
        self.start()
        self.arrives("a", "1")
        self.report(1)
        self.shows(1)
        self.first = self.principal
        self.addCleanup(self.first.kill)

    def principal_config(self):
        if not hasattr(self, "store"):
            self.store = self.serve()
        return {**super().principal_config(), "store": self.store}

    def report(self, n):
        self.spoke.set_status("argocd", "a", {"sync": {"status": "Synced", "revision": str(n)}})

    @staticmethod
    def number(app):
        return int(app.get("status", {}).get("sync", {}).get("revision", 0))

    @staticmethod
    def is_status(request):
        return request.method == "PATCH" and any(op["path"] == "/status" for op in request.body)

    def shown(self):
        return self.number(self.api.objects["/apis/argoproj.io/v1alpha1/namespaces/w1/applications/a"])

    def shows(self, n):
        wait_for(f"the hub shows status {n}", lambda: self.shown() == n)

    def pause(self):
        self.received = self.first.metric("argobus_events_received_total")
        os.kill(self.first.process.pid, signal.SIGSTOP)

    def take_over(self):
        self.principal = Daemon("argobus-principal", self.folder / "second", self.principal_config())
        self.principal.start()

    def go_on(self):
        """Until the first one has dealt with what it is sent; or it ends, as the store's watermark is another's."""
        os.kill(self.first.process.pid, signal.SIGCONT)

        def is_done():
            if self.first.process.poll() is not None:
                return True
            return (self.first.metric("argobus_events_received_total") >= self.received + 1
                    and self.first.metric("argobus_unacknowledged") == 0)

        wait_for("the first one has dealt with everything", is_done)

    def assert_never_older(self):
        shown = [self.number(item) for _, collection, item in self.api.events if collection.endswith("/w1/applications")]
        self.assertEqual(shown, sorted(shown))
        self.assertEqual(self.shown(), 3)

    def test_a_write_that_was_under_way_does_not_overwrite_a_newer_status(self):
        arrived, release, answered = threading.Event(), threading.Event(), threading.Event()

        def hold(request):
            arrived.set()
            release.wait()
            self.api.respond(request)
            answered.set()
            return True

        self.addCleanup(release.set)
        self.api.fault(self.is_status, hold, times=1)
        self.report(2)
        wait_for("the first one writes it", arrived.is_set)
        self.pause()
        self.take_over()
        self.shows(2)
        self.report(3)
        self.shows(3)
        release.set()
        wait_for("the API server has dealt with the first one's write", answered.is_set)
        self.go_on()
        self.assert_never_older()


if __name__ == "__main__":
    unittest.main(verbosity=2)
