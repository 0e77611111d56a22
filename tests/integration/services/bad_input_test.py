#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people get wrong: each is named, and nothing else waits for it or is lost by it."""
import os
import subprocess
import re
import unittest

from daemons import Daemon, Fleet, Tree, application, only_kafka, revision, wait_for


class BadManifests(Fleet):
    def test_a_broken_manifest_at_the_hub_harms_no_other_and_is_no_deletion(self):
        for name in ("good", "broken"):
            self.hub.write("w1", name, application(name))
        self.start()
        self.arrives("broken", "1")
        self.principal.stop()
        self.hub.path("w1", "broken").write_text("spec: {a: [1\n")
        self.hub.edit("w1", "good", lambda a: a["spec"]["source"].update(targetRevision="2"))
        self.principal.start()
        self.arrives("good", "2")
        wait_for("it is counted", lambda: self.principal.metric("argobus_store_faults_total") >= 1)
        wait_for("it is named", lambda: "w1/Application/broken.yaml" in self.principal.log.read_text())
        self.assertIsNotNone(self.spoke.read("argocd", "broken"))
        self.hub.write("w1", "broken", application("broken", "2"))
        self.arrives("broken", "2")

    def test_an_annotation_that_yaml_takes_for_a_number_is_named(self):
        app = application("app", annotations={"quoted": "4000", "unquoted": 4000}, labels={"flag": True})
        self.hub.write("w1", "app", app)
        self.start()
        self.arrives("app", "1")
        for name in ("flag", "unquoted"):
            said = f"is not a string.*object=Application/w1/app name={name}"
            wait_for(f"{name} is named", lambda said=said: re.search(said, self.principal.log.read_text()))
        self.assertNotIn("name=quoted", self.principal.log.read_text())

    def test_a_manifest_broken_at_the_agent_is_reported_at_the_hub(self):
        self.hub.write("w1", "app", application("app"))
        self.start()
        self.arrives("app", "1")
        self.agent.stop()
        self.spoke.path("argocd", "app").write_text("spec: {a: [1\n")
        self.agent.start()
        status = wait_for("the hub says so", lambda: self.hub.status("w1", "app"))
        self.assertIn("YAML line 2", status["conditions"][0]["message"])
        self.spoke.remove("argocd", "app")
        self.arrives("app", "1")

    def test_an_application_too_large_to_send_is_told_so_and_nothing_waits(self):
        self.principal.start("--set", f"{self.transport}.message-max=128KiB")
        self.agent.start("--set", f"{self.transport}.message-max=128KiB")
        big = application("big")
        big["spec"]["source"]["helm"] = {"values": os.urandom(100_000).hex()}
        self.hub.write("w1", "big", big)
        self.hub.write("w1", "small", application("small"))
        self.arrives("small", "1")
        status = wait_for("the hub says so", lambda: self.hub.status("w1", "big"))
        self.assertEqual(status["conditions"][0]["type"], "AgentError")
        del big["spec"]["source"]["helm"]
        self.hub.write("w1", "big", big)
        self.arrives("big", "1")
        wait_for("the condition is gone", lambda: not self.hub.status("w1", "big").get("conditions"))


@only_kafka("over gRPC the older of two streams is ended: grpc_test.py")
class TwoOfOneName(Fleet):
    """A second agent that is called w1 too, in a cluster of its own."""

    def setUp(self):
        super().setUp()
        self.spoke2 = Tree(self.folder / "second")
        (self.folder / "agent2" / "data").mkdir(parents=True)
        config = dict(self.agent_config(), agent={"name": "w1", "data": str(self.folder / "agent2" / "data")},
                      store={"kind": "directory", "namespace": "argocd",
                             "directory": {"path": str(self.folder / "second")}})
        self.second = Daemon("argobus-agent", self.folder / "agent2", config)
        self.addCleanup(self.second.kill)

    def test_the_newer_one_displaces_the_older_which_continues_when_it_has_gone(self):
        quick = ("--set", "transport.heartbeat=1s")
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.principal.start(*quick)
        self.agent.start(*quick)
        self.arrives("guestbook", "1")
        self.second.start(*quick)
        wait_for("it is said", lambda: "duplicate agent name" in self.agent.log.read_text())
        wait_for("it is not ready", lambda: not self.agent.is_ready())
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="2"))
        wait_for("the newer one goes on", lambda: revision(self.spoke2.read("argocd", "guestbook")) == "2")
        self.assertEqual(revision(self.spoke.read("argocd", "guestbook")), "1")
        self.second.kill()
        self.arrives("guestbook", "2")


class FullDisk(Fleet):
    def mount(self, folder, size):
        folder.mkdir(exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
        if subprocess.run(mount, capture_output=True).returncode != 0:
            self.skipTest("a small disk must be mounted, which is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=True)

    def fill(self, folder):
        ballast = folder / "ballast"
        with self.assertRaises(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        return ballast

    def test_a_full_state_folder_is_told_and_what_waits_is_applied_once_it_has_room(self):
        data = self.folder / "agent" / "data"
        self.mount(data, "600k")
        self.hub.write("w1", "former", application("former"))
        self.start()
        self.arrives("former", "1")
        ballast = self.fill(data)
        names = [f"late{n}" for n in range(30)]
        for name in names:
            self.hub.write("w1", name, application(name))
        wait_for("it is not ready, and says why", lambda: "no space left" in self.agent.why_unready(), 30)
        wait_for("the log has it", lambda: "cannot write the state database;" in self.agent.log.read_text())
        self.assertEqual(self.agent.metric("argobus_state_database_failing"), 1)
        ballast.unlink()
        for name in names:
            self.arrives(name, "1")
        wait_for("it is ready again", self.agent.is_ready)
        wait_for("the log has it", lambda: "can be written again" in self.agent.log.read_text())
        self.assertEqual(self.agent.log.read_text().count("the state database"), 2)

    def test_a_full_disk_is_told_and_what_was_wished_is_there_once_it_has_room(self):
        self.mount(self.spoke.folder, "256k")
        self.hub.write("w1", "former", application("former"))
        self.principal.start()
        self.agent.start("--set", "sync.set-aside=1s")
        self.arrives("former", "1")
        ballast = self.fill(self.spoke.folder)
        self.hub.write("w1", "late", application("late"))
        status = wait_for("the hub says so", lambda: self.hub.status("w1", "late"))
        self.assertIn("No space left on device", status["conditions"][0]["message"])
        self.hub.remove("w1", "former")
        wait_for("a deletion is not held up", lambda: self.spoke.read("argocd", "former") is None)
        ballast.unlink()
        self.arrives("late", "1")
        wait_for("the error is gone", lambda: not (self.hub.status("w1", "late") or {}).get("conditions"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
