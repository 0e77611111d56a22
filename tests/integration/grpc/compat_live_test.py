# SPDX-License-Identifier: Apache-2.0
"""Live access with an argocd-agent at the other end, which go_peer.py plays: it speaks the wire, and the test says what
it finds in its cluster."""
import base64
import concurrent.futures
import http.client
import json
import os
import pathlib
import socket
import ssl
import unittest
import uuid

from daemons import free_port, wait_for
from compat_test import AtPrincipal, bridge, data
from redis_servers import Server
from viewers import RESIZE, STATUS, STDERR, STDIN, STDOUT, V4, V5, WebSocket

TOKEN = "0123456789abcdef-any"
MERGE = "application/merge-patch+json"
PODS = "/api/v1/namespaces/web/pods"


class Answer:
    def __init__(self, answer):
        self.code, self.type, self.body = answer.status, answer.getheader("content-type"), answer.read()

    def json(self):
        return json.loads(self.body)


class ThroughPrincipal(AtPrincipal):
    """Requests to an argobus principal that argocd-agents have joined."""

    more = {}

    def setUp(self):
        self.port = free_port()
        self.certs = pathlib.Path(os.environ["AB_GRPC_CERTS"])
        super().setUp()
        self.pool = concurrent.futures.ThreadPoolExecutor(8)
        self.addCleanup(self.pool.shutdown)

    def principal_config(self):
        tokens = self.folder / "tokens"
        tokens.write_text(f"{TOKEN} *\n")
        tls = {"cert": str(self.certs / "server.crt"), "key": str(self.certs / "server.key")}
        resource = {"listen": f"127.0.0.1:{self.port}", "tokens": str(tokens), "tls": tls}
        config = super().principal_config()
        return {**config, "agents": [*config["agents"], {"name": "w2", "mode": "managed"}],
                "live": {"resource": resource, **self.more}}

    def joined(self, name="w1"):
        agent = self.go_agent(version="v0.8.1", name=name, mode=self.mode)
        wait_for(f"{name} is there", lambda: "agent connected agent=%s" % name in self.principal.log.read_text())
        return agent

    def ask(self, method, path, body=None, agent="w1", **fields):
        context = ssl.create_default_context(cafile=str(self.certs / "ca.crt"))
        connection = http.client.HTTPSConnection("localhost", self.port, context=context, timeout=120)
        headers = {"Authorization": f"Bearer {TOKEN}", **{k.replace("_", "-"): v for k, v in fields.items()}}
        text = json.dumps(body) if isinstance(body, dict) else body
        connection.request(method, f"/agents/{agent}{path}", body=text, headers=headers)
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    def asking(self, *args, **options):
        return self.pool.submit(self.ask, *args, **options)


def respond(agent, request, status, resource=None, **changes):
    """As argocd-agent answers; `resource` is the object."""
    content = {"uuid": data(request)["uuid"], "status": status}
    if resource is not None:
        content["resource"] = resource if isinstance(resource, str) else json.dumps(resource)
    ext = {"resourceid": str(uuid.uuid4()), "eventid": request["ext"]["eventid"], **changes}
    agent.order(event={"type": "response", "target": "resource", "ext": ext, "data": json.dumps(content)})


class Resources(ThroughPrincipal):
    """The Kubernetes API of an argocd-agent's cluster."""

    def setUp(self):
        super().setUp()
        self.principal.start()
        self.peer = self.joined()

    def passed(self, method, path, body=None, status=200, resource=None, **fields):
        """What the agent was asked, and the answer."""
        asking = self.asking(method, path, body, **fields)
        request = self.peer.event(method, "resource")
        respond(self.peer, request, status, resource)
        return request, asking.result()

    def test_an_object_is_asked_for_as_argocd_agent_asks(self):
        pod = {"kind": "Pod", "metadata": {"name": "a", "annotations": {"x": "\"\\ü\u2028"}}, "n": 12345678901234567890}
        request, answer = self.passed("GET", f"{PODS}/a", resource=pod)
        self.assertEqual((answer.code, answer.type, answer.json()), (200, "application/json", pod))
        content = data(request)
        self.assertEqual(content, {"uuid": request["ext"]["eventid"], "namespace": "web", "name": "a", "method": "GET",
                                   "group": "", "version": "v1", "resource": "pods"})
        self.assertEqual(request["ext"], {"resourceid": content["uuid"], "eventid": content["uuid"]})
        self.assertEqual((request["id"], request["source"], request["specversion"]), ("", "", "1.0"))
        self.assertEqual(request["kinds"]["dataschema"], 5)
        audit = [line for line in self.principal.log.read_text().splitlines() if "live request" in line]
        self.assertIn('verb=get object="pods web/a" code=200', audit[-1])

    def test_discovery_and_lists_of_events_pass(self):
        for path, asked in (("/api", ("", "", "")), ("/apis", ("", "", "")), ("/api/v1", ("", "v1", "")),
                            ("/apis/apps/v1", ("apps", "v1", "")), ("/api/v1/events", ("", "v1", "events"))):
            request, answer = self.passed("GET", path, resource={"kind": "List"})
            content = data(request)
            self.assertEqual((content["group"], content["version"], content["resource"]), asked, path)
            self.assertEqual((content["name"], answer.json()), ("", {"kind": "List"}))
            self.assertNotIn("namespace", content)
        query = "fieldSelector=involvedObject.name%3Da%2Cx%3Dy&limit=5&limit=6&labelSelector=a+b"
        request, _ = self.passed("GET", f"/api/v1/namespaces/web/events?{query}", resource={"items": []})
        self.assertEqual(data(request)["params"], {"fieldSelector": "involvedObject.name=a,x=y", "limit": "5",
                                                   "labelSelector": "a b"})
        request, _ = self.passed("GET", "/api/v1/namespaces/web", resource={})
        self.assertEqual((data(request)["name"], data(request).get("namespace")), ("web", None))
        self.assertEqual(self.ask("GET", "/version").json()["gitVersion"], "v1.28.5+argocd-agent")

    def test_an_object_is_created_changed_and_deleted(self):
        made = {"kind": "ConfigMap", "metadata": {"name": "c"}}
        maps = "/api/v1/namespaces/web/configmaps"
        request, answer = self.passed("POST", f"{maps}?fieldManager=argocd", made, resource=made)
        self.assertEqual((answer.code, answer.json()), (200, made))
        self.assertEqual(json.loads(base64.b64decode(data(request)["body"])), made)
        self.assertEqual(data(request)["params"], {"fieldManager": "argocd"})
        request, answer = self.passed("PATCH", f"{maps}/c", {"data": {"a": "1"}}, resource=made, content_type=MERGE)
        self.assertEqual((answer.code, base64.b64decode(data(request)["body"])), (200, b'{"data": {"a": "1"}}'))
        request, answer = self.passed("DELETE", f"{maps}/c", {"propagationPolicy": "Foreground"})
        self.assertEqual(base64.b64decode(data(request)["body"]), b'{"propagationPolicy": "Foreground"}')
        self.assertEqual((answer.code, answer.json()["status"]), (200, "Success"))
        request, _ = self.passed("DELETE", f"{maps}/c")
        self.assertEqual(base64.b64decode(data(request)["body"]), b"{}", "it reads DeleteOptions in any case")
        request, _ = self.passed("PATCH", "/apis/apps/v1/namespaces/web/deployments/d/scale", {}, content_type=MERGE)
        self.assertEqual((data(request)["subresource"], data(request)["group"]), ("scale", "apps"))

    def test_large_objects_pass(self):
        large = {"kind": "ConfigMap", "data": {"a": "x" * 5000000}}
        _, answer = self.passed("GET", "/api/v1/namespaces/web/configmaps/c", resource=large)
        self.assertEqual(answer.json(), large)
        body = {"kind": "ConfigMap", "data": {"a": "y" * 2000000}}
        request, answer = self.passed("POST", "/api/v1/namespaces/web/configmaps", body, resource={})
        self.assertEqual(json.loads(base64.b64decode(data(request)["body"])), body)
        refused = self.ask("POST", "/api/v1/namespaces/web/configmaps", "x" * 3200000)
        self.assertEqual((refused.code, refused.json()["reason"]), (413, "RequestEntityTooLarge"))

    def test_refusals_of_the_agent_get_a_status(self):
        for code, reason in ((403, "Forbidden"), (404, "NotFound"), (409, "Conflict"), (500, "InternalError")):
            _, answer = self.passed("GET", f"{PODS}/a", status=code)
            status = answer.json()
            self.assertEqual((answer.code, status["kind"], status["reason"]), (code, "Status", reason))
            self.assertIn("argocd-agent", status["message"])

    def test_what_its_wire_has_no_form_for_is_refused_with_the_reason(self):
        refused = (("PUT", f"{PODS}/a", 405), ("DELETE", PODS, 405), ("GET", f"{PODS}?watch=true", 501),
                   ("GET", f"{PODS}/a/proxy", 501), ("GET", f"{PODS}/a/log?stream=Stderr", 501),
                   ("GET", "/apis/apps", 501), ("GET", "/openapi/v2", 501))
        for method, path, code in refused:
            answer = self.ask(method, path)
            self.assertEqual((answer.code, answer.json()["kind"]), (code, "Status"), path)
            self.assertIn("argocd-agent", answer.json()["message"])
        answer = self.ask("PATCH", f"{PODS}/a", "[]", content_type="application/json-patch+json")
        self.assertEqual((answer.code, answer.json()["reason"]), (415, "UnsupportedMediaType"))
        for path in (f"{PODS}/a", f"{PODS}/a/log", f"{PODS}/a/exec"):
            answer = self.ask("GET", path, impersonate_user="eve")
            self.assertEqual((answer.code, answer.json()["reason"]), (403, "Forbidden"), path)
            self.assertIn("impersonated", answer.json()["message"])
        self.assertEqual(self.peer.events("resource"), [])
        self.assertEqual(self.peer.events("containerlog"), [])

    def test_only_the_agent_that_was_asked_can_answer_and_only_once(self):
        other = self.joined("w2")
        asking = self.asking("GET", f"{PODS}/a")
        request = self.peer.event("GET", "resource")
        respond(other, request, 200, {"from": "w2"})
        respond(self.peer, request, 200, {"from": "nobody"}, eventid=str(uuid.uuid4()))
        asking_other = self.asking("GET", f"{PODS}/a", agent="w2")
        respond(other, other.event("GET", "resource"), 200, {"from": "w2"})
        self.assertEqual(asking_other.result().json(), {"from": "w2"})
        self.assertFalse(asking.done())
        respond(self.peer, request, 200, {"from": "w1"})
        respond(self.peer, request, 200, {"from": "w1", "again": True})
        self.assertEqual(asking.result().json(), {"from": "w1"})
        _, answer = self.passed("GET", f"{PODS}/b", resource={"b": 1})
        self.assertEqual(answer.json(), {"b": 1})

    def test_a_response_that_cannot_be_read_is_502(self):
        for content in ("", "[]", "{}", '{"status": 99}', '{"status": "200"}', '{"status": 200, "resource": {}}'):
            asking = self.asking("GET", f"{PODS}/a")
            request = self.peer.event("GET", "resource")
            ext = {"resourceid": "x", "eventid": request["ext"]["eventid"]}
            self.peer.order(event={"type": "response", "target": "resource", "ext": ext, "data": content})
            self.assertEqual(asking.result().code, 502, content)

    def test_an_agent_that_goes_in_the_middle_ends_its_requests_and_answers_when_it_is_back(self):
        asking = [self.asking("GET", f"{PODS}/{name}") for name in "abc"]
        for _ in asking:
            self.peer.event("GET", "resource")
        self.peer.order(end=True)
        self.assertEqual({a.result().code for a in asking}, {502})
        wait_for("it is away", lambda: self.ask("GET", f"{PODS}/a").code == 503)
        self.peer.order(open=True)
        self.peer.wait("login")
        wait_for("it is back", lambda: self.principal.log.read_text().count("agent connected") == 2)
        _, answer = self.passed("GET", f"{PODS}/a", resource={"a": 1})
        self.assertEqual(answer.json(), {"a": 1})

    def test_no_response_in_time_is_504(self):
        asking = self.asking("GET", f"{PODS}/a")
        request = self.peer.event("GET", "resource")
        self.assertEqual((asking.result().code, asking.result().json()["reason"]), (504, "Timeout"))
        respond(self.peer, request, 200, {})
        _, answer = self.passed("GET", f"{PODS}/b", resource={"b": 1})
        self.assertEqual(answer.json(), {"b": 1})


def line(n):
    return f"2026-01-02T03:04:05.{n:09d}Z line {n}\n"


class Sides(ThroughPrincipal):
    """With what argocd-agent opens beside its stream."""

    def setUp(self):
        super().setUp()
        self.principal.start()
        self.peer = self.joined()

    def begin(self, path, agent="w1"):
        """The answer, of which only the head was read."""
        context = ssl.create_default_context(cafile=str(self.certs / "ca.crt"))
        connection = http.client.HTTPSConnection("localhost", self.port, context=context, timeout=120)
        self.addCleanup(connection.close)
        connection.request("GET", f"/agents/{agent}{path}", headers={"Authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        answer.connection = connection
        return answer

    def asked(self, target, peer=None):
        """The event that asks; its id."""
        event = (peer or self.peer).wait("event", lambda e: e["target"] == target)
        self.assertEqual(event["ext"], {"resourceid": data(event)["uuid"], "eventid": data(event)["uuid"]})
        return event, data(event)["uuid"]

    def ended(self, name, peer=None):
        return (peer or self.peer).wait("side", lambda s: s["name"] == name and "ended" in s)["ended"]

    def open(self, kind, name, *messages, peer=None):
        """The first message has the uuid only."""
        (peer or self.peer).order(side={"kind": kind, "name": name, "messages": [{"uuid": name}, *messages]})

    def say(self, name, *messages):
        self.peer.order(say={"name": name, "messages": [{"uuid": name, **m} for m in messages]})

    def stands_still(self, name, count):
        """The agent's call does not take more; far from all of it was taken."""
        taken = []

        def waits():
            self.peer.order(taken=name)
            taken.append(self.peer.wait("taken"))
            return taken[-1] > 2 and taken[-50:] == taken[-1:] * 50  # for a second: a machine may be busy
        wait_for("the agent waits", waits)
        self.assertLess(taken[-1], count - 100)


class Logs(Sides):
    """Logs of an argocd-agent's Pods."""

    log = f"{PODS}/a/log"

    def asking_log(self, query=""):
        """A viewer that waits, the event, and its id."""
        asking = self.pool.submit(self.begin, self.log + query)
        return (asking, *self.asked("containerlog"))

    def test_a_log_is_asked_for_as_argocd_agent_asks_and_comes_by_a_call(self):
        query = ("?container=main&follow=true&tailLines=5&sinceSeconds=60&sinceTime=2026-01-02T03%3A04%3A05Z"
                 "&timestamps=true&previous=false&limitBytes=100000")
        asking, event, uuid = self.asking_log(query)
        self.assertEqual((event["type"], event["kinds"]["dataschema"]), ("GET", 5))
        self.assertEqual(data(event), {
            "uuid": uuid, "namespace": "web", "podName": "a", "container": "main", "follow": True, "tailLines": 5,
            "sinceSeconds": 60, "sinceTime": "2026-01-02T03:04:05Z", "timestamps": True, "limitBytes": 100000})
        self.open("logs", uuid, {"uuid": uuid, "data": line(1) + line(2)})
        answer = asking.result()
        self.assertEqual((answer.status, answer.getheader("content-type")), (200, "text/plain"))
        self.assertEqual(answer.readline() + answer.readline(), (line(1) + line(2)).encode())
        self.say(uuid, {"data": line(3)})
        self.assertEqual(answer.readline(), line(3).encode())
        self.say(uuid, {"data": line(4)}, {"eof": True})
        self.assertEqual(answer.read(), line(4).encode())
        response = self.peer.wait("side", lambda s: s["name"] == uuid and "message" in s)
        self.assertEqual(response["message"], {"uuid": uuid, "data": 200}, "LogStreamResponse: 2 is the status")
        self.assertEqual(self.ended(uuid), "OK")

    def test_a_silent_log_is_answered_and_an_empty_one_ends(self):
        asking, _, uuid = self.asking_log("?follow=true")
        self.open("logs", uuid)
        answer = asking.result()
        self.assertEqual(answer.status, 200)
        self.say(uuid, {"eof": True})
        self.assertEqual(answer.read(), b"")

    def test_errors_become_a_status(self):
        for error, code, reason in (('pods "a" not found', 404, "NotFound"), ("pods is forbidden", 403, "Forbidden"),
                                    ('container "x" in pod "a" is waiting to start', 400, "BadRequest"),
                                    ("no more of it", 500, "InternalError")):
            asking, _, uuid = self.asking_log()
            self.open("logs", uuid, {"uuid": uuid, "error": error})
            answer = Answer(asking.result())
            self.assertEqual((answer.code, answer.json()["reason"]), (code, reason))
            self.assertIn(error, answer.json()["message"])
            self.assertEqual(self.ended(uuid), "CANCELLED")
        for query in ("?tailLines=x", "?tailLines=1&tailLines=2"):
            self.assertEqual(Answer(self.begin(self.log + query)).code, 400)

    def test_when_the_viewer_goes_the_call_ends(self):
        asking, _, uuid = self.asking_log("?follow=true")
        self.open("logs", uuid, {"uuid": uuid, "data": line(1)})
        answer = asking.result()
        answer.readline()
        answer.close()
        answer.connection.close()
        self.assertEqual(self.ended(uuid), "CANCELLED")

    def test_no_other_agent_can_answer_and_none_twice(self):
        other = self.joined("w2")
        asking, _, uuid = self.asking_log()
        self.open("logs", uuid, {"uuid": uuid, "data": "forged"}, peer=other)
        self.assertEqual(self.ended(uuid, other), "NOT_FOUND")
        self.peer.order(side={"kind": "terminal", "name": "t", "messages": [{"uuid": uuid}]})
        self.assertEqual(self.ended("t"), "NOT_FOUND")
        self.peer.order(side={"kind": "logs", "name": "n", "messages": [{"uuid": "no-such"}]})
        self.assertEqual(self.ended("n"), "NOT_FOUND")
        self.peer.order(side={"kind": "logs", "name": "u", "messages": [{"uuid": uuid}], "token": "none"})
        self.assertEqual(self.ended("u"), "UNAUTHENTICATED")
        self.open("logs", uuid, {"uuid": uuid, "data": "its own\n"})
        answer = asking.result()
        self.assertEqual(answer.readline(), b"its own\n")
        self.peer.order(side={"kind": "logs", "name": "again", "messages": [{"uuid": uuid}]})
        self.assertEqual(self.ended("again"), "NOT_FOUND")
        self.say(uuid, {"eof": True})
        self.assertEqual(answer.read(), b"")

    def test_a_viewer_that_does_not_read_stops_the_agent_and_no_other(self):
        asking, _, uuid = self.asking_log("?follow=true")
        self.open("logs", uuid, {"uuid": uuid, "data": line(0)})
        answer = asking.result()
        count = 1000
        self.peer.order(flood={"name": uuid, "uuid": uuid, "count": count, "size": 65536})
        self.stands_still(uuid, count)
        other, _, name = self.asking_log()
        self.open("logs", name, {"uuid": name, "data": "x"}, {"uuid": name, "eof": True})
        self.assertEqual(other.result().read(), b"x")
        self.say(uuid, {"eof": True})
        lines = answer.read().splitlines()
        self.assertEqual([int(text.split()[2]) for text in lines[1:]], list(range(count)))

    def test_a_log_that_is_followed_goes_on_when_its_call_or_its_agent_was_lost(self):
        asking, _, uuid = self.asking_log("?follow=true&timestamps=true")
        self.open("logs", uuid, {"uuid": uuid, "data": line(1)})
        answer = asking.result()
        self.assertEqual(answer.readline(), line(1).encode())
        self.peer.order(drop=uuid)
        event, again = self.asked("containerlog")
        self.assertEqual(data(event)["sinceTime"], line(1).split()[0])
        self.open("logs", again, {"uuid": again, "data": line(1) + line(2)})
        self.assertEqual(answer.readline(), line(2).encode())
        self.peer.order(end=True)
        self.peer.wait("ended")
        self.peer.order(open=True)
        _, third = self.asked("containerlog")
        self.open("logs", third, {"uuid": third, "data": line(1) + line(2) + line(3)}, {"uuid": third, "eof": True})
        self.assertEqual(answer.read(), line(3).encode())

    def test_a_call_that_does_not_come_and_one_that_says_nothing_end_in_time(self):
        asking, _, _ = self.asking_log("?follow=true")
        self.peer.order(side={"kind": "logs", "name": "mute", "messages": []})
        self.assertEqual(self.ended("mute"), "DEADLINE_EXCEEDED")
        answer = Answer(asking.result())
        self.assertEqual((answer.code, answer.json()["reason"]), (504, "Timeout"))

    def test_there_are_so_many_calls_and_no_more(self):
        context = ssl.create_default_context(cafile=str(self.certs / "ca.crt"))
        viewers = [http.client.HTTPSConnection("localhost", self.port, context=context, timeout=120) for _ in range(97)]
        for viewer in viewers:
            self.addCleanup(viewer.close)
            viewer.request("GET", f"/agents/w1{self.log}?follow=true", headers={"Authorization": f"Bearer {TOKEN}"})
        refused = [self.pool.submit(viewer.getresponse) for viewer in viewers[-8:]]
        first = next(concurrent.futures.as_completed(refused)).result()
        self.assertEqual(first.status, 429)
        names = [self.asked("containerlog")[1] for _ in range(96)]
        for name in names:
            self.open("logs", name, {"uuid": name, "data": line(1)})
        answers = [viewer.getresponse() for viewer in viewers[:80]]
        self.assertEqual({(a.status, a.readline()) for a in answers}, {(200, line(1).encode())})

    def test_an_agent_that_goes_before_it_answers_is_told_as_such(self):
        asking, _, _ = self.asking_log()
        self.peer.order(end=True)
        self.assertEqual(asking.result().status, 502)


class Terminals(Sides):
    """Terminals in an argocd-agent's Pods."""

    exec = f"{PODS}/a/exec?container=main&command=sh&command=-c&command=ls+-l&stdin=true&stdout=true&tty=true"

    def view(self, agent="w1", protocols=(V5, V4)):
        """The answer to a WebSocket's request comes when the agent has opened its call."""
        context = ssl.create_default_context(cafile=str(self.certs / "ca.crt"))
        connection = http.client.HTTPSConnection("localhost", self.port, context=context, timeout=120)
        self.addCleanup(connection.close)
        return self.pool.submit(WebSocket, connection, f"/agents/{agent}{self.exec}", *protocols, token=TOKEN)

    def opened(self, protocols=(V5, V4)):
        viewing = self.view(protocols=protocols)
        event, uuid = self.asked("terminal")
        self.open("terminal", uuid)
        shell = viewing.result()
        self.addCleanup(shell.close)
        self.assertEqual((shell.code, shell.fields["sec-websocket-protocol"]), (101, protocols[0]))
        return shell, uuid, event

    def heard(self, name):
        """The next message of the principal, without its uuid."""
        said = self.peer.wait("side", lambda s: s["name"] == name and "message" in s)["message"]
        self.assertEqual(said.pop("uuid"), name)
        return said

    def end_of(self, shell):
        status = json.loads(shell.until(STATUS, b"}"))
        self.assertIsNone(shell.receive())
        return status, shell.close_code

    def test_a_terminal_is_asked_for_as_argocd_agent_asks_and_comes_by_a_call(self):
        for protocols in ((V5, V4), (V4,)):
            shell, uuid, event = self.opened(protocols)
            self.assertEqual((event["type"], data(event)), ("terminal-request", {
                "uuid": uuid, "namespace": "web", "podName": "a", "containerName": "main", "command": ["sh", "-c", "ls -l"],
                "tty": True, "stdin": True, "stdout": True, "stderr": False}))
            shell.say(RESIZE, b'{"Width":113,"Height":47}')
            self.assertEqual(self.heard(uuid), {"resize": 1, "rows": 47, "cols": 113})
            shell.say(STDIN, b"ls\n")
            self.assertEqual(self.heard(uuid), {"data": "ls\n", "stream": "stdin"})
            self.say(uuid, {"data": "one", "stream": "stdout"}, {"data": "two", "stream": "stderr"}, {"eof": True})
            self.assertEqual([shell.receive(), shell.receive()], [bytes([STDOUT]) + b"one", bytes([STDERR]) + b"two"])
            self.assertEqual(self.end_of(shell), ({"metadata": {}, "status": "Success"}, 1000))
            self.assertEqual(self.ended(uuid), "OK")

    def test_an_error_is_told_so_that_another_shell_is_tried(self):
        shell, uuid, _ = self.opened()
        error = 'exec: "bash": executable file not found in $PATH'
        self.say(uuid, {"error": error})
        status, code = self.end_of(shell)
        self.assertEqual((status["status"], status["message"], code), ("Failure", error, 1000))

    def test_when_the_viewer_goes_the_call_ends(self):
        shell, uuid, _ = self.opened()
        shell.say(STDIN, b"x")
        self.heard(uuid)
        shell.close()
        self.assertEqual(self.ended(uuid), "CANCELLED")

    def test_when_the_call_is_lost_the_viewer_is_told(self):
        shell, uuid, _ = self.opened()
        self.peer.order(drop=uuid)
        self.assertIsNone(shell.receive())
        self.assertEqual(shell.close_code, 1011)

    def test_no_other_agent_can_answer(self):
        other = self.joined("w2")
        viewing = self.view()
        _, uuid = self.asked("terminal")
        self.open("terminal", uuid, {"uuid": uuid, "data": "forged", "stream": "stdout"}, peer=other)
        self.assertEqual(self.ended(uuid, other), "NOT_FOUND")
        self.open("terminal", uuid, {"uuid": uuid, "data": "its own", "stream": "stdout"})
        shell = viewing.result()
        self.addCleanup(shell.close)
        self.assertEqual(shell.receive(), bytes([STDOUT]) + b"its own")

    def test_a_viewer_that_does_not_read_stops_the_agent_and_keys_still_arrive(self):
        shell, uuid, _ = self.opened()
        count = 1000
        self.peer.order(flood={"name": uuid, "uuid": uuid, "count": count, "size": 65536})
        self.stands_still(uuid, count)
        shell.say(STDIN, b"q")
        self.assertEqual(self.heard(uuid), {"data": "q", "stream": "stdin"})
        self.say(uuid, {"eof": True})
        text = b"".join(message[1:] for message in iter(shell.receive, None) if message[0] == STDOUT)
        self.assertEqual([int(line.split()[2]) for line in text.splitlines()], list(range(count)))

    def test_a_call_that_does_not_come_is_504_and_what_is_not_served_says_so(self):
        viewing = self.view()
        for path in (f"{PODS}/a/attach", f"{PODS}/a/portforward"):
            self.assertEqual(Answer(self.begin(path)).code, 501)
        shell = viewing.result()
        self.addCleanup(shell.close)
        self.assertEqual((shell.code, shell.body()["reason"]), (504, "Timeout"))


class AutonomousTerminals(Sides):
    """An autonomous argocd-agent has none for the control plane."""

    mode = "autonomous"
    view = Terminals.view
    exec = Terminals.exec

    def test_it_is_refused(self):
        shell = self.view().result()
        self.addCleanup(shell.close)
        self.assertEqual((shell.code, shell.body()["message"]), (400, "an autonomous argocd-agent has no terminals for the "
                                                                 "control plane"))


class ByWebsocket(Sides):
    """Of an argocd-agent behind a proxy: each call has a WebSocket of its own."""

    def grpc(self, name):
        return dict(super().grpc(name), websocket=True)

    def go(self, role, name="w1", **settings):
        return super().go(role, name=name, bridge=bridge(self, self.grpc_port, name), **settings)


class LogsByWebsocket(ByWebsocket):
    log, asking_log = Logs.log, Logs.asking_log
    test_a_log_comes = Logs.test_a_log_is_asked_for_as_argocd_agent_asks_and_comes_by_a_call
    test_when_the_viewer_goes_the_call_ends = Logs.test_when_the_viewer_goes_the_call_ends
    test_no_other_agent_can_answer_and_none_twice = Logs.test_no_other_agent_can_answer_and_none_twice
    test_a_viewer_that_does_not_read = Logs.test_a_viewer_that_does_not_read_stops_the_agent_and_no_other
    test_a_log_goes_on = Logs.test_a_log_that_is_followed_goes_on_when_its_call_or_its_agent_was_lost
    test_there_are_so_many_calls_and_no_more = Logs.test_there_are_so_many_calls_and_no_more


class TerminalsByWebsocket(ByWebsocket):
    exec, view, opened, heard, end_of = (Terminals.exec, Terminals.view, Terminals.opened, Terminals.heard,
                                         Terminals.end_of)
    test_a_terminal_comes = Terminals.test_a_terminal_is_asked_for_as_argocd_agent_asks_and_comes_by_a_call
    test_when_the_viewer_goes_the_call_ends = Terminals.test_when_the_viewer_goes_the_call_ends
    test_when_the_call_is_lost_the_viewer_is_told = Terminals.test_when_the_call_is_lost_the_viewer_is_told
    test_a_viewer_that_does_not_read = Terminals.test_a_viewer_that_does_not_read_stops_the_agent_and_keys_still_arrive


class Redis(ThroughPrincipal):
    """The redis of an argocd-agent's cluster."""

    tree = "app|resources-tree|w1_guestbook|1.8.3.gz"
    channel = "app|managed-resources|w1_guestbook|1.8.3"

    def setUp(self):
        self.redis_port = free_port()
        self.own = Server(self)
        self.more = {"redis": {"listen": f"127.0.0.1:{self.redis_port}", "address": f"127.0.0.1:{self.own.port}"}}
        super().setUp()
        self.principal.start()
        self.peer = self.joined()

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.redis_port), timeout=60)
        replies = connection.makefile("rb")
        self.addCleanup(connection.close)
        self.addCleanup(replies.close)
        return connection, replies

    @staticmethod
    def send(connection, *words):
        connection.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words))

    def asked(self, kind):
        return self.peer.wait("event", lambda e: e["target"] == "redis" and kind in data(e)["body"])

    def respond(self, request, **body):
        content = {"uuid": data(request)["uuid"], "connectionUuid": data(request)["connectionUuid"], "body": body}
        ext = {"resourceid": str(uuid.uuid4()), "eventid": request["ext"]["eventid"]}
        self.peer.order(event={"type": "redis-response", "target": "redis", "ext": ext, "data": json.dumps(content)})

    def respond_get(self, request, value, error=""):
        text = None if value is None else base64.b64encode(value).decode()
        self.respond(request, get={"bytes": text, "cacheHit": value is not None, "error": error})

    def test_a_key_of_its_applications_is_asked_for_as_argocd_agent_asks(self):
        connection, replies = self.connect()
        value = os.urandom(3000000)
        self.send(connection, "GET", self.tree)
        request = self.asked("get")
        content = data(request)
        self.assertEqual((request["type"], content["uuid"]), ("redis-request", request["ext"]["eventid"]))
        self.assertEqual(content["body"], {"get": {"key": self.tree}})
        self.assertTrue(content["connectionUuid"])
        self.respond_get(request, value)
        self.assertEqual(replies.readline(), b"$3000000\r\n")
        self.assertEqual(replies.read(3000002), value + b"\r\n")

    def test_misses_and_errors_are_told_and_other_keys_are_the_control_planes(self):
        connection, replies = self.connect()
        self.send(connection, "GET", self.tree)
        self.respond_get(self.asked("get"), None)
        self.assertEqual(replies.readline(), b"$-1\r\n")
        self.send(connection, "GET", self.tree)
        self.respond_get(self.asked("get"), None, "its redis\nis away")
        self.assertEqual(replies.readline(), b'-ERR argobus: agent "w1": its redis?is away\r\n')
        self.send(connection, "GET", self.tree)
        self.respond(self.asked("get"), get={"bytes": "not base64", "cacheHit": True})
        self.assertIn(b"cannot be read", replies.readline())
        self.send(connection, "SET", "mfst|x", "own")
        self.send(connection, "GET", "mfst|x")
        self.assertEqual(replies.read(14), b"+OK\r\n$3\r\nown\r\n")

    def test_messages_of_a_channel_come_for_as_long_as_someone_listens(self):
        connection, replies = self.connect()
        self.send(connection, "SUBSCRIBE", self.channel)
        request = self.asked("subscribe")
        self.assertEqual(data(request)["body"], {"subscribe": {"channel": self.channel}})
        self.respond(request, subscribeResponse={"error": ""})
        head = b"*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:1\r\n" % (len(self.channel), self.channel.encode())
        self.assertEqual(replies.read(len(head)), head)
        message = b"*3\r\n$7\r\nmessage\r\n$%d\r\n%s\r\n$0\r\n\r\n" % (len(self.channel), self.channel.encode())
        for _ in range(3):
            self.respond(request, pushFromSubscribe={"channelName": self.channel})
            self.assertEqual(replies.read(len(message)), message)
        connection.close()
        replies.close()
        again, replies = self.connect()
        self.send(again, "SUBSCRIBE", self.channel)
        other = self.asked("subscribe")
        self.assertNotEqual(data(other)["connectionUuid"], data(request)["connectionUuid"])
        self.respond(request, pushFromSubscribe={"channelName": self.channel})
        self.respond(other, subscribeResponse={"error": ""})
        self.assertEqual(replies.read(len(head)), head)
        self.respond(other, pushFromSubscribe={"channelName": self.channel})
        self.assertEqual(replies.read(len(message)), message)

    def test_a_channel_is_asked_for_again_after_its_agent_was_away(self):
        connection, replies = self.connect()
        self.send(connection, "SUBSCRIBE", self.channel)
        self.respond(self.asked("subscribe"), subscribeResponse={"error": ""})
        for _ in range(6):
            replies.readline()
        self.peer.order(end=True)
        wait_for("it is away", lambda: "agent disconnected" in self.principal.log.read_text())
        self.peer.order(open=True)
        self.respond(self.asked("subscribe"), subscribeResponse={"error": ""})
        self.assertEqual(replies.readline(), b"*3\r\n", "a message may have been missed")


if __name__ == "__main__":
    unittest.main()
