# SPDX-License-Identifier: Apache-2.0
"""argobus with an argocd-agent at the other end: go_peer.py, which speaks its wire, plays it."""
import base64
import hashlib
import json
import os
import pathlib
import queue
import signal
import subprocess
import threading
import unittest
import uuid

import peers
from daemons import Fleet, Objects, application, revision, wait_for

HERE = pathlib.Path(__file__).parent
SUPPORT = HERE.parent.parent / "support" / "grpc"
PYTHON = SUPPORT / "python"
GRPC_GO = SUPPORT / "grpc-go"
WAIT_S = 120
SOURCE_UID = "argocd.argoproj.io/source-uid"
REFRESH = "argocd.argoproj.io/refresh"
LOCAL = {"name": "in-cluster", "server": "https://kubernetes.default.svc"}


def made_event(kind, obj, target="application", eventid=None, **more):
    """As go_peer.py is told it."""
    meta = obj["metadata"]
    resource = f"{meta['name']}_{meta['uid']}"
    eventid = eventid or f"{resource}_{meta.get('resourceVersion', uuid.uuid4().hex)}"
    ext = {"resourceid": resource, "eventid": eventid, "sentat": "2026-01-02T03:04:05.678901234Z", **more}
    return {"type": kind, "target": target, "subject": f"{meta['namespace']}/{meta['name']}", "ext": ext,
            "data": json.dumps(obj)}


class GoPeer:
    """One process of go_peer.py, and what it has said."""

    def __init__(self, role, port, **settings):
        command = [PYTHON, HERE / "go_peer.py", role, os.environ["AB_GRPC_CERTS"], str(port), json.dumps(settings)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        self.seen = []
        self.sides = []  # lines about side calls that waits for something else have passed over: their order is their own
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def order(self, **what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def wait(self, what, condition=None):
        """The first line with member `what`, of those not yet read, whose content fulfils the condition."""
        def next_line():
            try:
                line = self.lines.get(timeout=WAIT_S)
            except queue.Empty:
                line = None
            assert line is not None, f"no {what} in time; seen: {json.dumps(self.seen, indent=1)[-6000:]}"
            self.seen.append(line)
            return line
        def matches(line):
            return what in line and (condition is None or condition(line[what]))
        for line in self.sides:
            if matches(line):
                self.sides.remove(line)
                return line[what]
        while True:
            line = next_line()
            if matches(line):
                return line[what]
            if "side" in line and what != "side":
                self.sides.append(line)

    def event(self, kind, target="application", **ext):
        return self.wait("event", lambda e: e["type"] == kind and e["target"] == target and
                         all(e["ext"].get(k) == v for k, v in ext.items()))

    def send(self, kind, obj, target="application", eventid=None, **more):
        event = made_event(kind, obj, target, eventid, **more)
        self.order(event=event)
        return event["ext"]

    def acked(self, ext):
        """All extensions come back."""
        got = self.wait("event", lambda e: e["type"] == "processed" and e["ext"].get("eventid") == ext["eventid"])
        assert got["ext"] == ext and got["target"] == "eventProcessed" and got["data"] is None, got
        return got

    def resync(self, kind, content):
        """Acknowledged as everything is."""
        ext = {"resourceid": uuid.uuid4().hex, "eventid": uuid.uuid4().hex}
        self.order(event={"type": kind, "target": "resourceResync", "ext": ext, "data": json.dumps(content)})

    def events(self, target):
        """Those that were read so far."""
        return [line["event"] for line in self.seen if "event" in line and line["event"]["target"] == target]

    def stop(self):
        self.process.stdin.close()
        self.process.wait(WAIT_S)
        self.process.stdout.close()


def data(event):
    return json.loads(event["data"])


def checksum(content):
    """As argocd-agent sums the spec of an Application."""
    content = {k: v for k, v in content.items() if k != "destination"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def project(*destinations):
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
            "metadata": {"name": "team", "namespace": "argocd"},
            "spec": {"destinations": [{"name": d, "namespace": "*"} for d in destinations],
                     "sourceNamespaces": ["*"], "sourceRepos": ["*"]}}


def repository():
    content = {"project": "team", "url": "https://git.example.com/a", "password": "hunter2"}
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": {"name": "repo", "namespace": "argocd",
                         "labels": {"argocd.argoproj.io/secret-type": "repository"}},
            "data": {key: base64.b64encode(value.encode()).decode() for key, value in content.items()}}


def keys():
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-gpg-keys-cm", "namespace": "argocd"},
            "data": {"4AEE18F83AFDEB23": "key"}}


def bridge(case, port, name):
    """The port of a bridge between WebSockets and HTTP/2; tests/support/grpc/go/main.go says which is where."""
    server = peers.Server(str(GRPC_GO), "bridge", os.environ["AB_GRPC_CERTS"], str(port), name)
    case.addCleanup(server.stop)
    return server.port


class Dialect(Fleet):
    transport = "grpc"

    def go(self, role, **settings):
        peer = GoPeer(role, self.grpc_port, **settings)
        self.addCleanup(peer.stop)
        return peer

    def go_agent(self, **settings):
        agent = self.go("agent", **settings)
        agent.said = agent.wait("login")
        return agent


class AtPrincipal(Dialect):
    """An argobus principal, which argocd-agents join."""

    mode = "managed"
    extra = {}

    def principal_config(self):
        folder = self.folder / "principal" / "data"
        folder.mkdir(parents=True, exist_ok=True)
        config = dict(super().principal_config(), principal={"data": str(folder)},
                      agents=[{"name": "w1", "mode": self.mode, **self.extra}])
        config["grpc"]["peer-version"] = "v0.8.1"
        return config


class GoAgent(AtPrincipal):
    """A managed argocd-agent joins an argobus principal."""

    def stored(self, event, **changes):
        """What the agent's cluster has of what it was told."""
        app = data(event)
        meta = app["metadata"]
        meta["annotations"] = {**meta.get("annotations", {}), SOURCE_UID: meta["uid"]}
        meta.update(namespace="argocd", uid="1f2e", resourceVersion=uuid.uuid4().hex, creationTimestamp=None)
        app.pop("kind")
        app.pop("apiVersion")
        return {**app, **changes}

    def joined(self, app):
        """An agent that has the Application."""
        self.hub.write("w1", app["metadata"]["name"], app)
        self.principal.start()
        agent = self.go_agent(version="v0.8.1")
        return agent, agent.event("create")

    def test_a_managed_application_lives_and_dies(self):
        agent, create = self.joined(application("a"))
        self.assertEqual(agent.said, {"version": "v0.8.1", "namespace": "argocd", "server": "argocd-agent-v0.8.1"})
        uid = data(create)["metadata"]["uid"]
        self.assertEqual((create["id"], create["source"], create["specversion"]), ("", "", "1.0"))
        self.assertEqual({k: v for k, v in create["kinds"].items() if v != 3}, {"dataschema": 5})
        self.assertEqual(create["subject"], "w1/a")
        self.assertEqual(create["datacontenttype"], "application/json")
        self.assertEqual(set(create["ext"]), {"resourceid", "eventid", "sentat", "principaluid"})
        self.assertEqual(create["ext"]["resourceid"], f"a_{uid}")
        self.assertRegex(create["ext"]["eventid"], f"^a_{uid}_.+")
        self.assertEqual(revision(data(create)), "1")
        status = {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}}
        agent.acked(agent.send("status-update", self.stored(create, status=status)))
        wait_for("the status is at the hub", lambda: self.hub.status("w1", "a") == status)
        self.hub.edit("w1", "a", lambda a: a["spec"]["source"].update(targetRevision="2"))
        update = agent.event("spec-update")
        self.assertEqual(revision(data(update)), "2")
        self.assertEqual(update["ext"]["resourceid"], f"a_{uid}")
        self.assertNotEqual(update["ext"]["eventid"], create["ext"]["eventid"])
        self.hub.remove("w1", "a")
        end = agent.event("delete")
        self.assertEqual(data(end)["metadata"], {"name": "a", "namespace": "w1", "uid": uid})
        self.assertEqual(end["ext"]["resourceid"], f"a_{uid}")

    def test_a_token_is_refreshed_and_a_ping_answered(self):
        agent, _ = self.joined(application("a"))

        def ask(what, token):
            agent.order(ask={"what": what, "token": token})
            return agent.wait("asked")
        self.assertEqual(ask("Ping", "access"), [])
        self.assertEqual(ask("RefreshToken", "refresh"), [1, 2])
        self.assertEqual(ask("Ping", "access"), [], "with the new token")
        for what, token in (("RefreshToken", "access"), ("RefreshToken", "none"), ("Ping", "refresh"), ("Ping", "none")):
            self.assertEqual(ask(what, token), "UNAUTHENTICATED", (what, token))
        self.assertEqual(ask("RefreshToken", "x" * 65536), "INVALID_ARGUMENT", "larger than any request")

    def test_what_is_asked_for_is_asked_of_the_agent(self):
        agent, create = self.joined(application("a"))
        self.hub.edit("w1", "a", lambda a: a.update(operation={"sync": {"revision": "abc"}}))
        asked = agent.event("set-operation")
        self.assertEqual(data(asked)["operation"], {"sync": {"revision": "abc"}})
        self.assertNotIn("principaluid", asked["ext"])
        self.assertNotIn("argobus.io", asked["data"])
        wait_for("the answer counts", lambda: self.principal.metric("argobus_events_received_total") >= 1)
        running = {"operationState": {"phase": "Running", "startedAt": "2026-01-02T03:04:05Z"}}
        agent.acked(agent.send("status-update", self.stored(create, status=running)))
        wait_for("it is taken off the hub", lambda: "operation" not in self.hub.read("w1", "a"))
        self.hub.set_status("w1", "a", {"operationState": dict(running["operationState"], phase="Terminating")})
        self.assertEqual(data(agent.event("terminate-operation"))["metadata"]["name"], "a")
        self.hub.edit("w1", "a", lambda a: a["metadata"].setdefault("annotations", {}).update({REFRESH: "hard"}))
        self.assertEqual(data(agent.event("spec-update"))["metadata"]["annotations"][REFRESH], "hard")

    def test_an_error_shows_until_the_next_status(self):
        agent, create = self.joined(application("a"))
        event = {"type": "error", "target": "application", "ext": {"resourceid": "x", "eventid": "x"},
                 "data": json.dumps({"resourceName": "a", "resourceNamespace": "argocd", "message": "not adopted"})}
        agent.order(event=event)
        agent.acked(event["ext"])
        wait_for("the hub shows it", lambda: "not adopted" in json.dumps(self.hub.status("w1", "a")))
        status = {"sync": {"status": "Synced"}}
        agent.acked(agent.send("status-update", self.stored(create, status=status)))
        wait_for("the hub shows it no more", lambda: self.hub.status("w1", "a") == status)

    def test_what_is_not_acknowledged_comes_again(self):
        self.principal.start()
        agent = self.go_agent(version="v0.8.1")
        agent.order(acks=False)
        self.hub.write("w1", "a", application("a"))
        first = agent.event("create")
        self.assertEqual(agent.event("create")["ext"], first["ext"])
        # One of a resource is under way at a time; others do not wait, and the newest takes its place.
        for value in ("2", "3"):
            self.hub.edit("w1", "a", lambda a, v=value: a["spec"]["source"].update(targetRevision=v))
        self.hub.write("w1", "b", application("b"))
        self.assertEqual(agent.event("create")["subject"], "w1/b")
        agent.order(acks=True, end=True)
        agent.wait("ended")
        agent.order(open=True)
        seen = agent.wait("event", lambda e: e["subject"] == "w1/a")
        newest = seen if revision(data(seen)) == "3" else agent.wait("event", lambda e: e["subject"] == "w1/a")
        self.assertEqual(revision(data(newest)), "3")

    def test_the_newer_of_two_agents_of_one_name_is_served(self):
        agent, _ = self.joined(application("a"))
        second = self.go_agent(version="v0.8.1")
        self.assertEqual(agent.wait("ended"), "ABORTED")
        self.hub.write("w1", "b", application("b"))
        self.assertEqual(second.event("create")["subject"], "w1/b")

    def test_what_cannot_be_used_is_acknowledged_and_holds_back_nothing(self):
        agent, create = self.joined(application("a"))
        for event in ({"type": "status-update", "target": "application", "data": "{"},
                      {"type": "status-update", "target": "application", "data": "{}"},
                      {"type": "create", "target": "application", "data": create["data"]},
                      {"type": "resync", "target": "resourceResync", "data": "{}"},
                      {"type": "response", "target": "resource", "data": "{}"},
                      {"type": "response-synced-resource", "target": "resourceResync", "data": "{}"},
                      {"type": "request-update", "target": "resourceResync", "data": "{}"},
                      {"type": "nonsense", "target": "nonsense"},
                      {"type": "cluster-cache-info-update", "target": "clusterCacheInfoUpdate",
                       "data": '{"applicationsCount":1,"apisCount":2,"resourcesCount":3}'}):
            event["ext"] = {"resourceid": uuid.uuid4().hex, "eventid": uuid.uuid4().hex}
            agent.order(event=event)
            agent.acked(event["ext"])
        agent.order(event={"type": "ping", "target": "heartbeat", "ext": {"resourceid": "p", "eventid": "p"}})
        # As other revisions of the SDK write it.
        status = {"sync": {"status": "Synced"}}
        event = {"type": "status-update", "target": "application", "schema": 3, "text": True,
                 "ext": {"resourceid": "a_1f2e", "eventid": "a_1f2e_9"},
                 "data": json.dumps(self.stored(create, status=status))}
        agent.order(event=event)
        agent.acked(event["ext"])
        wait_for("the status is at the hub", lambda: self.hub.status("w1", "a") == status)
        self.assertGreaterEqual(self.principal.metric("argobus_grpc_go_dropped_total"), 7)

    def request_update(self, agent, name, uid, checksum, kind="Application"):
        about = {"name": name, "namespace": "argocd", "uid": uid, "kind": kind, "checksum": checksum}
        agent.resync("request-update", about)

    def test_a_restarted_agent_is_brought_into_step(self):
        agent, create = self.joined(application("a"))
        uid = data(create)["metadata"]["uid"]
        self.assertEqual([e["type"] for e in agent.events("resourceResync")], ["request-resource-resync"])
        agent.acked(agent.send("status-update", self.stored(create, status={"sync": {"status": "Synced"}})))
        # Its copy is as it should be: nothing is sent. What it has else is deleted, what it lacks is sent.
        self.request_update(agent, "a", uid, checksum(data(create)["spec"]))
        self.request_update(agent, "ghost", "uid-of-ghost", checksum({"project": "default"}))
        end = agent.event("delete")
        self.assertEqual(data(end)["metadata"], {"name": "ghost", "namespace": "w1", "uid": "uid-of-ghost"})
        self.assertFalse([e for e in agent.events("application") if e["type"] != "delete" and e is not create])
        self.request_update(agent, "a", uid, checksum({"project": "other"}))
        again = agent.event("spec-update")
        self.assertEqual(revision(data(again)), "1")
        self.request_update(agent, "a", "", None)
        self.assertEqual(revision(data(agent.event("spec-update"))), "1")
        agent.resync("request-synced-resource-list", {"checksum": ""})
        told = agent.event("response-synced-resource", "resourceResync")
        self.assertEqual(data(told), {"name": "a", "namespace": "w1", "uid": uid, "kind": "Application"})

    def test_projects_and_keys_go_down_and_secrets_only_when_allowed(self):
        objects = Objects(self.hub)
        for document in (project("w1"), repository(), keys()):
            objects.write(document)
        self.principal.start()
        agent = self.go_agent(version="v0.8.1")
        got = {e["target"]: e for e in (agent.wait("event", lambda e: e["type"] == "spec-update") for _ in range(2))}
        self.assertEqual(set(got), {"appproject", "gpgkey"})
        self.assertEqual(data(got["appproject"])["spec"]["destinations"], [{"namespace": "*", **LOCAL}])
        self.assertNotIn("principaluid", got["gpgkey"]["ext"])
        wait_for("the Secret waits", lambda: self.principal.metric("argobus_secrets_waiting") == 1)
        self.extra = {"secrets": "clear"}
        self.principal.configure(self.principal_config())
        self.principal.process.send_signal(signal.SIGHUP)
        sent = agent.event("spec-update", "repository")
        self.assertEqual(data(sent)["data"], repository()["data"])
        self.assertEqual(data(sent)["kind"], "Secret")
        objects.remove("Secret", "repo")
        self.assertEqual(data(agent.event("delete", "repository"))["metadata"]["name"], "repo")


class AutonomousGoAgent(AtPrincipal):
    """... and so does an autonomous one."""

    mode = "autonomous"

    def go_app(self, name="a", value="1", version="1"):
        app = application(name, value, namespace="argocd", uid=f"uid-of-{name}", resourceVersion=version,
                          creationTimestamp=None)
        del app["kind"], app["apiVersion"]
        return app

    def is_mirrored(self, name, value):
        wait_for(f"{name} is {value} at the hub", lambda: revision(self.hub.read("w1", name)) == value)

    def join(self):
        self.principal.start()
        agent = self.go_agent(version="v0.8.1", mode="autonomous")
        agent.event("request-synced-resource-list", "resourceResync")
        return agent

    def test_its_applications_are_mirrored(self):
        agent = self.join()
        agent.acked(agent.send("create", self.go_app()))
        self.is_mirrored("a", "1")
        agent.acked(agent.send("spec-update", dict(self.go_app(value="2", version="2"), status={"sync": {}})))
        self.is_mirrored("a", "2")
        wait_for("its status is there", lambda: self.hub.status("w1", "a") == {"sync": {}})
        self.hub.edit("w1", "a", lambda a: a.update(operation={"sync": {"revision": "abc"}}))
        asked = data(agent.event("set-operation"))
        self.assertEqual(asked["operation"], {"sync": {"revision": "abc"}})
        self.assertEqual(asked["metadata"]["annotations"][SOURCE_UID], "uid-of-a")
        agent.acked(agent.send("delete", self.go_app(version="3")))
        wait_for("the mirror is gone", lambda: self.hub.read("w1", "a") is None)

    def test_what_it_pushes_counts_as_said_on_its_stream(self):
        agent = self.join()
        events = [made_event("create", self.go_app(name)) for name in ("a", "b")]
        agent.order(push=events)
        acks = [agent.event("processed", "eventProcessed") for _ in events]
        self.assertCountEqual([a["ext"] for a in acks], [e["ext"] for e in events])
        self.is_mirrored("a", "1")
        self.is_mirrored("b", "1")
        agent.order(push=[])
        agent.wait("pushed", lambda summary: summary == {})
        self.assertEqual([line["pushed"] for line in agent.seen if "pushed" in line], [{"2": 2}, {}])

    def test_grpc_go_pushes(self):
        agent = self.join()
        events = [made_event("create", self.go_app()), made_event("spec-update", self.go_app(value="2", version="2"))]
        agent.order(encode=events)
        messages = agent.wait("encoded")
        received = base64.b64encode(b"\x10\x02").decode()
        self.assertEqual(self.grpc_go_pushes(agent.seen[-1]["token"], messages), (0, received))
        self.is_mirrored("a", "2")
        code, why = self.grpc_go_pushes("no token", messages)
        self.assertEqual(code, 1)
        self.assertIn("Unauthenticated", why)

    def grpc_go_pushes(self, token, messages):
        """Its exit code, and what it was answered."""
        command = [GRPC_GO, "push", os.environ["AB_GRPC_CERTS"], str(self.grpc_port), "w1", token]
        run = subprocess.run(command, input="\n".join(messages), capture_output=True, text=True, timeout=WAIT_S,
                             check=False)
        return run.returncode, run.stdout.strip()

    def test_nothing_is_pushed_without_a_stream(self):
        agent = self.join()
        agent.order(end=True)
        agent.wait("ended")
        wait_for("the principal has seen it", lambda: self.principal.metric("argobus_peer_up") == 0)
        agent.order(push=[made_event("create", self.go_app())])
        self.assertEqual(agent.wait("refused"), "FAILED_PRECONDITION")
        agent.order(open=True)
        agent.wait("login")
        agent.order(push=[made_event("create", self.go_app())])
        self.assertEqual(agent.wait("pushed"), {"2": 1})
        self.is_mirrored("a", "1")

    def test_its_projects_are_mirrored(self):
        agent = self.join()
        team = project("in-cluster")
        team["metadata"].update(uid="uid-of-team", resourceVersion="1")
        del team["kind"], team["apiVersion"]
        agent.acked(agent.send("create", team, "appproject"))
        mirror = wait_for("it is mirrored", lambda: Objects(self.hub).read("AppProject", "w1-team"))
        self.assertEqual(mirror["spec"]["sourceNamespaces"], ["w1"])

    def test_a_principal_that_knows_nothing_asks_for_everything(self):
        agent = self.join()
        about = {"name": "a", "namespace": "argocd", "uid": "uid-of-a", "kind": "Application"}
        agent.resync("response-synced-resource", about)
        asked = agent.event("request-update", "resourceResync")
        self.assertEqual(data(asked), {**about, "uid": "", "checksum": None})
        app = self.go_app()
        agent.acked(agent.send("spec-update", app))
        self.is_mirrored("a", "1")
        # An agent that has restarted is told what the principal has of it.
        agent.resync("request-resource-resync", {})
        asked = agent.event("request-update", "resourceResync")
        self.assertEqual(data(asked), {**about, "checksum": checksum(app["spec"])})
        asked = [e for e in agent.events("resourceResync") if e["type"] == "request-synced-resource-list"][-1]
        everything = hashlib.sha256(b"Application/a/uid-of-a").digest()
        self.assertEqual(data(asked)["checksum"], base64.b64encode(everything).decode())


class AtAgent(Dialect):
    """An argobus agent, which joins argocd-agent's principal."""

    mode = "managed"
    extra = {}

    def agent_config(self):
        config = dict(super().agent_config(), **self.extra)
        config["grpc"]["peer-version"] = "v0.8.1"
        config["agent"]["mode"] = self.mode
        return config

    @staticmethod
    def go_app(name, value="1", version="1", **more):
        """As a typed object of Go is written: without kind."""
        app = application(name, value, uid=f"uid-of-{name}", resourceVersion=version)
        del app["kind"], app["apiVersion"]
        return {**app, **more}

    def start_both(self):
        principal = self.go("principal", version="v0.8.1")
        principal.wait("listening")
        self.agent.start()
        principal.said = principal.wait("login")
        principal.wait("subscribed")
        return principal


class GoPrincipal(AtAgent):
    """A managed argobus agent."""

    def bring(self, principal, app):
        principal.acked(principal.send("create", app, principaluid="the-hub"))
        self.arrives(app["metadata"]["name"], revision(app))

    def test_a_managed_application_lives_and_dies(self):
        principal = self.start_both()
        self.assertEqual(principal.said, {"method": "mtls", "mode": "managed", "version": "v0.8.1",
                                          "namespace": "argocd"})
        self.bring(principal, self.go_app("a"))
        marks = self.spoke.read("argocd", "a")["metadata"]["annotations"]
        self.assertEqual((marks[SOURCE_UID], marks["argocd.argoproj.io/principal-uid"]), ("uid-of-a", "the-hub"))
        status = {"sync": {"status": "Synced"}}
        self.spoke.set_status("argocd", "a", status)
        report = principal.wait("event", lambda e: e["type"] == "status-update" and data(e).get("status") == status)
        self.assertEqual((report["id"], report["source"]), ("", "agent://agent-managed"))
        self.assertEqual({k: v for k, v in report["kinds"].items() if v != 3}, {"dataschema": 5})
        self.assertEqual(data(report)["metadata"]["annotations"][SOURCE_UID], "uid-of-a")
        self.assertRegex(report["ext"]["resourceid"], "^a_.+")
        self.assertTrue(report["ext"]["eventid"].startswith(report["ext"]["resourceid"] + "_"))
        principal.acked(principal.send("spec-update", self.go_app("a", "2", "2"), principaluid="the-hub"))
        self.arrives("a", "2")
        principal.acked(principal.send("delete", self.go_app("a", "2", "3"), principaluid="the-hub"))
        wait_for("it is gone at the agent", lambda: self.spoke.read("argocd", "a") is None)

    def test_a_request_that_comes_twice_is_carried_out_once(self):
        principal = self.start_both()
        self.bring(principal, self.go_app("a"))
        asked = self.go_app("a", version="2", operation={"sync": {"revision": "abc"}})
        principal.acked(principal.send("set-operation", asked))
        self.assertEqual(self.spoke.read("argocd", "a")["operation"], {"sync": {"revision": "abc"}})
        self.spoke.edit("argocd", "a", lambda a: a.pop("operation"))
        principal.acked(principal.send("set-operation", asked))
        self.assertNotIn("operation", self.spoke.read("argocd", "a"))
        refreshed = self.go_app("a", version="3")
        refreshed["metadata"]["annotations"] = {REFRESH: "hard"}
        principal.acked(principal.send("spec-update", refreshed))
        self.assertEqual(self.spoke.read("argocd", "a")["metadata"]["annotations"][REFRESH], "hard")
        running = {"operationState": {"phase": "Running", "startedAt": "2026-01-02T03:04:05Z"}}
        self.spoke.set_status("argocd", "a", running)
        wait_for("the status is stored", lambda: self.spoke.status("argocd", "a") == running)
        principal.acked(principal.send("terminate-operation", self.go_app("a", version="4", status=running)))
        self.assertEqual(self.spoke.status("argocd", "a")["operationState"]["phase"], "Terminating")

    def test_an_agent_shows_the_version_that_it_is_told_to_show(self):
        principal = self.go("principal", version="v9")
        principal.wait("listening")
        self.agent.start(ready=False)
        self.assertEqual(principal.wait("login")["version"], "v0.8.1")
        wait_for("the log says why", lambda: "version mismatch" in self.agent.log.read_text())

    def test_projects_and_repositories_arrive(self):
        principal = self.start_both()
        team = {"metadata": {"name": "team", "namespace": "argocd", "uid": "u1", "resourceVersion": "1"},
                "spec": {"sourceRepos": ["*"], "destinations": [{"namespace": "*", **LOCAL}]}}
        principal.acked(principal.send("create", team, "appproject", principaluid="the-hub"))
        there = Objects(self.spoke)
        self.assertEqual(there.read("AppProject", "team")["spec"], team["spec"])
        repo = repository()
        repo["metadata"].update(uid="u2", resourceVersion="1")
        del repo["kind"], repo["apiVersion"]
        # Unsealed: only where that was asked for.
        principal.acked(principal.send("create", repo, "repository", principaluid="the-hub"))
        self.assertIsNone(there.read("Secret", "repo"))
        self.assertIn("secrets.protection", self.agent.log.read_text())
        self.agent.stop()
        self.extra = {"secrets": {"protection": "none"}}
        self.agent.configure(self.agent_config())
        self.agent.start()
        repo["metadata"]["resourceVersion"] = "2"
        principal.acked(principal.send("spec-update", repo, "repository", principaluid="the-hub"))
        self.assertEqual(there.read("Secret", "repo")["data"], repo["data"])
        principal.acked(principal.send("delete", team, "appproject", principaluid="the-hub"))
        wait_for("the project is gone", lambda: there.read("AppProject", "team") is None)

    def test_an_agent_tells_what_it_has_and_what_is_gone_is_deleted(self):
        principal = self.start_both()
        for name in ("a", "b"):
            self.bring(principal, self.go_app(name))
        self.agent.stop()
        self.agent.start()
        empty = base64.b64encode(hashlib.sha256(b"").digest()).decode()
        self.assertEqual(data(principal.event("request-synced-resource-list", "resourceResync")), {"checksum": empty})
        # It asks about what the list has; and about what it has itself, once it hears whose it is.
        about = {"name": "a", "namespace": "w1", "uid": "uid-of-a", "kind": "Application"}
        principal.resync("response-synced-resource", about)
        asked = principal.event("request-update", "resourceResync")
        self.assertEqual(data(asked), {**about, "uid": "", "checksum": None})
        principal.acked(principal.send("spec-update", self.go_app("a", "2", "2"), principaluid="the-hub"))
        asked = principal.wait("event", lambda e: e["type"] == "request-update" and data(e)["name"] == "b")
        principal.acked(principal.send("delete", self.go_app("b"), principaluid="the-hub"))
        wait_for("b is gone", lambda: self.spoke.read("argocd", "b") is None)
        self.arrives("a", "2")
        # The principal has restarted.
        principal.resync("request-resource-resync", {})
        asked = principal.wait("event", lambda e: e["type"] == "request-update" and data(e)["checksum"])
        self.assertEqual(data(asked), {**about, "checksum": checksum(self.go_app("a", "2")["spec"])})


class AutonomousAtGoPrincipal(AtAgent):
    """An autonomous argobus agent."""

    mode = "autonomous"

    def test_it_publishes_and_publishes_again_what_the_principal_has_otherwise(self):
        self.spoke.write("argocd", "a", application("a", namespace="argocd"))
        principal = self.start_both()
        create = principal.event("create")
        self.assertEqual(revision(data(create)), "1")
        uid = data(create)["metadata"]["uid"]
        self.assertEqual([e["type"] for e in principal.events("resourceResync")], ["request-resource-resync"])
        self.spoke.edit("argocd", "a", lambda a: a["spec"]["source"].update(targetRevision="2"))
        update = principal.event("spec-update")
        self.assertEqual(update["ext"]["resourceid"], f"a_{uid}")
        about = {"name": "a", "namespace": "argocd", "uid": uid, "kind": "Application"}
        principal.resync("request-update", {**about, "checksum": checksum({"project": "other"})})
        again = principal.wait("event", lambda e: e["target"] == "application")
        self.assertEqual((data(again)["spec"], again["ext"]["resourceid"]), (data(update)["spec"], f"a_{uid}"))
        principal.resync("request-synced-resource-list", {"checksum": checksum({})})
        self.assertEqual(data(principal.event("response-synced-resource", "resourceResync")), about)
        self.spoke.remove("argocd", "a")
        self.assertEqual(data(principal.event("delete"))["metadata"]["uid"], uid)


if __name__ == "__main__":
    unittest.main()
