#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strimzi's own CRDs, on a real API server, take every KafkaTopic and KafkaUser that argobus makes: those of the chart, of
deploy/kafka/strimzi and of argobusctl, and the Kafka resource of docs/operate/strimzi.md (server-side dry run, unknown fields
refused).

The environment is as tests/support/kube/kube.cmake sets it, with HELM_DEV, STRIMZI_DEV and AB_BIN.
"""
import copy
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml
from chart import PRINCIPAL, ROOT, merged, render
from waiting import wait_for

FOLDER = ROOT / "deploy/kafka/strimzi"
VERSIONS = ("v1", "v1beta2")
KINDS = ("KafkaTopic", "KafkaUser")
# Names that YAML would take for numbers or booleans.
NAMES = ["w1", "1e3", "0x10", "12", "true", "null"]
SASL = {"kafka": {"sasl": {"mechanism": "SCRAM-SHA-512", "username": "principal", "passwordSecret": {"name": "p"}}}}


def kubectl(*args, text=None):
    return subprocess.run([os.environ["KUBE_DEV"], "kubectl", "test", *args], input=text, text=True, capture_output=True,
                          timeout=300)


def apply_crds(case):
    """Of tests/support/strimzi: both versions are served."""
    folder = subprocess.run([os.environ["STRIMZI_DEV"], "crds"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    done = kubectl("apply", "--server-side", *(f"--filename={path}" for path in pathlib.Path(folder).glob("*.yaml")))
    case.assertEqual(done.returncode, 0, done.stderr)
    names = [f"crd/{kind.lower()}s.kafka.strimzi.io" for kind in ("Kafka", *KINDS)]
    # kubectl fails at once on a CRD that has no conditions yet.
    wait_for("the CRDs are established", lambda: kubectl("wait", "--for=condition=Established", "--timeout=60s", *names).returncode == 0)


def in_version(resources, version):
    return [{**resource, "apiVersion": f"kafka.strimzi.io/{version}"} for resource in resources]


def shipped():
    return [resource for path in FOLDER.glob("*.yaml") for resource in yaml.safe_load_all(path.read_text())]


def kafka_of_the_page():
    [text] = re.findall(r"^```yaml\n(# part of the Kafka resource\n.*?)^```$", (ROOT / "docs/operate/strimzi.md").read_text(),
                        re.MULTILINE | re.DOTALL)
    return yaml.safe_load(text)


class Strimzi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        apply_crds(cls())

    def create(self, resources):
        return kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-",
                       text=json.dumps({"apiVersion": "v1", "kind": "List", "items": resources}))

    def check(self, resources):
        self.assertEqual({resource["kind"] for resource in resources}, set(KINDS))
        done = self.create(resources)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), len(resources))

    def refused(self, resource, said):
        done = self.create([resource])
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn(said, done.stderr)

    def test_it_takes_the_files(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.check(in_version(shipped(), version))

    def test_it_takes_what_the_chart_makes(self):
        values = {"strimzi": {"enabled": True, "cluster": "1e3", "agents": NAMES}}
        for version in VERSIONS:
            for more in ({}, SASL, {"kafka": {"topics": "create"}}, {"kafka": {"prefix": "1"}}):
                with self.subTest(version, **more):
                    rendered = render(merged(merged(PRINCIPAL, values), merged(more, {"strimzi": {"apiVersion": version}})))
                    resources = [o for o in rendered if o["kind"] in KINDS]
                    self.assertEqual({o["apiVersion"] for o in resources}, {f"kafka.strimzi.io/{version}"})
                    self.check(resources)

    def test_it_takes_what_argobusctl_writes(self):
        with tempfile.TemporaryDirectory() as folder:
            ctl = pathlib.Path(os.environ["AB_BIN"], "argobusctl")
            subprocess.run([ctl, "pki", "init"], check=True, cwd=folder, capture_output=True, timeout=60)
            for name in NAMES:
                subprocess.run([ctl, "agent", "create", name, "--brokers", "k:9093", "--strimzi-cluster", "1e3"], check=True,
                               cwd=folder, capture_output=True, timeout=60)
                made = list(yaml.safe_load_all(pathlib.Path(folder, name, "strimzi.yaml").read_text()))
                for version in VERSIONS:
                    with self.subTest(name, version=version):
                        self.check(in_version(made, version))

    def test_it_takes_the_kafka_of_the_page(self):
        for version in VERSIONS:
            with self.subTest(version):
                [kafka] = in_version([kafka_of_the_page()], version)
                done = self.create([kafka])
                self.assertEqual((done.returncode, done.stdout.strip()), (0, "kafka.kafka.strimzi.io/hub created (server dry run)"), done.stderr)
                kafka["spec"]["kafka"]["listeners"][0]["type"] = "loadbalance"
                self.refused(kafka, "loadbalance")

    def test_what_all_make_is_of_the_version_that_the_newest_strimzi_serves(self):
        self.assertEqual({resource["apiVersion"] for resource in [*shipped(), kafka_of_the_page()]}, {"kafka.strimzi.io/v1"})

    def test_it_refuses_what_it_does_not_know(self):
        [user] = [r for r in shipped() if r["kind"] == "KafkaUser" and r["metadata"]["name"] == "w1"]
        for version in VERSIONS:
            [good] = in_version([user], version)
            unknown, operation = copy.deepcopy(good), copy.deepcopy(good)
            unknown["spec"]["quota"] = {}
            operation["spec"]["authorization"]["acls"][0]["operations"] = ["Reed"]
            self.refused(unknown, 'unknown field "quota"')
            self.refused(operation, "Reed")
        self.refused(in_version([user], "v1beta3")[0], "no matches for kind")


if __name__ == "__main__":
    unittest.main()
