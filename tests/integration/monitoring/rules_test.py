#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The alert rules: promtool runs their unit tests, and each has what an operator who is woken up needs."""
import re
import shutil
import subprocess
import tempfile
import pathlib
import unittest

import yaml

import assets


def promtool(*args, **options):
    return subprocess.run(["promtool", *args], capture_output=True, text=True, timeout=60, check=False, **options)


def series_of(test):
    """(metric, labels) of each input series."""
    for entry in test["input_series"]:
        name, labels = re.fullmatch(r"(\w+)\{(.*)\}", entry["series"]).groups()
        yield name, set(re.findall(r'(\w+)="', labels)) - {"job", "instance"}


class Rules(unittest.TestCase):
    def setUp(self):
        self.tests = yaml.safe_load(assets.RULES_TEST.read_text())["tests"]

    def test_the_unit_tests_of_the_rules_pass(self):
        done = promtool("check", "rules", assets.RULES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = promtool("test", "rules", assets.RULES_TEST.name, cwd=assets.FOLDER)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_names_of_argocd_agent_are_computed(self):
        for command in (("check", "rules", assets.NAMES.name), ("test", "rules", assets.NAMES_TEST.name)):
            done = promtool(*command, cwd=assets.FOLDER)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rules = [rule for group in yaml.safe_load(assets.NAMES.read_text())["groups"] for rule in group["rules"]]
        seen = {case["expr"] for test in yaml.safe_load(assets.NAMES_TEST.read_text())["tests"]
                for case in test["promql_expr_test"] if case["exp_samples"]}
        self.assertEqual(sorted(rule["record"] for rule in rules), sorted(seen))
        for rule in rules:
            self.assertLessEqual(assets.metrics_of(rule["expr"]), set(assets.documented()), rule["record"])

    def test_each_alert_is_seen_to_fire_and_to_stay_silent(self):
        for alert in assets.alerts():
            cases = [case for test in self.tests for case in test["alert_rule_test"] if case["alertname"] == alert["alert"]]
            self.assertTrue(any(case.get("exp_alerts") for case in cases), f"{alert['alert']} is never seen to fire")
            self.assertTrue(any(not case.get("exp_alerts") for case in cases), f"{alert['alert']} is never seen silent")

    def test_a_rule_that_is_taken_away_or_broken_is_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(assets.RULES_TEST, folder)
            for old, new in (("argobus_deletions_held > 0", "argobus_deletions_held > 100"), ("14 * 86400", "1 * 86400")):
                broken = assets.RULES.read_text().replace(old, new)
                self.assertNotEqual(broken, assets.RULES.read_text())
                pathlib.Path(folder, assets.RULES.name).write_text(broken)
                self.assertNotEqual(promtool("test", "rules", assets.RULES_TEST.name, cwd=folder).returncode, 0, new)

    def test_each_alert_has_severity_texts_and_a_runbook(self):
        sections = re.split(r"^## ", assets.RUNBOOKS.read_text(), flags=re.M)[1:]
        runbooks = {section.split("\n", 1)[0]: section for section in sections}
        for alert in assets.alerts():
            name = alert["alert"]
            self.assertIn(alert["labels"]["severity"], ("warning", "critical"), name)
            self.assertEqual(set(alert["annotations"]), {"summary", "description", "runbook_url"}, name)
            self.assertEqual(alert["annotations"]["runbook_url"], f"docs/operate/runbooks.md#{name.lower()}")
            for part in ("What it means", "How to look", "What to do"):
                self.assertIn(f"**{part}.**", runbooks[name], name)
        self.assertEqual(sorted(runbooks), sorted(alert["alert"] for alert in assets.alerts()))

    def test_every_metric_is_one_of_the_programs(self):
        known = assets.documented()
        used = {metric for alert in assets.alerts() for metric in assets.metrics_of(alert["expr"])}
        for name, dashboard in assets.dashboards():
            for title, query in assets.queries(dashboard):
                self.assertLessEqual(assets.metrics_of(query), set(known), f"{name}: {title}")
            for variable, selector, _ in assets.label_values(dashboard):
                self.assertLessEqual(assets.metrics_of(selector), set(known), f"{name}: ${variable}")
        self.assertLessEqual(used, set(known))

    def test_the_series_of_the_unit_tests_have_the_labels_of_the_programs(self):
        known = assets.documented()
        for test in self.tests:
            for name, labels in series_of(test):
                self.assertLessEqual(labels, known[name], name)


if __name__ == "__main__":
    unittest.main()
