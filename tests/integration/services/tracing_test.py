#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of changes, as a collector gets them."""
import pathlib
import re
import subprocess
import unittest

import yaml

from collector import Collector
from daemons import Fleet, application, only_kafka, wait_for
from ports import free_port

HUB, SPOKE = "argobus-principal", "argobus-agent"


ONCE = "collectors are the same over every transport"
PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/operate/tracing.md"


def make_cert(folder):
    """A certificate of localhost that is its own authority, and its key."""
    cert, key = folder / "collector.crt", folder / "collector.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost"], check=True, stderr=subprocess.DEVNULL)
    return cert, key


class Configuration(Fleet):
    """What docs/operate/tracing.md says to write, and what is wrong with other things."""

    def check(self, tracing):
        self.agent.configure({**self.agent_config(), "tracing": tracing})
        return subprocess.run([self.agent.program, "-c", self.agent.config, "--check-config"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)

    @only_kafka(ONCE)
    def test_the_page_is_valid(self):
        blocks = [yaml.safe_load(text)["tracing"] for text in re.findall("```yaml\n(.*?)```", PAGE.read_text(), re.S)]
        self.assertEqual(len(blocks), 2)
        headers = self.folder / "headers"
        headers.write_text("Authorization: Bearer x\n")
        for tracing in blocks:
            if "ca" in tracing:
                tracing.update(ca=str(make_cert(self.folder)[0]), headers=str(headers))
            done = self.check(tracing)
            self.assertEqual(done.returncode, 0, done.stdout)

    @only_kafka(ONCE)
    def test_what_is_wrong_is_named(self):
        headers = self.folder / "headers"
        headers.write_text("Authorization: Bearer x\nsecret\n")
        endpoint = "https://c/v1/traces"
        for tracing, said in (({"endpoint": "c:4318"}, 'tracing.endpoint: "c:4318" is not a URL of http or https'),
                              ({"endpoint": endpoint, "headers": str(headers)}, "headers: line 2 is not of the form"),
                              ({"endpoint": endpoint, "ca": str(headers)}, "tracing.ca"),
                              ({"endpoint": endpoint, "ca": "/nowhere"}, "/nowhere"),
                              ({"endpoint": endpoint, "one-in": 0}, "tracing.one-in")):
            done = self.check(tracing)
            self.assertEqual((done.returncode, said in done.stdout), (2, True), done.stdout)
            self.assertNotIn("Bearer", done.stdout)


class Tracing(Fleet):
    def setUp(self):
        super().setUp()
        self.collector = Collector()
        self.addCleanup(lambda: self.collector.close())
        self.trace(self.collector.endpoint)

    def trace(self, endpoint, **more):
        tracing = {"endpoint": endpoint, "one-in": 1, **more}
        self.principal.configure({**self.principal_config(), "tracing": tracing})
        self.agent.configure({**self.agent_config(), "tracing": tracing})

    def found(self, service, name, key, wanted=lambda span: True):
        return next((s for s in self.collector.spans if s.service == service and s.name == name
                     and s.attributes.get("argobus.key") == key and wanted(s)), None)

    def trace_of(self, first):
        """Waits for all four spans of what goes down."""
        def whole():
            spans = {s.name: s for s in self.collector.spans if s.trace == first.trace}
            return spans if set(spans) == {"send", "apply", "write", "wait"} else None
        return wait_for("the whole trace", whole)

    def check_trace(self, spans):
        send, apply, write, wait = (spans[name] for name in ("send", "apply", "write", "wait"))
        self.assertEqual([s.service for s in (send, apply, write, wait)], [HUB, SPOKE, SPOKE, HUB])
        self.assertEqual([s.kind for s in (send, apply, write, wait)],
                         ["SPAN_KIND_PRODUCER", "SPAN_KIND_CONSUMER", "SPAN_KIND_CLIENT", "SPAN_KIND_INTERNAL"])
        self.assertEqual([send.parent, apply.parent, write.parent, wait.parent], ["", send.id, apply.id, send.id])
        self.assertEqual([s.error for s in spans.values()], [None] * 4)
        times = [send.start, apply.start, write.start, write.end, apply.end, wait.end]
        self.assertEqual(times, sorted(times))
        for span in (send, apply):
            self.assertEqual(span.attributes["messaging.system"], self.transport)
            self.assertEqual(span.attributes["cloudevents.event_source"], "/principal")
            self.assertEqual(span.attributes["argobus.agent"], "w1")
        self.assertEqual(send.attributes["cloudevents.event_id"], apply.attributes["cloudevents.event_id"])
        self.assertEqual(write.attributes["argobus.object"], "Application/argocd/guestbook")

    def test_one_trace_leads_from_the_hub_to_the_write_and_its_acknowledgement(self):
        key = "Application/w1/guestbook"
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        send = wait_for("the span of sending", lambda: self.found(HUB, "send", key))
        self.check_trace(self.trace_of(send))
        self.hub.remove("w1", "guestbook")
        end = wait_for("the span of the deletion", lambda: self.found(HUB, "send", key, lambda s: s.id != send.id))
        self.assertNotEqual(end.trace, send.trace)
        self.check_trace(self.trace_of(end))

    def test_a_status_that_comes_back_has_a_trace_too(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        self.spoke.set_status("argocd", "guestbook", {"sync": {"status": "Synced"}})
        apply = wait_for("the status is applied", lambda: next(
            (s for s in self.collector.spans if s.service == HUB and s.name == "apply"), None))
        send = wait_for("the span of sending it", lambda: next(
            (s for s in self.collector.spans if s.service == SPOKE and s.id == apply.parent), None))
        self.assertEqual((send.name, send.trace), ("send", apply.trace))
        self.assertEqual(apply.attributes["argobus.agent"], "w1")
        self.assertEqual(apply.attributes["cloudevents.event_source"], "/agent/w1")

    @only_kafka(ONCE)
    def test_headers_are_sent_and_what_the_ends_tell_each_other_is_not_traced(self):
        headers = self.folder / "headers"
        headers.write_text("Authorization: Basic c2VjcmV0\n\nX-Tenant: fleet\n")
        self.trace(self.collector.endpoint, headers=str(headers))
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        wait_for("a request", lambda: self.collector.spans)
        path, sent = self.collector.headers[0]
        self.assertEqual((path, sent["Authorization"], sent["X-Tenant"], sent["Content-Type"]),
                         ("/v1/traces", "Basic c2VjcmV0", "fleet", "application/x-protobuf"))
        send = wait_for("the change", lambda: self.found(HUB, "send", "Application/w1/guestbook"))
        self.trace_of(send)
        self.assertEqual({s.attributes["argobus.key"].split("/")[0] for s in self.collector.spans
                          if s.name == "send"} - {"Application", "AppProject", "cmd"}, set())
        for daemon in (self.principal, self.agent):
            self.assertNotIn("c2VjcmV0", daemon.log.read_text())

    @only_kafka(ONCE)
    def test_a_collector_is_reached_by_tls(self):
        cert, key = make_cert(self.folder)
        self.collector.close()
        self.collector = Collector(tls=(cert, key))
        self.trace(self.collector.endpoint, ca=str(cert))
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        send = wait_for("the span of sending", lambda: self.found(HUB, "send", "Application/w1/guestbook"))
        self.check_trace(self.trace_of(send))

    @only_kafka(ONCE)
    def test_a_collector_that_comes_late_gets_the_spans(self):
        port = free_port()
        self.trace(f"http://127.0.0.1:{port}/v1/traces")
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        wait_for("it is told", lambda: "traces cannot be exported" in self.principal.log.read_text())
        self.collector.close()
        self.collector = Collector(port)
        send = wait_for("the span of sending", lambda: self.found(HUB, "send", "Application/w1/guestbook"))
        self.check_trace(self.trace_of(send))
        wait_for("it is told", lambda: "traces are exported again" in self.principal.log.read_text())
        self.assertEqual(self.principal.metric("argobus_trace_spans_dropped_total"), 0)

    @only_kafka(ONCE)
    def test_nothing_waits_for_a_collector_that_says_nothing(self):
        self.collector.answer = None
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        wait_for("a request", lambda: self.collector.requests)
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="2"))
        self.arrives("guestbook", "2")
        self.principal.stop()
        self.agent.stop()

    @only_kafka(ONCE)
    def test_spans_that_are_refused_are_dropped_and_counted(self):
        self.collector.answer = 400
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        wait_for("they are counted", lambda: self.principal.metric("argobus_trace_spans_dropped_total") > 0)
        self.assertRegex(self.principal.log.read_text(), "traces cannot be exported.*status=400.*next=dropped")
        self.assertEqual(self.principal.metric("argobus_trace_spans_exported_total"), 0)


if __name__ == "__main__":
    unittest.main()
