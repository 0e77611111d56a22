#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a configuration is said by --check-config: what, where and what to do."""
import contextlib
import os
import pathlib
import subprocess
import tempfile
import threading
import unittest
import urllib.request

import yaml

from ports import free_port
from waiting import wait_for


def run(program, *args, env=None):
    done = subprocess.run([pathlib.Path(os.environ["AB_BIN"], program), *args], capture_output=True, text=True,
                          timeout=120, env=dict(os.environ, **(env or {})))
    return done.returncode, done.stderr


def is_healthy(port):
    with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=30):
        return True
    return False


TLS = ["--set", "kafka.insecure=false"]
CERTS = pathlib.Path(os.environ["AB_GRPC_CERTS"])


class Configuration(unittest.TestCase):
    program = "argobus-agent"
    head = "agent: {name: w1, data: .}\n"

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="argobus-test-")
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name, "agent.yaml")
        self.file.write_text(f"{self.head}store: {{kind: directory, directory: {{path: .}}}}\n"
                             "kafka: {brokers: ['127.0.0.1:1'], insecure: true}\n")

    def check(self, *args, env=None):
        return run(self.program, "-c", str(self.file), "--check-config", *args, env=env)

    def says(self, text, *args):
        """The daemon runs, and logs this."""
        daemon = subprocess.Popen([pathlib.Path(os.environ["AB_BIN"], self.program), "-c", str(self.file), *args],
                                  stderr=subprocess.PIPE, text=True)
        bound = threading.Timer(60, daemon.kill)
        bound.start()
        said = any(text in line for line in daemon.stderr)
        self.assertIsNone(daemon.poll(), "the daemon has ended")
        daemon.kill()
        daemon.communicate()
        bound.cancel()
        self.assertTrue(said)

    def refused(self, *words, args=(), env=None, text=None):
        if text is not None:
            self.file.write_text(text)
        code, error = self.check(*args, env=env)
        self.assertEqual(code, 2, error)
        for word in words:
            self.assertIn(word, error)


class BadConfiguration(Configuration):
    def test_a_good_file_is_good(self):
        self.assertEqual(self.check(), (0, ""))

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
        self.refused("kafka.tls.key: ", "w1.key is not a PEM file with the private key of kafka.tls.cert", "kafka.tls.key-password",
                     args=[*tls, "--set", "kafka.tls.key-password=wrong"])
        tls += ["--set", "kafka.tls.key-password=right"]
        self.assertEqual(self.check(*tls), (0, ""))
        self.says("live access cannot use kafka.tls", *tls, "--set", "live.enabled=true", "--set", "kafka.tls.ca=w1.crt")

    def test_options_without_effect_are_named(self):
        line = "have no effect: set live.enabled to true, or take them out options="
        redis = ["--set", "live.redis.address=argocd-redis:6379"]
        self.says(line + "live.exec\n", "--set", "live.exec=true")
        self.says(line + "live.redis.address\n", *redis)
        self.says(line + '"live.exec, live.redis.address"\n', *redis, "--set", "live.exec=true")

    def test_a_broker_is_no_url(self):
        self.refused('"https://kafka-1:9092" is a URL', "write host:port",
                     text=self.file.read_text().replace("127.0.0.1:1", "https://kafka-1:9092"))

    def test_what_is_in_the_wrong_file_is_told_by_option_and_file(self):
        for name in ("w1", "w2"):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                            "-subj", f"/CN={name}", "-keyout", self.file.with_name(f"{name}.key"), "-out",
                            self.file.with_name(f"{name}.crt")], check=True, capture_output=True)
        for files, option, wrong in (({"key": "w2.key"}, "key", "w2.key"), ({"cert": "w1.key"}, "cert", "w1.key"),
                                     ({"ca": "w1.key"}, "ca", "w1.key")):
            files = {"ca": "w1.crt", "cert": "w1.crt", "key": "w1.key", **files}
            tls = [word for name, file in files.items() for word in ("--set", f"kafka.tls.{name}={file}")]
            self.refused(f"kafka.tls.{option}: ", f"{wrong} is not a PEM file", args=[*TLS, *tls])

    def test_a_folder_that_a_start_could_not_use_is_named(self):
        file = self.file.with_name("file")
        file.write_text("")
        for option in ("agent.data", "store.directory.path"):
            self.refused(f"{option}: ", "file is not a folder", args=["--set", f"{option}=file"])
            self.refused(f"{option}: ", "nowhere/at/all", "No such file", args=["--set", f"{option}=nowhere/at/all"])
        self.refused("store.directory.path: ", "later", "No such file", args=["--set", "store.directory.path=later"])
        self.assertEqual(self.check("--set", "agent.data=later"), (0, ""))
        self.assertFalse(file.with_name("later").exists())

    def test_an_agent_name_that_is_no_label_is_refused(self):
        self.refused("agent.name", "DNS label", args=["--set", "agent.name=W1.example"])

    def test_broken_yaml_says_where(self):
        self.refused("agent.yaml", "line 3", text="agent:\n  name: [w1\n")


def settings(**options):
    """live.a.b=c for each a_b=c."""
    return [word for name, value in options.items() for word in ("--set", f"live.{name.replace('_', '.')}={value}")]


class BadLiveAccess(Configuration):
    """What is wrong with live access is said before the daemon runs."""

    def test_a_certificate_without_its_key_is_refused(self):
        self.refused("live.certificate and live.key", args=settings(certificate=CERTS / "w1.crt"))

    def test_a_certificate_without_an_authority_is_refused(self):
        self.refused("live.ca", args=settings(certificate=CERTS / "w1.crt", key=CERTS / "w1.key"))

    def test_a_certificate_that_is_not_there_is_named(self):
        self.refused("live.certificate", "nowhere.crt",
                     args=settings(certificate="nowhere.crt", key="nowhere.key", ca="nowhere.crt"))

    def test_a_list_of_revoked_certificates_that_is_none_is_refused(self):
        self.refused("live.revoked", "agent.yaml: line 1: expected a SHA-256 fingerprint", args=settings(revoked=self.file))

    def test_an_unknown_policy_is_refused(self):
        self.refused("live.kubernetes.policy", args=settings(kubernetes_policy="some"))

    def test_an_unknown_verb_is_refused(self):
        self.refused("live.kubernetes.verbs", args=settings(kubernetes_policy="all", kubernetes_verbs="look"))

    def test_a_bad_address_of_redis_is_refused(self):
        self.refused("live.redis.address", args=settings(redis_address="redis:many"))

    def test_a_ca_of_redis_that_is_not_there_is_named(self):
        self.refused("live.redis", "nowhere.crt", args=settings(redis_address="redis:6379", redis_ca="nowhere.crt"))


class BadLiveFronts(Configuration):
    """The same of what the principal listens for."""
    program = "argobus-principal"
    head = ""

    def setUp(self):
        super().setUp()
        self.tls = settings(resource_listen="127.0.0.1:0", resource_tls_cert=CERTS / "server.crt",
                            resource_tls_key=CERTS / "server.key")
        self.tokens = self.file.with_name("tokens")
        self.tokens.write_text("0123456789abcdef *\n")

    def test_good_options_are_good(self):
        self.assertEqual(self.check(*self.tls, *settings(resource_tokens=self.tokens)), (0, ""))
        self.assertEqual(self.check(*self.tls, *settings(resource_tls_ca=CERTS / "ca.crt")), (0, ""))

    def test_a_front_needs_a_certificate(self):
        self.refused("live.resource.tls.cert", args=settings(resource_listen="127.0.0.1:0"))

    def test_a_front_that_nobody_could_ask_is_refused(self):
        self.refused("live.resource.tokens", "live.resource.tls.ca", args=self.tls)

    def test_a_bad_address_is_refused(self):
        self.refused("live.resource.listen", args=[*self.tls, *settings(resource_listen="nowhere")])

    def test_a_bad_line_of_tokens_is_named(self):
        self.tokens.write_text("0123456789abcdef *\nshort\n")
        self.refused("live.resource.tokens", "line 2", args=[*self.tls, *settings(resource_tokens=self.tokens)])

    def test_a_key_of_another_certificate_is_refused(self):
        self.refused("live.resource.tls", args=[*self.tls, *settings(resource_tls_key=CERTS / "w1.key",
                                                                     resource_tokens=self.tokens)])

    def test_a_certificate_of_the_redis_proxy_without_its_key_is_refused(self):
        self.refused("live.redis.tls.cert and live.redis.tls.key",
                     args=settings(redis_listen="127.0.0.1:0", redis_tls_cert=CERTS / "server.crt"))


class BadAgents(Configuration):
    program = "argobus-principal"
    head = ""

    def test_no_agent_is_called_as_the_control_planes_own_cluster(self):
        text = self.file.read_text()
        self.refused('agents: name "in-cluster" is Argo CD\'s name', text=f"{text}agents: [{{name: in-cluster}}]\n")
        self.file.write_text(f"{text}agents: [{{name: in-cluster-1}}]\n")
        self.assertEqual(self.check(), (0, ""))


class RefusedFiles(Configuration):
    """A file that a start would not take is refused by --check-config."""

    def setUp(self):
        super().setUp()
        self.bad = self.file.with_name("bad")
        self.bad.write_text("nothing of use\n")

    def test_of_an_agent(self):
        pair = {"certificate": CERTS / "w1.crt", "key": CERTS / "w1.key"}
        for option in pair:
            args = [word for name, file in {**pair, option: self.bad}.items() for word in ("--set", f"secrets.{name}={file}")]
            self.refused("secrets.certificate, secrets.key", "not in PEM format", args=args)
        self.refused("must be set together", args=["--set", f"secrets.key={pair['key']}"])
        kubernetes = ["--set", "store.kind=kubernetes", "--set"]
        self.refused("bad", "kubeconfig", args=[*kubernetes, f"store.kubernetes.kubeconfig={self.bad}"])
        self.assertEqual(self.check("--set", "store.kind=kubernetes"), (0, ""))  # it may run in a pod

    def test_of_a_principal(self):
        self.program = "argobus-principal"
        text = self.file.read_text().replace(self.head, "")
        self.file.write_text(text)
        self.assertEqual(self.check("--set", f"secrets.ca={CERTS / 'ca.crt'}"), (0, ""))
        self.refused("secrets.ca", "not a PEM file", args=["--set", f"secrets.ca={self.bad}"])
        self.refused("secrets.identity", args=["--set", "secrets.identity=x"])
        for file, words in (("bad", "not in PEM format"), ("nowhere", "No such file")):
            self.refused("certificate of agent w1", words,
                         text=f"{text}agents: [{{name: w1, certificate: {self.file.with_name(file)}}}]\n")


class WithoutDescriptors(Configuration):
    """A wrapper has closed what a process is to print to; no file of the program's may take its place."""

    def test_a_program_without_them_serves_and_ends_in_order(self):
        port = free_port()
        command = [str(pathlib.Path(os.environ["AB_BIN"], self.program)), "-c", str(self.file),
                   "--set", f"http.address=127.0.0.1:{port}", "--set", "stop.timeout=10s"]
        daemon = subprocess.Popen(["sh", "-c", 'exec "$@" 0<&- 1>&- 2>&-', "sh", *command])
        self.addCleanup(daemon.kill)
        wait_for("it serves HTTP", lambda: daemon.poll() is not None or is_healthy(port))
        self.assertEqual([os.readlink(f"/proc/{daemon.pid}/fd/{fd}") for fd in range(3)], ["/dev/null"] * 3)
        daemon.terminate()
        self.assertEqual(daemon.wait(60), 0)


class Samples(unittest.TestCase):
    def test_both_can_run_on_one_machine_where_the_page_on_upgrades_looks_for_them(self):
        root = pathlib.Path(__file__).resolve().parents[3]
        page = (root / "docs/operate/upgrade.md").read_text(encoding="utf-8")
        for program in ("principal", "agent"):
            sample = yaml.safe_load((root / f"examples/{program}.yaml").read_text(encoding="utf-8"))
            self.assertIn(f"export {program.upper()}={sample['http']['address']}\n", page)


if __name__ == "__main__":
    unittest.main(verbosity=2)
