#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The alert rules on what real programs serve: a principal and an agent on a real broker are read while all is well and then in
trouble, promtool evaluates the rules as if each had lasted, and just the expected alerts fire."""
import re
import shutil
import subprocess
import unittest

import yaml

import assets
from daemons import Daemon, Fleet, Objects, application
from waiting import wait_for

MINUTES = 30  # of each state: longer than any alert but that of certificates waits
SERIES = re.compile(r"^(argobus_\w+)(?:\{(.*)\})? (\S+)$", re.M)
AGE = "argobus_changes_pending_age_seconds"
PROJECT = {"sourceRepos": ["*"], "destinations": [{"name": "*", "namespace": "*"}], "sourceNamespaces": ["*"]}
MOVING = ("argobus_offset_lag{", "argobus_outbox_events{")
USED = {metric for alert in assets.alerts() for metric in assets.metrics_of(alert["expr"])}


def labelled(name, labels):
    return name + "{" + ",".join(label for label in labels if label) + "}"


class Alerts(Fleet):
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

    def read_calm(self, apart=()):
        """The same without series that begin so, when nothing is on its way, which would not last."""
        def calm():
            found = {series: value for series, value in self.read().items() if not series.startswith(apart)}
            moving = [value for series, value in found.items() if series.startswith(MOVING)]
            return found if apart or set(moving) == {"0"} else None
        return wait_for("nothing is on its way", calm)

    def series(self, apart):
        """Input series of promtool: well for MINUTES, and as long as it is now. An age grows on, by a minute a minute."""
        now = self.read_calm(apart)
        for series in sorted(series for series in self.before.keys() | now.keys() if not series.startswith(apart)):
            values = [self.before.get(series, "_")] * MINUTES
            if series not in now:
                values += ["stale"] + ["_"] * MINUTES
            elif series.startswith(AGE) and float(now[series]) > 0:
                values += [str(float(now[series]) + 60 * i) for i in range(MINUTES + 1)]
            else:
                values += [now[series]] * (MINUTES + 1)
            yield {"series": series, "values": " ".join(values)}

    def fires(self, *expected, apart=()):
        """Each is "alert label=value ..."; no other alert may fire since, and none before. Series that begin as one of `apart`
        are left out."""
        samples = [{"labels": labelled("", (f'{part.partition("=")[0]}="{part.partition("=")[2]}"' for part in
                                            f"alertname={alert}".split())), "value": 1} for alert in expected]
        query = f"group by (alertname, agent, kind, direction) (last_over_time(ALERTS{{alertstate='firing'}}[{MINUTES}m]))"
        case = {"rule_files": [str(assets.RULES)], "evaluation_interval": "1m", "tests": [{
            "interval": "1m", "input_series": list(self.series(apart)), "promql_expr_test": [
                {"expr": query, "eval_time": f"{MINUTES - 1}m", "exp_samples": []},
                {"expr": query, "eval_time": f"{2 * MINUTES}m", "exp_samples": samples}]}]}
        path = self.folder / "alerts_test.yaml"
        path.write_text(yaml.safe_dump(case))
        done = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

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
        # What it sent before it knew stays where it is: in the log, or in the outbox.
        self.fires("ArgobusAgentRefused agent=w1", "ArgobusChangesPendingLong agent=w1 direction=up", apart=MOVING)


if __name__ == "__main__":
    unittest.main()
