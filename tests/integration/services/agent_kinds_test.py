#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent and the kinds that are not Applications, and destination mapping: spoken to event by event, as a principal
would, sealed with openssl."""
import base64
import hashlib
import itertools
import json
import os
import pathlib
import subprocess
import unittest

import yaml

from daemons import Fleet, application, kcat, read_yaml, wait_for

EVENT = "io.argoproj.argocd-agent.event."
TARGETS = {"Application": "application", "AppProject": "appproject", "Secret": "repository", "ConfigMap": "gpgkey"}
REPOSITORY = {"argocd.argoproj.io/secret-type": "repository"}
TESTS = pathlib.Path(__file__).parents[2]
PASSWORD = base64.b64encode(b"hunter2").decode()


def manifest(kind, name, namespace="hub", labels=None, **rest):
    return {"apiVersion": "v1", "kind": kind, **rest,
            "metadata": {"name": name, "namespace": namespace, "uid": f"{kind}-{name}", "labels": labels or {}}}


def key_of(obj):
    return f"{obj['kind']}/{obj['metadata']['namespace']}/{obj['metadata']['name']}"


class Records(Fleet):
    def setUp(self):
        super().setUp()
        self.version = itertools.count(1)
        if self.transport == "grpc":
            self.play_principal()
            return
        self.principal.start()  # makes the topics
        self.principal.stop()

    def play_principal(self):
        script = TESTS / "integration/grpc/argobus_principal.py"
        version = subprocess.run([self.agent.program, "--version"], check=True, capture_output=True, text=True).stdout
        self.played = subprocess.Popen(
            [TESTS / "support/grpc/python", script, os.environ["AB_GRPC_CERTS"], str(self.grpc_port),
             version.split()[-1]], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.addCleanup(self.end_played)

    def end_played(self):
        self.played.stdin.close()
        self.played.wait(120)

    def send(self, key, kind, version=None, data=None, remapped=False):
        """One event; without data a tombstone."""
        event = {"id": f"{key}-{version}", "type": "delete" if data is None else "create", "target": TARGETS[kind],
                 "subject": key.split("/", 1)[1], "data": json.dumps(data) if data else None,
                 "ext": {"partitionkey": key, "principaluid": "p-1", "writerepoch": "9999999999999999",
                         "objversion": str(version or next(self.version))}}
        if remapped:
            event["ext"]["namespaceremapped"] = "true"
        if self.transport == "grpc":
            print(json.dumps({"event": event}), file=self.played.stdin, flush=True)
        else:
            self.write_record(key, event)

    def write_record(self, key, event):
        """Returns once the broker has it."""
        headers = {"specversion": "1.0", "id": event["id"], "source": "/principal", "type": EVENT + event["type"],
                   "dataschema": event["target"], "subject": event["subject"], **event["ext"]}
        options = [option for name, value in headers.items() for option in ("-H", f"ce_{name}={value}")]
        kcat("-P", "-t", f"{self.prefix}.down.w1.state", "-K", "\t", "-Z", "-H", "content-type=application/json",
             *options, input=f"{key}\t{event['data'] or ''}\n")

    def wish(self, obj, **more):
        self.send(key_of(obj), obj["kind"], data=obj, **more)

    def end(self, obj, **more):
        self.send(key_of(obj), obj["kind"], **more)

    def path(self, kind, name, namespace="argocd"):
        return self.folder / "w1" / namespace / kind / f"{name}.yaml"

    def local(self, kind, name, namespace="argocd"):
        return read_yaml(self.path(kind, name, namespace))

    def stands(self, kind, name, namespace="argocd", **fields):
        def as_wished():
            obj = self.local(kind, name, namespace)
            return obj and all(obj.get(field) == value for field, value in fields.items()) and obj
        return wait_for(f"{kind} {name} is as wished", as_wished)

    def rests(self):
        wait_for("every event is dealt with", lambda: self.agent.metric("argobus_unsettled") == 0)


class Kinds(Records):
    def agent_config(self):
        return dict(super().agent_config(), secrets={"protection": "none"})

    def test_all_kinds_are_placed_followed_and_removed(self):
        self.agent.start()
        kinds = [("AppProject", "p", None, "spec"), ("Secret", "r", REPOSITORY, "data"),
                 ("ConfigMap", "argocd-gpg-keys-cm", None, "data")]
        for kind, name, labels, member in kinds:
            with self.subTest(kind):
                self.wish(manifest(kind, name, labels=labels, **{member: {"k": "b25l"}}))
                placed = self.stands(kind, name, **{member: {"k": "b25l"}})
                self.assertEqual(placed["metadata"]["annotations"]["argocd.argoproj.io/source-uid"], f"{kind}-{name}")
                placed[member] = {"k": "dGFtcGVyZWQ="}
                self.path(kind, name).write_text(yaml.safe_dump(placed))
                self.stands(kind, name, **{member: {"k": "b25l"}})
                self.wish(manifest(kind, name, labels=labels, **{member: {"k": "dHdv"}}))
                self.stands(kind, name, **{member: {"k": "dHdv"}})
                self.end(manifest(kind, name))
                wait_for("it is gone", lambda: self.local(kind, name) is None)
        self.rests()

    def test_what_was_deleted_while_the_agent_was_down_comes_back(self):
        self.agent.start()
        self.wish(manifest("AppProject", "p", spec={"n": 1}))
        self.stands("AppProject", "p", spec={"n": 1})
        self.agent.stop()
        self.path("AppProject", "p").unlink()
        self.agent.start()
        self.stands("AppProject", "p", spec={"n": 1})


class Sealed(Records):
    def agent_config(self):
        self.cert, self.key = self.folder / "w1.crt", self.folder / "w1.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=w1", "-days", "1",
                        "-keyout", self.key, "-out", self.cert], check=True, stderr=subprocess.DEVNULL)
        return dict(super().agent_config(), secrets={"certificate": str(self.cert), "key": str(self.key)})

    def sealed(self, version, name="r", agent="w1", bound=True):
        """A repository Secret as a principal sends it in the event of this version; not bound: of the first form."""
        clear = manifest("Secret", name, labels=REPOSITORY, type="Opaque")
        canonical = json.dumps(clear, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        content = {"agent": agent, "key": f"Secret/hub/{name}", "version": f"9999999999999999.{version}",
                   "payload": json.dumps({"data": {"password": PASSWORD}})}
        if bound:
            content["context"] = hashlib.sha256(canonical).hexdigest()[:32]
        der = subprocess.run(["openssl", "cms", "-encrypt", "-binary", "-aes-256-gcm", "-outform", "DER", "-recip",
                              self.cert, "-keyopt", "rsa_padding_mode:oaep", "-keyopt", "rsa_oaep_md:sha256"],
                             input=json.dumps(content).encode(), check=True, capture_output=True).stdout
        return {**clear, "sealed": base64.b64encode(der).decode()}

    def test_a_sealed_secret_is_opened_when_placed_and_nowhere_else(self):
        self.agent.start()
        self.wish(self.sealed(7), version=7)
        placed = self.stands("Secret", "r", data={"password": PASSWORD})
        self.assertNotIn("sealed", placed)
        self.agent.stop()
        self.path("Secret", "r").unlink()
        self.agent.start()
        self.stands("Secret", "r", data={"password": PASSWORD})
        self.agent.stop()
        for kept in [self.agent.log, *(self.folder / "agent" / "data").iterdir()]:
            self.assertNotIn(PASSWORD.encode(), kept.read_bytes(), kept)

    def test_what_is_sealed_for_another_event_or_not_at_all_is_left_out(self):
        self.agent.start()
        self.wish({**self.sealed(5, "type"), "type": "kubernetes.io/tls"}, version=5)
        self.wish(self.sealed(6, "former", bound=False), version=6)
        self.stands("Secret", "former", data={"password": PASSWORD})
        self.assertIsNone(self.local("Secret", "type"))
        self.wish(self.sealed(7), version=8)
        self.wish(manifest("Secret", "clear", labels=REPOSITORY, data={"password": PASSWORD}), version=9)
        self.wish(self.sealed(10, "good"), version=10)
        self.stands("Secret", "good", data={"password": PASSWORD})
        self.assertIsNone(self.local("Secret", "r"))
        self.assertIsNone(self.local("Secret", "clear"))
        self.assertEqual(self.agent.metric("argobus_events_refused_total"), 1)
        self.assertEqual(self.agent.metric("argobus_set_aside_total"), 2)


class Destinations(Records):
    def agent_config(self):
        return dict(super().agent_config(), mapping="destination", namespaces=["team-*"])

    def test_applications_stand_where_they_are_mapped_and_allowed(self):
        self.agent.start()
        for namespace in ("team-a", "kube-system"):
            self.wish(application("a", namespace=namespace, uid=namespace))
        self.wish(application("a", namespace="hub", uid="own"), remapped=True)
        self.stands("Application", "a", namespace="team-a")
        own = self.stands("Application", "a")
        self.assertEqual(own["metadata"]["annotations"]["argocd.argoproj.io/namespace-remapped"], "true")
        self.rests()
        self.assertIsNone(self.local("Application", "a", "kube-system"))
        self.end(application("a", namespace="hub"), remapped=True)
        wait_for("it is gone", lambda: self.local("Application", "a") is None)
        self.assertIsNotNone(self.local("Application", "a", "team-a"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
