#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The alert rules on what real programs serve: a principal and an agent on a real broker are read while all is well and then in
trouble, promtool evaluates the rules as if each had lasted, and just the expected alerts fire."""
import os
import pathlib
import re
import shutil
import subprocess
import time
import unittest
from unittest import mock

import yaml

import assets
from daemons import Daemon, Fleet, Objects, application, broker_ports, kafka_dev, kcat
from held_disk import Disk
from waiting import wait_for

MINUTES = 30  # of each state: longer than any alert but that of certificates waits
MINUTES_OF_CERTIFICATES = 90
SERIES = re.compile(r"^(argobus_\w+)(?:\{(.*)\})? (\S+)$", re.M)
AGE = "argobus_changes_pending_age_seconds"
PROJECT = {"sourceRepos": ["*"], "destinations": [{"name": "*", "namespace": "*"}], "sourceNamespaces": ["*"]}
LAG, OUTBOX = "argobus_offset_lag{", "argobus_outbox_events{"
MOVING = (LAG, OUTBOX)
EXPIRY = ("argobus_certificate_expiry_timestamp_seconds{", "argobus_agent_certificate_expiry_timestamp_seconds{")
USED = {metric for alert in assets.alerts() for metric in assets.metrics_of(alert["expr"])}


def labelled(name, labels):
    return name + "{" + ",".join(label for label in labels if label) + "}"


def in_time_of_promtool(series, value, begin_s):
    """Its clock begins at 0, and the state at `begin_s`: what expires does so as long after it as it will from now on."""
    return str(float(value) - time.time() + begin_s) if series.startswith(EXPIRY) and float(value) > 0 else value


class Troubled(Fleet):
    def setUp(self):
        super().setUp()
        for i in range(3):
            self.hub.write("w1", f"app-{i}", application(f"app-{i}"))
        self.principal.start("--set", "sync.max-deletions=1", "--set", "sync.max-deletions-percent=1")
        self.agent.start()
        self.programs = {"argobus-principal": self.principal, "argobus-agent": self.agent}
        wait_for("all are there", lambda: len(self.spoke.names("argocd")) == 3)
        wait_for("nothing is pending", lambda: self.pending() == {0})
        self.before = self.read_calm()

    def pending(self):
        return set(self.principal.series("argobus_changes_pending").values())

    def read(self):
        """What Prometheus would have, of that which the rules use: the values, by the text of the series."""
        found = {}
        for job, daemon in self.programs.items():
            page = wait_for("/metrics answers", lambda: daemon.get("/metrics")) if daemon.process else ""
            for name, labels, value in SERIES.findall(page):
                if name in USED:
                    found[labelled(name, (labels, f'instance="{job}:80"', f'job="{job}"'))] = value
        return found

    def read_calm(self, apart=(), standing=()):
        """The same without series that begin so, when nothing is on its way (it would not last), except in those of `standing`."""
        def calm():
            found = {series: value for series, value in self.read().items() if not series.startswith(apart)}
            moving = [value for series, value in found.items() if series.startswith(MOVING) and not series.startswith(standing)]
            return found if apart or set(moving) <= {"0"} else None
        return wait_for("nothing is on its way", calm)

    def series(self, minutes, apart, standing):
        """Input series of promtool: well for `minutes`, and as long as it is now. An age grows on, by a minute a minute."""
        now = self.read_calm(apart, standing)
        for series in sorted(series for series in self.before.keys() | now.keys() if not series.startswith(apart)):
            values = [in_time_of_promtool(series, self.before.get(series, "_"), 0)] * minutes
            if series not in now:
                values += ["stale"] + ["_"] * minutes
            elif series.startswith(AGE) and float(now[series]) > 0:
                values += [str(float(now[series]) + 60 * i) for i in range(minutes + 1)]
            else:
                values += [in_time_of_promtool(series, now[series], 60 * minutes)] * (minutes + 1)
            yield {"series": series, "values": " ".join(values)}

    def fires(self, *expected, apart=(), standing=(), minutes=MINUTES):
        """Each is "alert label=value ..."; no other alert may fire since, and none before. Series that begin as one of `apart`
        are left out; those of `standing` stay as they are, where others of what is on its way must come to 0."""
        samples = [{"labels": labelled("", (f'{part.partition("=")[0]}="{part.partition("=")[2]}"' for part in
                                            f"alertname={alert}".split())), "value": 1} for alert in expected]
        query = f"group by (alertname, agent, kind, direction) (last_over_time(ALERTS{{alertstate='firing'}}[{minutes}m]))"
        case = {"rule_files": [str(assets.RULES)], "evaluation_interval": "1m", "tests": [{
            "interval": "1m", "input_series": list(self.series(minutes, apart, standing)), "promql_expr_test": [
                {"expr": query, "eval_time": f"{minutes - 1}m", "exp_samples": []},
                {"expr": query, "eval_time": f"{2 * minutes}m", "exp_samples": samples}]}]}
        path = self.folder / "alerts_test.yaml"
        path.write_text(yaml.safe_dump(case))
        done = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Alerts(Troubled):
    def test_while_all_is_well_no_alert_fires(self):
        self.fires()

    def test_an_agent_that_stopped(self):
        self.agent.stop()
        wait_for("the principal knows", lambda: self.principal.metric("argobus_peer_up") == 0)
        self.hub.write("w1", "app-0", application("app-0", "2"))
        wait_for("its change waits", lambda: 1 in self.pending())
        self.fires("ArgobusAgentSilent agent=w1")

    def test_a_principal_that_stopped(self):
        self.principal.stop()
        wait_for("the agent knows", lambda: self.agent.metric("argobus_peer_up") == 0)
        self.fires("ArgobusPrincipalDown", "ArgobusPrincipalUnreachable agent=w1")

    def test_deletions_that_are_held(self):
        (self.folder / "hub" / "w1").rename(self.folder / "aside")
        wait_for("the guard holds", lambda: self.principal.metric("argobus_deletions_held") == 3)
        self.fires("ArgobusDeletionsHeld agent=w1")

    def block(self, kind, name):
        """A folder stands where the agent's file of the object should be."""
        (self.folder / "w1" / "argocd" / kind / f"{name}.yaml" / "in").mkdir(parents=True)

    def test_a_shared_object_that_cannot_be_written(self):
        self.block("AppProject", "shared")
        Objects(self.hub).write({"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "spec": PROJECT,
                                 "metadata": {"name": "shared", "namespace": "argocd"}})
        wait_for("the principal knows", lambda: self.principal.metric("argobus_agent_errors") == 1)
        wait_for("it is pending", lambda: self.principal.metric(AGE) > 0)
        self.fires("ArgobusObjectRefused agent=w1 kind=AppProject", "ArgobusChangesDeferred",
                   "ArgobusChangesPendingLong agent=w1 direction=down")

    def test_a_change_that_cannot_be_written(self):
        self.block("Application", "blocked")
        self.hub.write("w1", "blocked", application("blocked"))
        wait_for("it is deferred", lambda: self.agent.metric("argobus_set_aside_total") == 1)
        wait_for("it is pending", lambda: self.principal.metric(AGE) > 0)
        self.fires("ArgobusChangesDeferred", "ArgobusChangesPendingLong agent=w1 direction=down")

    def test_a_change_that_waits_for_a_disk_that_hangs(self):
        self.agent.stop()
        disk = Disk(self.agent, self.folder / "agent" / "data")
        self.agent.start()
        with disk.held():
            self.hub.write("w1", "app-0", application("app-0", "2"))
            wait_for("its record waits", lambda: self.agent.metric("argobus_offset_lag") > 0)
            wait_for("it is pending", lambda: self.principal.metric(AGE) > 0)
            self.fires("ArgobusOffsetLag agent=w1", "ArgobusChangesPendingLong agent=w1 direction=down", standing=(LAG,))
        self.fires()

    def test_an_event_that_cannot_be_read(self):
        kcat("-P", "-t", self.topic("up"), "-k", "Application/argocd/app-0", input="no event")
        wait_for("it is refused", lambda: self.principal.metric("argobus_events_refused_total") > 0)
        self.fires("ArgobusEventsRefused")

    def test_two_agents_of_one_name(self):
        config = self.agent_config()
        config["agent"]["data"] = str(self.folder / "second-data")
        shutil.copytree(self.folder / "w1", self.folder / "second-store")
        config["store"]["directory"]["path"] = str(self.folder / "second-store")
        (self.folder / "second-data").mkdir()
        second = Daemon("argobus-agent", self.folder / "second", config)
        self.addCleanup(second.kill)
        second.start(ready=False)
        wait_for("the first one stops", lambda: self.agent.metric("argobus_peer_rivals") == 1)
        self.fires("ArgobusDuplicateName agent=w1")
        second.kill()
        wait_for("it goes on", lambda: self.agent.metric("argobus_peer_rivals") == 0)
        self.fires()

    def test_an_agent_of_another_mode(self):
        self.agent.stop()
        config = self.agent_config()
        config["agent"]["mode"] = "autonomous"
        self.agent.configure(config)
        self.agent.start(ready=False)
        for daemon in (self.principal, self.agent):
            wait_for("both refuse", lambda: daemon.metric("argobus_agent_refused") == 1)
        # It may have sent something before it knew: that waits, or was refused.
        self.fires("ArgobusAgentRefused agent=w1", apart=(*MOVING, AGE, "argobus_events_refused_total{"))


class BrokerAway(Troubled):
    """On a broker of its own, since it goes down."""

    def setUp(self):
        home = os.environ["KAFKA_DEV_HOME"] + "-alerts"
        self.enterContext(mock.patch.dict(os.environ, {"KAFKA_DEV_HOME": home}))
        kafka_dev("fresh")
        self.addCleanup(kafka_dev, "kill")
        super().setUp()

    def test_events_that_cannot_be_sent(self):
        kafka_dev("kill")
        self.hub.write("w1", "app-0", application("app-0", "2"))
        wait_for("it waits in the outbox", lambda: self.principal.metric("argobus_outbox_events") == 1)
        for daemon in (self.principal, self.agent):
            wait_for("neither hears the other", lambda: daemon.metric("argobus_peer_up") == 0)
        self.fires("ArgobusOutboxStuck agent=w1", "ArgobusAgentSilent agent=w1", "ArgobusPrincipalUnreachable agent=w1",
                   standing=(OUTBOX,))


class Certificates(Troubled):
    """Both programs have one certificate, whose user may do everything at the broker; to it the agent's Secrets are sealed, too."""

    def kafka(self, **more):
        self.tls = self.folder / "tls"
        if not self.tls.exists():
            self.tls.mkdir()
            subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.tls / "key"], check=True)
            kafka_dev("cert", "admin")  # makes the authority where there is none yet
            self.issue(90)
        files = {"ca": self.authority(".crt"), "cert": self.tls / "crt", "key": self.tls / "key"}
        return {"brokers": [f"127.0.0.1:{broker_ports()['tls']}"], "prefix": self.prefix,
                "tls": {name: str(path) for name, path in files.items()}, **more}

    def authority(self, suffix):
        return pathlib.Path(os.environ["KAFKA_DEV_HOME"], "tls", f"ca{suffix}")

    def issue(self, days):
        request, new = self.tls / "csr", self.tls / "new"
        extensions = self.tls / "extensions"
        extensions.write_text("subjectAltName=URI:spiffe://example.org/agent/w1\n")
        subprocess.run(["openssl", "req", "-new", "-key", self.tls / "key", "-subj", "/CN=admin", "-out", request], check=True)
        subprocess.run(["openssl", "x509", "-req", "-in", request, "-CA", self.authority(".crt"), "-CAkey", self.authority(".key"),
                        "-days", str(days), "-extfile", extensions, "-out", new], check=True, stderr=subprocess.DEVNULL)
        new.rename(self.tls / "crt")

    def principal_config(self):
        return dict(super().principal_config(), secrets={"identity": "uri:^spiffe://example.org/agent/([^/]+)$"})

    def read_calm(self, apart=(), standing=()):
        sealed = "argobus_agent_certificate_expiry_timestamp_seconds"
        wait_for("Secrets are sealed to the certificate of now", lambda: self.principal.metric(sealed) == self.principal.series(
            "argobus_certificate_expiry_timestamp_seconds")['option="kafka.tls.cert"'])
        return super().read_calm(apart, standing)

    def expires(self, days, *alerts):
        self.issue(days)
        self.fires(*(alert + agent for alert in alerts for agent in ("", " agent=w1")), minutes=MINUTES_OF_CERTIFICATES)

    def test_a_certificate_that_expires(self):
        self.expires(30)
        self.expires(10, "ArgobusCertificateExpiresSoon")
        self.expires(2, "ArgobusCertificateExpiresSoon", "ArgobusCertificateExpiresNow")


if __name__ == "__main__":
    unittest.main()
