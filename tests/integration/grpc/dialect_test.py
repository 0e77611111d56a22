# SPDX-License-Identifier: Apache-2.0
"""argobus with an argocd-agent at the other end: go_peer.py, which speaks its wire, plays it."""
import json
import os
import pathlib
import queue
import subprocess
import threading
import unittest
import uuid

from daemons import Fleet, application, revision, wait_for

HERE = pathlib.Path(__file__).parent
PYTHON = HERE.parent.parent / "support" / "grpc" / "python"
WAIT_S = 60


class GoPeer:
    """One process of go_peer.py, and what it has said."""

    def __init__(self, role, port, **settings):
        command = [PYTHON, HERE / "go_peer.py", role, os.environ["AB_GRPC_CERTS"], str(port), json.dumps(settings)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        self.seen = []
        self.counts = {}
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
        while True:
            line = next_line()
            if what in line and (condition is None or condition(line[what])):
                return line[what]

    def event(self, kind, target="application", **ext):
        return self.wait("event", lambda e: e["type"] == kind and e["target"] == target and
                         all(e["ext"].get(k) == v for k, v in ext.items()))

    def send(self, kind, obj, target="application", eventid=None, **more):
        meta = obj["metadata"]
        resource = f"{meta['name']}_{meta['uid']}"
        eventid = eventid or f"{resource}_{meta.get('resourceVersion', uuid.uuid4().hex)}"
        ext = {"resourceid": resource, "eventid": eventid, "sentat": "2026-01-02T03:04:05.678901234Z", **more}
        event = {"type": kind, "target": target, "subject": f"{meta['namespace']}/{meta['name']}", "ext": ext,
                 "data": json.dumps(obj)}
        self.order(event=event)
        return ext

    def acked(self, ext):
        """All extensions come back."""
        got = self.wait("event", lambda e: e["type"] == "processed" and e["ext"].get("eventid") == ext["eventid"])
        assert got["ext"] == ext and got["target"] == "eventProcessed" and got["data"] is None, got
        return got

    def stop(self):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


def data(event):
    return json.loads(event["data"])


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


class GoAgent(Dialect):
    """An argocd-agent joins an argobus principal."""

    def principal_config(self):
        config = super().principal_config()
        config["grpc"]["peer-version"] = "v0.8.1"
        return config

    def stored(self, event, **changes):
        """What the agent's cluster has of what it was told."""
        app = data(event)
        meta = app["metadata"]
        meta["annotations"] = {**meta.get("annotations", {}), "argocd.argoproj.io/source-uid": meta["uid"]}
        meta.update(namespace="argocd", uid="1f2e", resourceVersion="7", creationTimestamp=None)
        app.pop("kind")
        app.pop("apiVersion")
        return {**app, **changes}

    def test_a_managed_application_lives_and_dies(self):
        self.hub.write("w1", "a", application("a"))
        self.principal.start()
        agent = self.go_agent(version="v0.8.1")
        self.assertEqual(agent.said, {"version": "v0.8.1", "namespace": "argocd", "server": "argocd-agent-v0.8.1"})
        create = agent.event("create")
        app = data(create)
        uid = app["metadata"]["uid"]
        self.assertEqual((create["id"], create["source"], create["specversion"]), ("", "", "1.0"))
        self.assertEqual({k: v for k, v in create["kinds"].items() if v != 3}, {"dataschema": 5})
        self.assertEqual(create["subject"], "w1/a")
        self.assertEqual(create["datacontenttype"], "application/json")
        self.assertEqual(set(create["ext"]), {"resourceid", "eventid", "sentat", "principaluid"})
        self.assertEqual(create["ext"]["resourceid"], f"a_{uid}")
        self.assertRegex(create["ext"]["eventid"], f"^a_{uid}_.+")
        self.assertEqual(revision(app), "1")
        # Its status reaches the hub.
        status = {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}}
        agent.acked(agent.send("status-update", self.stored(create, status=status)))
        wait_for("the status is at the hub", lambda: self.hub.status("w1", "a") == status)
        # A newer wish goes down as an update.
        self.hub.edit("w1", "a", lambda a: a["spec"]["source"].update(targetRevision="2"))
        update = agent.event("spec-update")
        self.assertEqual(revision(data(update)), "2")
        self.assertEqual(update["ext"]["resourceid"], f"a_{uid}")
        self.assertNotEqual(update["ext"]["eventid"], create["ext"]["eventid"])
        self.hub.remove("w1", "a")
        end = agent.event("delete")
        self.assertEqual(data(end)["metadata"], {"name": "a", "namespace": "w1", "uid": uid})
        self.assertEqual(end["ext"]["resourceid"], f"a_{uid}")


class GoPrincipal(Dialect):
    """An argobus agent joins an argocd-agent principal."""

    def agent_config(self):
        config = super().agent_config()
        config["grpc"]["peer-version"] = "v0.8.1"
        return config

    def go_app(self, name, value="1", version="1", **metadata):
        """As a typed object of Go is written: without kind."""
        app = application(name, value, uid=f"uid-of-{name}", resourceVersion=version, **metadata)
        del app["kind"], app["apiVersion"]
        return app

    def start_both(self):
        principal = self.go("principal", version="v0.8.1")
        principal.wait("listening")
        self.agent.start()
        principal.said = principal.wait("login")
        principal.wait("subscribed")
        return principal

    def test_a_managed_application_lives_and_dies(self):
        principal = self.start_both()
        self.assertEqual(principal.said, {"method": "mtls", "mode": "managed", "version": "v0.8.1",
                                          "namespace": "argocd"})
        app = self.go_app("a")
        principal.acked(principal.send("create", app, principaluid="the-hub"))
        self.arrives("a", "1")
        marks = self.spoke.read("argocd", "a")["metadata"]["annotations"]
        self.assertEqual(marks["argocd.argoproj.io/source-uid"], "uid-of-a")
        self.assertEqual(marks["argocd.argoproj.io/principal-uid"], "the-hub")
        status = {"sync": {"status": "Synced"}}
        self.spoke.set_status("argocd", "a", status)
        report = principal.wait("event", lambda e: e["type"] == "status-update" and data(e).get("status") == status)
        self.assertEqual((report["id"], report["source"]), ("", "agent://agent-managed"))
        self.assertEqual({k: v for k, v in report["kinds"].items() if v != 3}, {"dataschema": 5})
        self.assertEqual(data(report)["metadata"]["annotations"]["argocd.argoproj.io/source-uid"], "uid-of-a")
        self.assertRegex(report["ext"]["resourceid"], "^a_.+")
        self.assertTrue(report["ext"]["eventid"].startswith(report["ext"]["resourceid"] + "_"))
        principal.acked(principal.send("spec-update", self.go_app("a", "2", "2"), principaluid="the-hub"))
        self.arrives("a", "2")
        principal.acked(principal.send("delete", self.go_app("a", "2", "3"), principaluid="the-hub"))
        wait_for("it is gone at the agent", lambda: self.spoke.read("argocd", "a") is None)


if __name__ == "__main__":
    unittest.main()
