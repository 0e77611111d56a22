#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus scrapes a real principal and a real agent on a real broker: it takes the rules, every query of the dashboards runs,
those of argobus have data, their variables have values, and the commands of docs/operate/monitoring.md show what the page says."""
import json
import os
import re
import subprocess
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import yaml

import assets
from daemons import Fleet, application
from documented import commands
from ports import free_port
from waiting import wait_for

# What the variables of the dashboards are when "all" is chosen, and what Grafana puts in by itself.
VARIABLES = {"$__rate_interval": "30s", "$job": ".*", "$agent": "w1"}
# Nothing has failed in this fleet, so these have no series yet.
QUIET = {"Reconnections and send failures", "Trouble"}
# The broker's side comes from an exporter, which is not there: the queries must run, and show nothing.
FOREIGN = "kafka_"


class Prometheus:
    def __init__(self, folder, targets):
        self.port = free_port()
        folder.mkdir()
        config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                  "rule_files": [str(assets.RULES)],
                  "scrape_configs": [{"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
                                     for job, port in targets.items()]}
        path = folder / "prometheus.yml"
        path.write_text(yaml.safe_dump(config))
        self.log = open(folder / "log", "wb")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={path}", f"--storage.tsdb.path={folder / 'data'}",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def get(self, path, **parameters):
        """The data of an answer; an error of Prometheus raises."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it is starting
                raise
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error

    def query(self, expression):
        return self.get("query", query=expression)["result"]

    def is_scraping(self):
        try:
            return len(self.query("rate(argobus_loop_turn_max_seconds[30s])")) == 2
        except OSError:
            return False


def normal(text):
    """Without what differs from run to run, and the commit, which a build outside of git does not know."""
    without_commit = re.sub(r',commit="[^"]*"', "", text)
    return [" ".join(re.sub(r"\d[\d.e+-]*", "N", line).split()) for line in without_commit.splitlines() if line.strip()]


class Monitored(Fleet):
    def setUp(self):
        super().setUp()
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        self.spoke.set_status("argocd", "guestbook", {"sync": {"status": "Synced"}})
        wait_for("the status is at the hub", lambda: self.hub.status("w1", "guestbook"))
        self.prometheus = Prometheus(self.folder / "prometheus",
                                     {"argobus-principal": self.principal.port, "argobus-agent": self.agent.port})
        self.addCleanup(self.prometheus.stop)
        wait_for("Prometheus scrapes both", self.prometheus.is_scraping)

    def shown(self, daemon, pattern):
        text = wait_for("/metrics answers", lambda: daemon.get("/metrics"))
        found = re.search(rf"^{pattern} (\S+)$", text, re.M)
        self.assertIsNotNone(found, pattern)
        return float(found.group(1))

    def check_the_latency(self):
        """The one change down and the one status up, in real time."""
        for daemon, direction in ((self.agent, "down"), (self.principal, "up")):
            family = "argobus_change_latency_seconds"
            self.assertGreaterEqual(self.shown(daemon, rf'{family}_count{{direction="{direction}"}}'), 1)
            seconds = self.shown(daemon, rf'{family}_sum{{direction="{direction}"}}')
            self.assertGreater(seconds, 0)
            self.assertLess(seconds, 60)

    def check_when_the_peer_was_seen(self):
        for daemon in (self.principal, self.agent):
            seen = self.shown(daemon, r'argobus_peer_last_seen_timestamp_seconds{agent="w1"}')
            self.assertLess(abs(time.time() - seen), 60)

    def check_the_rules(self):
        wait_for("the rules were evaluated", lambda: all(
            rule["health"] == "ok" for group in self.prometheus.get("rules")["groups"] for rule in group["rules"]))
        groups = self.prometheus.get("rules")["groups"]
        self.assertEqual(sum(len(group["rules"]) for group in groups), len(assets.alerts()))
        self.assertEqual(self.prometheus.get("alerts")["alerts"], [])

    def check_the_series_of_the_unit_tests(self):
        """Those that exist without trouble have just these labels, so the unit tests are about the real ones."""
        known = {name: set() for name in ("argobus_peer_up", "argobus_offset_lag", "argobus_outbox_events",
                                          "argobus_changes_pending_age_seconds", "argobus_set_aside_total",
                                          "argobus_resyncs_total", "argobus_unsettled", "argobus_peer_rivals")}
        for name in known:
            for series in self.prometheus.query(name):
                known[name].add(frozenset(set(series["metric"]) - {"__name__"}))
        tests = yaml.safe_load(assets.RULES_TEST.read_text())["tests"]
        compared = set()
        for entry in (entry for test in tests for entry in test["input_series"]):
            name, labels = re.fullmatch(r"(\w+)\{(.*)\}", entry["series"]).groups()
            if name in known:
                self.assertIn(frozenset(re.findall(r'(\w+)="', labels)), known[name], name)
                compared.add(name)
        self.assertEqual(compared, set(known))

    def empty_variables(self, dashboard):
        """Variables without a value to choose: the query that Grafana makes of label_values finds none."""
        lookups = assets.label_values(dashboard)
        return [name for name, selector, label in lookups if not selector.startswith(FOREIGN)
                and not self.prometheus.get(f"label/{label}/values", **{"match[]": selector})]

    def check_the_variables(self):
        looked_up = [lookup for _, dashboard in assets.dashboards() for lookup in assets.label_values(dashboard)]
        self.assertGreater(len(looked_up), 2)
        for name, dashboard in assets.dashboards():
            self.assertEqual(self.empty_variables(dashboard), [], name)

    def check_that_a_misspelt_variable_is_found(self):
        agent = dict(assets.dashboards())["agent"]
        [variable] = [v for v in agent["templating"]["list"] if v["name"] == "agent"]
        sound = variable["query"]
        for right, wrong in (("argobus_", "argobuss_"), (", agent)", ", agnet)")):
            variable["query"] = sound.replace(right, wrong)
            self.assertEqual(self.empty_variables(agent), ["agent"], variable["query"])

    def check_the_dashboards(self):
        variables = dict(VARIABLES, **{"$prefix": self.prefix})
        for name, dashboard in assets.dashboards():
            for title, query in assets.queries(dashboard):
                for variable, value in variables.items():
                    query = query.replace(variable, value)
                result = self.prometheus.query(query)
                if FOREIGN not in query and title not in QUIET:
                    self.assertTrue(result or "certificate" in query, f"{name}: {title}: no data for {query}")

    def check_the_page(self):
        env = {"PATH": "/usr/bin:/bin", "PRINCIPAL": f"127.0.0.1:{self.principal.port}",
               "AGENT": f"127.0.0.1:{self.agent.port}", "PROMETHEUS": f"127.0.0.1:{self.prometheus.port}"}
        for command in commands("docs/operate/monitoring.md", env=env):
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", command.text], env=env, cwd=assets.ROOT,
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, f"{command.text}\n{done.stdout}\n{done.stderr}")
            lines = normal(done.stdout + done.stderr)
            for line in normal(command.output):
                self.assertIn(line, lines, f"{command.text}\n{done.stdout}")

    def test_prometheus_sees_the_fleet(self):
        self.check_the_latency()
        self.check_when_the_peer_was_seen()
        self.check_the_rules()
        self.check_the_series_of_the_unit_tests()
        self.check_the_variables()
        self.check_that_a_misspelt_variable_is_found()
        self.check_the_dashboards()
        self.check_the_page()

    @unittest.skipUnless("MONITORING_LONG" in os.environ, "takes as long as missing three heartbeats")
    def test_an_agent_that_is_killed_grows_silent_and_alerts(self):
        self.agent.kill()
        wait_for("the principal has lost it",
                 lambda: self.shown(self.principal, r'argobus_peer_up{agent="w1"}') == 0, 120)
        silent = "time() - argobus_peer_last_seen_timestamp_seconds"
        wait_for("it is silent", lambda: any(float(s["value"][1]) > 20 for s in self.prometheus.query(silent)), 60)
        wait_for("the alert is pending", lambda: "ArgobusAgentSilent" in
                 [alert["labels"]["alertname"] for alert in self.prometheus.get("alerts")["alerts"]], 60)


if __name__ == "__main__":
    unittest.main()
