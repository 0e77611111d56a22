#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people get wrong: each is named, and nothing else waits for it or is lost by it."""
import os
import pathlib
import subprocess
import tempfile
import unittest

from daemons import Daemon, Fleet, Tree, application, only_kafka, revision, wait_for


def run(program, *args, env=None):
    done = subprocess.run([pathlib.Path(os.environ["AB_BIN"], program), *args], capture_output=True, text=True,
                          timeout=120, env=dict(os.environ, **(env or {})))
    return done.returncode, done.stderr


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
    def setUp(self):
        super().setUp()
        self.spoke.folder.mkdir(exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", self.spoke.folder]
        if subprocess.run(mount, capture_output=True).returncode != 0:
            self.skipTest("a small disk must be mounted, which is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.spoke.folder], check=True)

    def test_a_full_disk_is_told_and_what_was_wished_is_there_once_it_has_room(self):
        self.hub.write("w1", "former", application("former"))
        self.principal.start()
        self.agent.start("--set", "sync.set-aside=1s")
        self.arrives("former", "1")
        ballast = self.spoke.folder / "ballast"
        with self.assertRaises(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        self.hub.write("w1", "late", application("late"))
        status = wait_for("the hub says so", lambda: self.hub.status("w1", "late"))
        self.assertIn("No space left on device", status["conditions"][0]["message"])
        self.hub.remove("w1", "former")
        wait_for("a deletion is not held up", lambda: self.spoke.read("argocd", "former") is None)
        ballast.unlink()
        self.arrives("late", "1")
        wait_for("the error is gone", lambda: not (self.hub.status("w1", "late") or {}).get("conditions"))


TLS = ["--set", "kafka.insecure=false"]


class BadConfiguration(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="argobus-test-")
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name, "agent.yaml")
        self.file.write_text("agent: {name: w1, data: .}\nstore: {kind: directory, directory: {path: .}}\n"
                             "kafka: {brokers: ['127.0.0.1:1'], insecure: true}\n")

    def refused(self, *words, args=(), env=None, text=None):
        if text is not None:
            self.file.write_text(text)
        code, error = run("argobus-agent", "-c", str(self.file), "--check-config", *args, env=env)
        self.assertEqual(code, 2, error)
        for word in words:
            self.assertIn(word, error)

    def test_a_good_file_is_good(self):
        self.assertEqual(run("argobus-agent", "-c", str(self.file), "--check-config"), (0, ""))

    def test_an_unknown_key_names_the_nearest_and_the_line(self):
        self.refused("agent.yaml:2", '"kafka.broker"', '"kafka.brokers"', text="agent: {name: w1}\nkafka: {broker: x}\n")

    def test_an_unknown_setting_or_variable_names_the_nearest(self):
        self.refused("agent.nam", "agent.name", args=["--set", "agent.nam=w1"])
        self.refused("ARGOBUS_AGENT_NAM", "ARGOBUS_AGENT_NAME", env={"ARGOBUS_AGENT_NAM": "w1"})

    def test_a_wrong_type_says_what_is_wanted(self):
        self.refused("transport.heartbeat", args=["--set", "transport.heartbeat=soon"])
        self.refused("kafka.brokers", text="kafka: {brokers: {a: b}}\n")

    def test_a_missing_file_is_named(self):
        self.file = self.file.with_name("nowhere.yaml")
        self.refused("nowhere.yaml", "No such file")

    def test_a_missing_certificate_is_named(self):
        self.refused("kafka.tls.ca", "nowhere.crt", args=[*TLS, "--set", "kafka.tls.ca=nowhere.crt"])

    def test_plain_text_has_to_be_asked_for(self):
        asked = self.file.read_text()
        for forgotten in ("", "insecure: false", "insecure: false, sasl: {mechanism: PLAIN, username: w1, password: x}"):
            self.refused("TLS to the brokers is not configured", "kafka.insecure: true",
                         text=asked.replace("insecure: true", forgotten))
        code, error = run("argobus-agent", "-c", str(self.file))
        self.assertEqual(code, 2, error)
        self.assertIn("TLS to the brokers is not configured", error)

    def test_plain_text_and_tls_contradict_each_other(self):
        self.refused("kafka.insecure: true", "kafka.tls.enabled", args=["--set", "kafka.tls.enabled=true"])
        self.refused("kafka.insecure: true", "kafka.librdkafka.security.protocol",
                     args=["--set", "kafka.librdkafka.security.protocol=sasl_ssl"])

    def test_plain_text_misspelt_is_told_the_right_name(self):
        self.refused('"kafka.unsecure"', 'did you mean "kafka.insecure"',
                     text=self.file.read_text().replace("insecure", "unsecure"))

    def test_what_librdkafka_would_refuse_at_the_start_is_refused(self):
        self.refused("kafka.librdkafka.acks may not be set", args=["--set", "kafka.librdkafka.acks=1"])
        self.refused("kafka.librdkafka.security.protocol", "kafka.tls.enabled",
                     args=["--set", "kafka.librdkafka.security.protocol=plaintext"])
        self.refused("agent name \"w1\"", args=["--set", "kafka.prefix=" + "a" * 236])

    def test_the_password_of_a_key_is_tried(self):
        key, cert = self.file.with_name("w1.key"), self.file.with_name("w1.crt")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-passout", "pass:right", "-days", "1",
                        "-subj", "/CN=w1", "-keyout", key, "-out", cert], check=True, capture_output=True)
        tls = [*TLS, "--set", "kafka.tls.cert=w1.crt", "--set", "kafka.tls.key=w1.key"]
        self.refused("ssl.key.location", args=[*tls, "--set", "kafka.tls.key-password=wrong"])
        code = run("argobus-agent", "-c", str(self.file), "--check-config", *tls, "--set", "kafka.tls.key-password=right")
        self.assertEqual(code, (0, ""))

    def test_an_agent_name_that_is_no_label_is_refused(self):
        self.refused("agent.name", "DNS label", args=["--set", "agent.name=W1.example"])

    def test_broken_yaml_says_where(self):
        self.refused("agent.yaml", "line 3", text="agent:\n  name: [w1\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
