#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What argobusctl shows of a running principal: its agents, and which change is not in effect where, and why."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import unittest
import urllib.request

import yaml

from daemons import Fleet, application, free_port, kcat, only_kafka, revision, wait_for
from documented import commands

TOO_MANY = 21  # deletions; sync.max-deletions is 20


class Shown(Fleet):
    def principal_config(self):
        return dict(super().principal_config(), control={"socket": str(self.folder / "ctl.sock")})

    def show(self, *args):
        """The document that a command shows."""
        done = self.ctl(*args, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def agent_w1(self):
        [agent] = [a for a in self.show("agent", "list")["agents"] if a["name"] == "w1"]
        return agent

    def pending(self):
        """[(direction, kind, namespace/name, action, state, reason)] of w1."""
        return [(o["direction"], o["kind"], f"{o['namespace']}/{o['name']}", o["action"], o["state"], o["reason"])
                for o in self.show("pending", "w1")["objects"]]

    def counts(self):
        """Of what is pending down, by argobusctl and by the metric."""
        shown = self.agent_w1()["pending"]["down"]
        text = self.principal.get("/metrics") or ""
        [metric] = [line.split()[-1] for line in text.splitlines()
                    if line.startswith('argobus_changes_pending{agent="w1",direction="down"}')]
        return shown and shown["count"], metric

    def are_pending(self, count):
        wait_for(f"{count} are pending", lambda: self.counts() == (count, str(count)), 60)

    def begin(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        self.are_pending(0)

    def shell(self, script):
        """Run by bash as a user of the principal would."""
        env = dict(os.environ, PATH=f"{os.environ['AB_BIN']}:{os.environ['PATH']}",
                   ARGOBUS_CONTROL_SOCKET=str(self.folder / "ctl.sock"))
        return subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, timeout=60,
                              env=env, cwd=self.folder)

    def serve_fleet(self):
        """@return where"""
        at = f"localhost:{free_port()}"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", "fleet.key", "-out",
                        "fleet-ca.crt"], cwd=self.folder, check=True, capture_output=True)
        (self.folder / "token").write_text("a-token-of-an-operator-0123\n")
        (self.folder / "tokens").write_text("a-token-of-an-operator-0123 *\n")
        self.principal.configure(dict(self.principal_config(), fleet={
            "listen": at, "tokens": str(self.folder / "tokens"),
            "tls": {"cert": str(self.folder / "fleet-ca.crt"), "key": str(self.folder / "fleet.key")}}))
        return at


class OneAgent(Shown):
    def test_a_change_for_an_absent_agent_is_shown_with_its_reason_until_it_returns(self):
        self.begin()
        self.assertEqual(self.pending(), [])
        self.agent.stop()
        self.hub.write("w1", "guestbook", application("guestbook", "2"))
        self.are_pending(1)
        wait_for("the principal notices", lambda: not self.agent_w1()["connected"])
        [shown] = wait_for("it is listed", self.pending)
        self.assertEqual(shown[:5], ("down", "Application", "w1/guestbook", "update", "unacknowledged"))
        where = {"kafka": "in the agent's topic, and not acknowledged", "grpc": "not acknowledged by the agent"}
        self.assertEqual(shown[5], f"{where[self.transport]}; the agent is disconnected")
        self.shows_its_age()
        self.is_the_lag_of_the_consumer_group(1)
        self.agent.start()
        self.are_pending(0)
        self.assertEqual(self.pending(), [])

    def shows_its_age(self):
        [change] = wait_for("its age grows", lambda: [
            o for o in self.show("pending", "w1")["objects"] if o["age_seconds"] > 1])
        self.assertLess(change["age_seconds"], 60)
        table = self.ctl("lag").stdout.splitlines()
        self.assertEqual(table[0].split(), ["AGENT", "CONNECTED", "DOWN", "OLDEST", "UP", "OLDEST"])
        row = table[1].split()
        self.assertEqual(row[:3], ["w1", "no", "1"])
        self.assertRegex(row[3], r"^\d+s$")
        self.assertIn("w1/guestbook", self.ctl("agent", "inspect", "w1").stdout)

    def lag_of_the_consumer_group(self):
        told = subprocess.run([os.environ["KAFKA_DEV"], "tool", "consumer-groups", "--describe", "--group",
                               f"{self.prefix}.agent.w1"], check=True, capture_output=True, text=True).stdout
        [lag] = [line.split()[5] for line in told.splitlines() if self.topic("down") in line]
        return int(lag)

    def is_the_lag_of_the_consumer_group(self, count):
        if self.transport == "kafka":
            self.assertEqual(self.lag_of_the_consumer_group(), count)

    def pending_everywhere(self):
        """What is pending down, by all that tell it."""
        port = re.findall(r"serving the fleet page.* port=(\d+)", self.principal.log.read_text())[-1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/agents", timeout=30) as answer:
            page = json.load(answer)
        [told], [shown] = [[a["pending"]["down"]["count"] for a in document["agents"]]
                           for document in (self.show("lag"), page)]
        [metric] = [int(value) for labels, value in self.principal.series("argobus_changes_pending").items()
                    if 'direction="down"' in labels]
        group = {"group": self.lag_of_the_consumer_group()} if self.transport == "kafka" else {}
        return {"argobusctl lag": told, "page": shown, "metric": metric, **group}

    def test_all_that_tell_how_many_changes_are_pending_tell_the_same(self):
        self.principal.configure(dict(self.principal_config(), fleet={"listen": "127.0.0.1:0"}))
        self.begin()
        self.agent.stop()
        for name in ("guestbook", "second", "third"):
            self.hub.write("w1", name, application(name, "2"))
        self.are_pending(3)
        shown = self.pending_everywhere()
        self.assertEqual(shown, dict.fromkeys(shown, 3))
        self.agent.start()
        self.are_pending(0)
        wait_for("the agent's group has no lag", lambda: set(self.pending_everywhere().values()) == {0})

    def test_deletions_that_are_held_back_are_listed_and_confirmed(self):
        for i in range(TOO_MANY):
            self.hub.write("w1", f"app-{i}", application(f"app-{i}"))
        self.begin()
        wait_for("all are there", lambda: len(self.spoke.names("argocd")) == TOO_MANY + 1)
        self.assertIn("no deletions are held back", self.ctl("deletions").stderr)
        self.principal.stop()
        shutil.rmtree(self.hub.folder / "w1")
        self.principal.start()
        held = wait_for("they are held", lambda: self.agent_w1()["held"])
        self.assertEqual(held["count"], TOO_MANY + 1)
        self.assertIn(held["token"], self.principal.get("/readyz"))
        self.are_listed(TOO_MANY + 1)
        row = self.ctl("deletions", "--agent", "w1").stdout.splitlines()[1]
        self.assertEqual(row.split()[:2], ["w1", str(TOO_MANY + 1)])
        [command] = commands("docs/operate/backups.md", by="tests/integration/services/argobusctl_test.py")
        [shown] = command.text.strip().splitlines()
        shown = " ".join([*shown.split()[:-1], held["token"]])
        self.assertTrue(row.endswith(shown), (row, shown))
        done = self.shell(shown)
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_for("they are deleted", lambda: not self.spoke.names("argocd"))
        wait_for("none is held", lambda: self.agent_w1()["held"] is None)

    def are_listed(self, count):
        """Over gRPC the principal has no log of what it sent before it was restarted: only the agent has them."""
        shown = self.ctl("pending", "w1")
        self.assertIn("w1/guestbook", shown.stdout)
        self.assertNotIn("not listed", shown.stderr)
        listed = [o for o in self.pending() if o[4] == "held"]
        self.assertEqual(len(listed), count)
        self.assertIn(("down", "Application", "w1/guestbook", "delete", "held"), [o[:5] for o in listed])

    def test_what_the_agent_cannot_apply_is_shown_with_what_it_says(self):
        never = {"argocd.argoproj.io/adoption-policy": "never"}
        self.spoke.write("argocd", "guestbook", application("guestbook", namespace="argocd", annotations=never))
        self.hub.write("w1", "guestbook", application("guestbook", "2"))
        self.start()
        [shown] = wait_for("it is deferred", lambda: [o for o in self.pending() if o[4] == "deferred"])
        self.assertEqual(shown[:4], ("down", "Application", "w1/guestbook", "update"))
        self.assertRegex(shown[5], "^the agent cannot apply it: .*adopt")
        self.assertLess(len(shown[5]), 1100)

    def test_a_refused_agent_is_shown_with_the_reason(self):
        self.principal.configure(dict(self.principal_config(), agents=[{"name": "w1", "mode": "autonomous"}],
                                      principal={"data": str(self.folder / "data")}))
        (self.folder / "data").mkdir()
        self.principal.start()
        self.agent.start(ready=False)
        refused = wait_for("it is refused", lambda: self.agent_w1()["refused"])
        self.assertIn("agent w1 claims mode managed, but the control plane says autonomous", refused)
        shown = self.agent_w1()
        self.assertEqual((shown["mode"], shown["claimed_mode"]), ("autonomous", "managed"))
        self.assertIn("claims mode managed", self.ctl("pending", "w1").stderr)

    def test_names_and_forms_that_are_unknown_are_refused(self):
        self.principal.start()
        for command in (["pending", "v1"], ["agent", "inspect", "v1"], ["deletions", "--agent", "v1"],
                        ["resync", "--agent", "v1"]):
            done = self.ctl(*command)
            self.assertEqual((done.returncode, done.stdout), (4, ""), command)
            self.assertEqual(done.stderr, 'argobusctl: no agent "v1" is served; the nearest name is "w1"\n')
        self.assertNotIn("nearest", self.ctl("pending", "elsewhere").stderr)
        self.assertEqual(self.ctl("lag", "-o", "xml").returncode, 2)
        self.principal.stop()
        self.assertEqual(self.ctl("lag").returncode, 3)

    def test_every_form_says_the_same(self):
        self.begin()
        as_yaml = yaml.safe_load(self.ctl("agent", "list", "-o", "yaml").stdout)
        as_json = self.show("agent", "list")
        self.assertEqual(as_yaml["agents"], as_json["agents"])
        self.assertEqual(as_json["principal"]["transport"], self.transport)
        row = dict(zip(*[line.split() for line in self.ctl("agent", "list").stdout.splitlines()]))
        self.assertEqual((row["NAME"], row["MODE"], row["CONNECTED"], row["DOWN"]), ("w1", "managed", "yes", "0"))
        self.assertEqual(row["VERSION"], as_json["agents"][0]["version"])


    def test_the_shell_completes_names_of_agents(self):
        self.principal.start()
        done = self.shell("source <(argobusctl completion bash); COMP_WORDS=(argobusctl pending ''); COMP_CWORD=2; "
                          "_argobusctl; printf '%s\\n' \"${COMPREPLY[@]}\"")
        self.assertEqual((done.stdout, done.stderr), ("w1\n", ""))
        self.principal.stop()
        done = self.shell("argobusctl __complete pending ''")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_a_plugin_of_kubectl_says_the_name_that_it_was_called_by(self):
        plugin = self.folder / "kubectl-argobus"
        plugin.symlink_to(pathlib.Path(os.environ["AB_BIN"], "argobusctl"))
        told = subprocess.run([plugin, "lag", "--help"], capture_output=True, text=True, check=True).stdout
        self.assertTrue(told.startswith("usage: kubectl argobus lag [FLAG]...\n"), told)

    def test_lag_is_shown_again_while_it_is_watched(self):
        self.principal.start()
        command = [pathlib.Path(os.environ["AB_BIN"], "argobusctl"), "--socket", self.folder / "ctl.sock", "lag", "--watch"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watch:
            self.addCleanup(watch.kill)
            lines = [watch.stdout.readline() for _ in range(5)]
            watch.terminate()
        self.assertEqual(lines[2], "\n")
        self.assertEqual((lines[0], lines[1].split()[0]), (lines[3], lines[4].split()[0]))


@only_kafka("gRPC has no topics")
class Records(Shown):
    def records(self, *args):
        return self.ctl("records", *args)

    def test_what_the_topics_hold_is_shown_to_both_programs(self):
        self.begin()
        for program in (("principal", "w1", "-c", self.principal.config), ("agent", "-c", self.agent.config)):
            done = self.records(*program, "-o", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            shown = json.loads(done.stdout)["records"]
            self.assertEqual({record["direction"] for record in shown}, {"down", "up"})
            [app] = [record for record in shown if record["direction"] == "down" and "guestbook" in record["key"]]
            self.assertEqual(revision(app["data"]), "1")
            self.assertEqual(app["attributes"]["specversion"], "1.0")
        [last] = json.loads(self.records("principal", "w1", "-c", self.principal.config, "--last", "1", "-o",
                                         "json").stdout)["records"][:1]
        self.assertEqual(json.loads(done.stdout)["records"], shown)
        self.assertEqual(last["offset"], max(record["offset"] for record in shown if record["direction"] == "down"))

    def test_a_secret_is_not_shown(self):
        self.hub.write("w1", "guestbook", application("guestbook", annotations={"clientToken": "a-hidden-word"}))
        self.start()
        self.are_pending(0)
        done = self.records("principal", "w1", "-c", self.principal.config, "-o", "yaml")
        self.assertIn("guestbook", done.stdout)
        self.assertNotIn("a-hidden-word", done.stdout)

    def test_what_is_wrong_is_said(self):
        self.principal.start()
        for code, reason, args in ((2, "needs the name of an agent", ("principal",)),
                                   (2, "is not a number from 1", ("principal", "w1", "--last", "x")),
                                   (2, "is not a name of an agent", ("principal", "../w1")),
                                   (4, "no such topic", ("principal", "w9"))):
            done = self.records(*args, "-c", self.principal.config)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(reason, done.stderr)
        done = self.records("agent", "w2", "-c", self.agent.config)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('unexpected operand "w2"', done.stderr)


@only_kafka("the page shows what Kafka's users see")
class Page(Shown):
    """docs/argobusctl.md: each ```sh block, and the ```output that follows it. Numbers and blanks do not count."""

    def normal(self, text):
        return [" ".join(re.sub(r"\d+", "N", line).split()) for line in text.splitlines() if line.strip()]

    def test_every_command_shows_what_the_page_says(self):
        fleet = self.serve_fleet()
        (self.folder / "principal.yaml").symlink_to(self.principal.config)
        self.begin()
        self.agent.stop()
        self.hub.write("w1", "guestbook", application("guestbook", "2"))
        self.are_pending(1)
        wait_for("the principal notices", lambda: not self.agent_w1()["connected"])
        for command in commands("docs/argobusctl.md"):
            done = self.shell(command.text.replace("localhost:8090", fleet))
            self.assertEqual(done.returncode, 0, f"{command.text}\n{done.stdout}\n{done.stderr}")
            shown = self.normal(done.stdout + done.stderr)
            for line in self.normal(command.output):
                self.assertIn(line, shown, command.text)


@only_kafka("over gRPC nothing is kept")
class OneFile(Shown):
    """An agent whose certificate and key are in one file, as other tools write them."""

    def agent_config(self):
        file = self.folder / "w1.pem"
        if not file.exists():
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                            "/CN=w1", "-keyout", file, "-out", self.folder / "w1.crt"], check=True, capture_output=True)
            file.write_text(file.read_text() + (self.folder / "w1.crt").read_text())
        return {**super().agent_config(), "secrets": {"certificate": str(file), "key": str(file)}}

    def kept(self):
        topic = self.topic("up").removesuffix("state") + "live"
        return kcat("-C", "-e", "-q", "-t", topic, capture_output=True).stdout

    def test_the_topic_has_its_certificate_and_not_its_key(self):
        self.start()
        wait_for("the agent is connected", lambda: self.agent_w1()["connected"])
        kept = wait_for("the topic is read", lambda: (text := self.kept()) and "BEGIN CERTIFICATE" in text and text)
        self.assertNotIn("PRIVATE KEY", kept)


@unittest.skipUnless(Fleet.transport == "grpc", "a broker would have to make 12,000 topics")
class ManyAgents(Shown):
    COUNT = 3000

    def principal_config(self):
        return dict(super().principal_config(), agents=[{"name": f"w{i}"} for i in range(self.COUNT)])

    def test_three_thousand_agents_are_listed_within_a_second(self):
        self.principal.start()
        began = time.monotonic()
        shown = self.show("agent", "list")
        took = time.monotonic() - began
        self.assertEqual(len(shown["agents"]), self.COUNT)
        self.assertLess(took, 1)


if __name__ == "__main__":
    unittest.main()
