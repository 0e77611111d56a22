#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Agents that nobody named register themselves, over gRPC: real daemons on directory stores."""
import base64
import json
import os
import pathlib
import re
import ssl
import subprocess
import textwrap
import unittest
import urllib.error
import urllib.request

import yaml

from compat_test import GoPeer
from daemons import Fleet, Objects, application, wait_for
from documented import commands
from ports import free_port

AGENT = "argocd-agent.argoproj-labs.io/agent-name"
REGISTERED = "argocd-agent.argoproj-labs.io/self-registered-cluster"
APPROVED = "argobus.io/approved"
CLUSTER = "argocd.argoproj.io/secret-type"


class Registering(Fleet):
    options = {}

    def principal_config(self):
        self.live_port = free_port()
        self.key = self.folder / "token.key"
        self.key.write_bytes(os.urandom(32))
        config = super().principal_config()
        del config["agents"]
        certificates = config["grpc"]["tls"]
        self.ca = self.folder / "live-ca.crt"
        self.authority = pathlib.Path(certificates["ca"]).read_text()
        self.ca.write_text(pathlib.Path(certificates["key"]).read_text() + self.authority)  # more than is to be told
        config["live"] = {"resource": {"listen": f"127.0.0.1:{self.live_port}"}}
        config["registration"] = {"enabled": True, "server": f"https://localhost:{self.live_port}/",
                                  "ca": str(self.ca), "token-key": str(self.key), **self.options}
        return config

    def setUp(self):
        super().setUp()
        self.secrets = Objects(self.hub)

    def secret(self):
        return self.secrets.read("Secret", "cluster-w1")

    def registered(self):
        return wait_for("the Secret is there", self.secret)

    def data(self, secret=None):
        values = (secret or self.secret())["data"]
        return {name: base64.b64decode(value).decode() for name, value in values.items()}

    def token(self):
        return json.loads(self.data()["config"])["bearerToken"]

    def edit(self, change):
        secret = self.secret()
        change(secret)
        self.secrets.write(secret)

    def approve(self, value):
        self.edit(lambda secret: secret["metadata"]["labels"].update({APPROVED: value}))

    def serves(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.arrives("guestbook", "1")

    def has_logged(self, text):
        wait_for(text, lambda: text in self.principal.log.read_text())

    def code_of(self, token):
        """What the resource proxy answers about the agent's version."""
        request = urllib.request.Request(f"https://localhost:{self.live_port}/agents/w1/version",
                                         headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=self.ca), timeout=60) as a:
                return a.status
        except urllib.error.HTTPError as error:
            return error.code


class Labels(Registering):
    options = {"labels": ["region", "example.com/*"]}

    def test_an_agent_brings_the_labels_that_are_allowed(self):
        self.agent.configure(self.labelled(region="eu", **{"example.com/tier": "gold", "zone": "1", APPROVED: "true"}))
        self.start()
        labels = self.registered()["metadata"]["labels"]
        self.assertEqual(labels, {CLUSTER: "cluster", AGENT: "w1", REGISTERED: "true", "region": "eu",
                                  "example.com/tier": "gold"})
        log = self.principal.log.read_text()
        self.assertEqual(sorted(re.findall(r"agent may not bring this label.* label=(\S+)", log)), [APPROVED, "zone"])

    def test_the_login_of_argobusctl_registers_it_in_the_same_way(self):
        config = self.folder / "connect.yaml"
        config.write_text(yaml.safe_dump(self.labelled(region="eu")))
        self.principal.start()
        subprocess.run([pathlib.Path(os.environ["AB_BIN"], "argobusctl"), "connect", "agent", "-c", config], timeout=120,
                       capture_output=True, check=False)  # it may be registered in time, or not
        self.assertEqual(self.registered()["metadata"]["labels"]["region"], "eu")

    def labelled(self, **labels):
        config = self.agent_config()
        return {**config, "agent": {**config["agent"], "labels": labels}}

    def test_what_people_change_of_them_stays(self):
        self.agent.configure(self.labelled(region="eu"))
        self.start()
        self.registered()
        self.edit(lambda secret: secret["metadata"]["labels"].update(region="us"))
        self.agent.stop()
        self.agent.configure(self.labelled(region="asia"))
        self.agent.start()
        self.serves()
        self.assertEqual(self.secret()["metadata"]["labels"]["region"], "us")


class Automatic(Registering):
    def test_an_unknown_agent_is_registered_and_served(self):
        self.start()
        secret = self.registered()
        labels = secret["metadata"]["labels"]
        self.assertEqual(labels, {CLUSTER: "cluster", AGENT: "w1", REGISTERED: "true"})
        self.assertEqual(secret["metadata"]["annotations"]["argobus.io/mode"], "managed")
        data = self.data(secret)
        self.assertEqual(data["name"], "w1")
        self.assertEqual(data["server"], f"https://localhost:{self.live_port}/agents/w1")
        said = json.loads(data["config"])
        self.assertEqual(base64.b64decode(said["tlsClientConfig"]["caData"]).decode(), self.authority)
        self.serves()
        self.assertNotEqual(self.code_of(said["bearerToken"]), 401)
        self.assertEqual(self.code_of(said["bearerToken"][:-1] + "~"), 401)
        self.assertEqual(self.principal.metric("argobus_registrations_total"), 1)

    def test_only_what_the_secret_should_say_makes_it_another(self):
        self.start()
        before = self.registered()
        token = self.token()
        self.edit(lambda secret: secret["metadata"]["labels"].update(env="prod"))
        self.key.with_suffix(".new").write_bytes(os.urandom(32))
        self.key.with_suffix(".new").rename(self.key)
        wait_for("the token is another", lambda: self.secret() and self.token() != token)
        after = self.secret()
        self.assertEqual(after["metadata"]["labels"]["env"], "prod")
        self.assertEqual(self.data(after)["server"], self.data(before)["server"])
        self.assertEqual(self.code_of(token), 401)
        self.assertNotEqual(self.code_of(self.token()), 401)
        self.principal.stop()
        self.edit(lambda secret: secret["data"].update(shard="MQ=="))
        written = self.secrets.path("Secret", "cluster-w1").stat().st_mtime_ns
        self.principal.start()
        self.serves()
        self.assertEqual(self.secrets.path("Secret", "cluster-w1").stat().st_mtime_ns, written)

    def test_another_ca_is_written_and_an_unreadable_one_is_not(self):
        self.start()
        before = self.registered()
        self.ca.write_text("no certificate")
        self.has_logged("cannot load the new CAs for cluster Secrets")
        self.assertEqual(self.secret()["data"], before["data"])
        certs = pathlib.Path(os.environ["AB_GRPC_CERTS"])
        self.ca.write_text((certs / "ca.crt").read_text() + (certs / "w1.crt").read_text())
        wait_for("it is written", lambda: self.secret() and self.secret()["data"] != before["data"])

    def test_a_secret_that_was_made_by_hand_is_not_touched(self):
        manual = {"apiVersion": "v1", "kind": "Secret",
                  "metadata": {"name": "cluster-w1", "namespace": "argocd", "labels": {CLUSTER: "cluster", AGENT: "w1"}},
                  "stringData": {"name": "w1", "server": "https://elsewhere"}}
        self.secrets.write(manual)
        self.start()
        self.serves()
        self.assertEqual(self.secret()["stringData"], manual["stringData"])
        self.assertEqual(self.secret()["metadata"]["labels"], manual["metadata"]["labels"])
        self.assertEqual(self.principal.metric("argobus_registrations_total"), 0)

    def test_a_secret_of_the_same_name_that_names_nobody_is_not_touched(self):
        other = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cluster-w1", "namespace": "argocd"},
                 "stringData": {"mine": "yes"}}
        self.secrets.write(other)
        self.principal.start()
        self.agent.start(ready=False)
        self.has_logged("agent cannot register: a Secret of this name exists")
        self.assertEqual(self.secret()["stringData"], other["stringData"])
        self.assertFalse(self.agent.is_ready())

    def test_the_name_of_a_cluster_that_argo_cd_reaches_itself_is_not_given_away(self):
        other = {"apiVersion": "v1", "kind": "Secret",
                 "metadata": {"name": "cluster-10.0.0.1-7", "namespace": "argocd", "labels": {CLUSTER: "cluster"}},
                 "stringData": {"name": "w1", "server": "https://10.0.0.1"}}
        self.secrets.write(other)
        self.principal.start()
        self.agent.start(ready=False)
        self.has_logged("another cluster of Argo CD has its name")
        self.assertIsNone(self.secret())
        self.secrets.remove("Secret", "cluster-10.0.0.1-7")
        self.registered()

    def test_a_removed_secret_stays_away_until_the_agent_logs_in_again(self):
        self.start()
        self.registered()
        self.serves()
        self.secrets.remove("Secret", "cluster-w1")
        self.has_logged("agent is no longer served")
        wait_for("the agent is told", lambda: "this agent is not served" in self.agent.log.read_text())
        self.assertIsNone(self.secret())
        self.agent.stop()
        self.agent.start()
        self.registered()

    def test_approval_that_is_taken_back_lasts(self):
        self.start()
        self.registered()
        self.serves()
        self.approve("false")
        self.has_logged("agent is no longer served")
        self.assertEqual(self.principal.metric("argobus_registrations_waiting"), 1)
        self.agent.stop()
        self.agent.start(ready=False)
        wait_for("the agent is told", lambda: "this agent is not served" in self.agent.log.read_text())
        self.assertEqual(self.secret()["metadata"]["labels"][APPROVED], "false")


class Manual(Registering):
    options = {"approval": "manual"}

    def test_an_agent_waits_until_somebody_approves_it(self):
        self.principal.start()
        self.agent.start(ready=False)
        secret = self.registered()
        self.assertEqual(secret["metadata"]["labels"][APPROVED], "false")
        self.has_logged("agent waits for approval")
        wait_for("the metric says so", lambda: self.principal.metric("argobus_registrations_waiting") == 1)
        self.assertFalse(self.agent.is_ready())
        self.approve("true")
        wait_for("it is served", self.agent.is_ready)
        self.assertEqual(self.principal.metric("argobus_registrations_waiting"), 0)
        self.serves()


def yaml_blocks(page):
    return [textwrap.dedent(text) for text in re.findall(r"^ *```yaml\n(.*?)^ *```$", page, re.M | re.S)]


class Docs(Registering):
    """What docs/operate/registration.md says, with its own command and configuration."""

    def principal_config(self):
        config = super().principal_config()
        page = (pathlib.Path(__file__).resolve().parents[3] / "docs/operate/registration.md").read_text()
        [block] = [b for b in yaml_blocks(page) if "token-key" in b]
        for command in commands("docs/operate/registration.md"):
            subprocess.run(["bash", "-euc", command.text], check=True, cwd=self.folder, capture_output=True)
        said = yaml.safe_load(block)["registration"]
        config["registration"].update(said, **{"token-key": str(self.folder / pathlib.Path(said["token-key"]).name),
                                               "ca": str(self.ca), "names": said["names"] + ["w*"]})
        return config

    def test_what_the_page_says_registers_an_agent(self):
        self.principal.start()
        self.agent.start(ready=False)
        self.registered()
        self.approve("true")
        wait_for("it is served", self.agent.is_ready)


class Refused(Registering):
    options = {"names": ["edge-*"]}

    def test_a_name_that_does_not_match_is_told_why(self):
        self.principal.start()
        self.agent.start(ready=False)
        wait_for("the agent knows", lambda: "does not match registration.names" in self.agent.log.read_text())
        self.has_logged("agent may not register")
        self.assertIsNone(self.secret())

    def check(self, *words, **changes):
        config = self.principal_config()
        registration = {**config["registration"], **changes}
        config["registration"] = {name: value for name, value in registration.items() if value is not None}
        config.update(self.more)
        self.principal.configure(config)
        done = subprocess.run([self.principal.program, "-c", self.principal.config, "--check-config"],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 2, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    more = {}

    def test_bad_options_are_named(self):
        short = self.folder / "short.key"
        short.write_bytes(b"x" * 31)
        self.check("registration.token-key", "31 bytes", **{"token-key": str(short)})
        self.check("registration.token-key", "openssl rand", **{"token-key": None})
        self.check("registration.server", "https://", server=None)
        self.check("registration.server", "http://hub", server="http://hub")
        self.check("registration.ca", "not a PEM certificate", ca=str(short))
        self.check("registration.names", names=["/(/"])
        self.check("registration.modes", "bold", modes=["bold"])
        self.check("principal.data", mode="autonomous")
        self.more = {"transport": "kafka", "kafka": {"brokers": ["127.0.0.1:1"], "insecure": True}}
        self.check("works with transport: grpc only", "cannot be heard")


class Bounded(Registering):
    options = {"max": 1}

    def test_no_more_agents_register_than_the_bound_allows(self):
        self.secrets.write({"apiVersion": "v1", "kind": "Secret",
                            "metadata": {"name": "cluster-w2", "namespace": "argocd",
                                         "labels": {CLUSTER: "cluster", AGENT: "w2", REGISTERED: "true"}}})
        self.principal.start()
        self.agent.start(ready=False)
        wait_for("the agent knows", lambda: "registration.max of the principal" in self.agent.log.read_text())
        self.assertIsNone(self.secret())


class GoAgent(Registering):
    """An argocd-agent, which opens its stream again when it was told that it is not served."""
    options = {"approval": "manual"}  # with automatic it may be served before it opens its stream

    def test_it_is_registered_and_then_served(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.principal.start()
        agent = GoPeer("agent", self.grpc_port)
        self.addCleanup(agent.stop)
        agent.wait("ended", lambda code: code == "UNAVAILABLE")
        self.registered()
        self.approve("true")
        self.has_logged("serving agent")
        agent.order(open=True)
        agent.event("create")


if __name__ == "__main__":
    unittest.main(verbosity=2)
