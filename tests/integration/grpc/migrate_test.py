# SPDX-License-Identifier: Apache-2.0
"""Walks docs/migrate-from-argocd-agent.md both ways, with its configurations and its commands: an argocd-agent, which
go_peer.py plays, is at the other end until it is its turn."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import yaml

from daemons import application, free_port, revision, wait_for
from compat_test import SOURCE_UID, Dialect, data
from documented import commands

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/migrate-from-argocd-agent.md"
YAML = re.compile(r"^```yaml\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
VERSION = "v0.10.0"  # as the page has it


class Migrate(Dialect):
    """The page's places become those of the test: folders, ports, and a folder for a cluster."""

    def setUp(self):
        self.page = PAGE.read_text(encoding="utf-8")
        self.left = commands("docs/migrate-from-argocd-agent.md")  # to be run
        self.ports = {"8080": free_port(), "8081": free_port()}
        super().setUp()
        for name in ("ca", "server", "w1"):
            for end in ("crt", "key"):
                source = pathlib.Path(os.environ["AB_GRPC_CERTS"], f"{name}.{end}")
                if source.exists():
                    shutil.copy(source, self.folder)

    def configuration(self, what, cluster, data_folder):
        [block] = [b for b in YAML.findall(self.page) if what in b]
        config = yaml.safe_load(block)
        config["store"] = {**config["store"], "kind": "directory", "directory": {"path": str(cluster)}}
        config["grpc"]["tls"] = {key: str(self.folder / name) for key, name in config["grpc"]["tls"].items()}
        for place, name in (("listen", f"127.0.0.1:{self.grpc_port}"), ("address", f"localhost:{self.grpc_port}")):
            if place in config["grpc"]:
                config["grpc"][place] = name
        data_folder.mkdir(parents=True, exist_ok=True)
        config["principal" if "principal" in config else "agent"]["data"] = str(data_folder)
        return config

    def principal_config(self):
        return self.configuration("listen:", self.folder / "hub", self.folder / "principal" / "data")

    def agent_config(self):
        return self.configuration("address: principal", self.folder / "w1", self.folder / "agent" / "data")

    def daemon(self, daemon, port):
        config = self.principal_config() if daemon is self.principal else self.agent_config()
        daemon.configure(config, f"127.0.0.1:{self.ports[port]}")
        return daemon

    def run_page(self, text):
        """The commands that contain this, and what they must show."""
        blocks = [block for block in self.left if text in block.text]
        self.assertTrue(blocks, text)
        self.left = [block for block in self.left if block not in blocks]
        shutil.copy(self.principal.config, self.folder / "principal.yaml")
        env = dict(os.environ, PATH=os.environ["AB_BIN"] + ":" + os.environ["PATH"])
        for block in blocks:
            command = block.text
            for port, real in self.ports.items():
                command = command.replace(f"localhost:{port}", f"localhost:{real}")
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=self.folder, env=env,
                                  capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
            for line in block.output.splitlines():
                self.assertIn(line, done.stdout.splitlines(), command)

    def stored_by_go(self, event):
        """The agent's cluster after an argocd-agent has dealt with the event."""
        app = data(event)
        meta = app["metadata"]
        meta["annotations"] = {SOURCE_UID: meta["uid"],
                               "argocd.argoproj.io/principal-uid": event["ext"]["principaluid"]}
        meta.update(namespace="argocd")
        del meta["uid"], meta["creationTimestamp"]
        app["spec"]["destination"] = {"name": "in-cluster", "namespace": "default"}
        self.spoke.write("argocd", meta["name"], app)

    def test_the_principal_first_then_the_agent_and_back(self):
        self.hub.write("w1", "a", application("a"))
        self.run_page("openssl x509")
        self.daemon(self.principal, "8080")
        self.run_page("--check-config")
        self.principal.start()
        agent = self.go_agent(version=VERSION)
        self.assertEqual(agent.said["version"], VERSION)
        self.stored_by_go(agent.event("create"))
        wait_for("the agent is there", lambda: self.principal.metric("argobus_peer_up") == 1)
        self.run_page("argobus_peer_up")
        agent.stop()
        # The agent's turn: what it finds it takes for its own.
        self.daemon(self.agent, "8081").start()
        self.run_page("readyz")
        self.assertEqual(self.left, [])
        self.hub.edit("w1", "a", lambda a: a["spec"]["source"].update(targetRevision="2"))
        self.arrives("a", "2")
        uid = self.spoke.sidecar("argocd", "a")["uid"]
        self.spoke.set_status("argocd", "a", {"sync": {"status": "Synced"}})
        wait_for("the status is at the hub", lambda: self.hub.status("w1", "a") == {"sync": {"status": "Synced"}})
        # Back.
        self.agent.stop()
        agent = self.go_agent(version=VERSION)
        self.assertEqual(revision(data(agent.wait("event", lambda e: e["subject"] == "w1/a"))), "2")
        self.assertEqual(self.spoke.sidecar("argocd", "a")["uid"], uid)
        self.assertEqual(self.spoke.read("argocd", "a")["metadata"]["annotations"][SOURCE_UID],
                         self.hub.sidecar("w1", "a")["uid"])

    def test_the_agent_first_then_the_principal_and_back(self):
        # The hub's objects, and what argocd-agent's principal says of them.
        self.hub.write("w1", "a", application("a"))
        self.daemon(self.principal, "8080").start()
        identity = self.identity()
        uid = wait_for("the object has a uid", lambda: self.hub.sidecar("w1", "a").get("uid"))
        self.principal.stop()
        app = application("a", uid=uid, resourceVersion="1")
        principal = self.go("principal", version=VERSION)
        principal.wait("listening")
        self.daemon(self.agent, "8081").start()
        self.run_page("readyz")
        principal.acked(principal.send("create", app, principaluid=identity))
        self.arrives("a", "1")
        local = self.spoke.sidecar("argocd", "a")["uid"]
        # The principal's turn.
        principal.stop()
        self.hub.edit("w1", "a", lambda a: a["spec"]["source"].update(targetRevision="2"))
        self.principal.start()
        wait_for("the agent has come", lambda: self.principal.metric("argobus_peer_up") == 1)
        self.run_page("argobus_peer_up")
        self.arrives("a", "2")
        # Back.
        self.principal.stop()
        principal = self.go("principal", version=VERSION)
        principal.wait("subscribed")
        app["metadata"]["resourceVersion"] = "3"
        app["spec"]["source"]["targetRevision"] = "3"
        principal.acked(principal.send("spec-update", app, principaluid=identity))
        self.arrives("a", "3")
        self.assertEqual(self.spoke.sidecar("argocd", "a")["uid"], local)

    def identity(self):
        path = self.hub.folder / "argocd" / "ConfigMap" / "argocd-agent-principal-identity.yaml"
        wait_for("the principal has an identity", path.exists)
        return yaml.safe_load(path.read_text())["data"]["principal-uid"]


if __name__ == "__main__":
    unittest.main()
