#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How commands of argobusctl end: each exit code of docs/argobusctl.md, over the control socket and over the server of the fleet
page."""
import os
import pathlib
import re
import subprocess
import unittest

import yaml

from argobusctl_test import Shown
from daemons import free_port, only_kafka

ROOT = pathlib.Path(__file__).resolve().parents[3]
UNKNOWN = "0" * 64  # fingerprint of no certificate

# Code, what is said, and the command, while the principal runs: asked in either way, by the socket, by the server, and of neither.
BOTH = ((0, "", "lag"), (0, "", "agent list"), (0, "", "agent inspect w1"), (0, "", "pending w1"), (0, "no deletions", "deletions"),
        (2, "unknown flag --nothing of lag", "lag --nothing"), (2, '"xml" is not table', "lag -o xml"),
        (2, "pending: needs AGENT", "pending"), (2, 'unexpected operand "w2"', "pending w1 w2"),
        (2, 'unknown command "agent lsit"', "agent lsit"), (4, "no ", "pending v1"), (4, "no ", "agent inspect v1"),
        (4, "no ", "deletions --agent v1"))
SOCKET = ((0, "", "resync --agent w1"), (2, "name the agent", "resync --confirm fd0f3c1a"), (4, 'the nearest name is "w1"', "resync --agent v1"))
SERVER = ((1, "show a token of fleet.tokens", "lag --token-file w1.crt"), (2, "needs the control socket", "resync --agent w1"),
          (2, "does not begin with https://", "lag --server localhost"), (3, "certificate", "lag --server-ca w1.crt"))
NEITHER = ((0, "", "pki inspect w1.crt"), (1, "No such file", "pki inspect nowhere.crt"), (1, "there is a CA", "pki init"),
           (0, "", "check kafka -c near.yaml"), (1, "", "check kafka -c away.yaml"), (1, "", "check agent -c away.yaml"),
           (2, "is not one of: agent | principal | kafka", "check nothing -c away.yaml"),
           (2, "unknown flag -o of pki init", "pki init -o json"), (3, "broker connections are down", "records principal w1 -c away.yaml"),
           (3, "no broker answers", "agent create w2 --brokers k:9093 -c away.yaml"),
           (3, "127.0.0.1:1", "revoked --configmap --kubeconfig kubeconfig"), (4, UNKNOWN[:8], f"unrevoke {UNKNOWN} --file revoked"))
STOPPED = ((3, "", "lag"), (3, "", "agent list"), (3, "", "pending w1"))
STOPPED_SOCKET = ((3, "does a principal listen there", "resync --agent w1"),)


@only_kafka("some of the commands ask brokers")
class ExitCodes(Shown):
    def setUp(self):
        super().setUp()
        self.fleet = self.serve_fleet()
        self.ways = {"socket": {"ARGOBUS_CONTROL_SOCKET": str(self.folder / "ctl.sock")},
                     "server": {"ARGOBUS_SERVER": f"https://{self.fleet}", "ARGOBUS_TOKEN_FILE": "token",
                                "ARGOBUS_SERVER_CA": "fleet-ca.crt"}}

    def make_files(self):
        for name, brokers in (("near", self.kafka()["brokers"]), ("away", [f"127.0.0.1:{free_port()}"])):
            (self.folder / f"{name}.yaml").write_text(yaml.safe_dump({
                "principal": {"data": "data"}, "kafka": self.kafka(brokers=brokers),
                "store": {"kind": "directory", "directory": {"path": "store"}}}))
        (self.folder / "kubeconfig").write_text(yaml.safe_dump({
            "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
            "clusters": [{"name": "x", "cluster": {"server": "https://127.0.0.1:1"}}], "users": [{"name": "x", "user": {}}]}))
        for command in ("pki init", "pki issue agent w1", "revoke w1.crt --file revoked"):
            self.assertEqual(self.run_ctl("socket", command).returncode, 0, command)

    def run_ctl(self, way, command):
        return subprocess.run([pathlib.Path(os.environ["AB_BIN"], "argobusctl"), *command.split()], capture_output=True, text=True,
                              timeout=60, cwd=self.folder, env={**os.environ, **self.ways[way]})

    def end_as(self, way, rows):
        for code, said, command in rows:
            with self.subTest(way=way, command=command):
                done = self.run_ctl(way, command)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertIn(said, done.stderr)

    def test_each_command_ends_with_the_code_that_the_page_says(self):
        self.make_files()
        self.principal.start()
        for way, rows in (("socket", BOTH + SOCKET), ("server", BOTH + SERVER), ("socket", NEITHER)):
            self.end_as(way, rows)
        self.principal.stop()
        self.end_as("socket", STOPPED + STOPPED_SOCKET)
        self.end_as("server", STOPPED)

    def test_the_manual_page_has_the_codes_of_the_documentation(self):
        manual = self.run_ctl("socket", "__manual").stdout.split(".SH EXIT STATUS\n")[1].split(".SH")[0]
        codes = dict(re.findall(r"\.TP\n(\d+)\n(.*)\.\n", manual))
        page = (ROOT / "docs/argobusctl.md").read_text(encoding="utf-8").split("| exit code | means |")[1].split("\n\n")[0]
        documented = dict(re.findall(r"^\| (\d+) \| (.*) \|$", page, re.MULTILINE))
        self.assertEqual({code: text[0].lower() + text[1:] for code, text in codes.items()}, documented)
        shown = {str(code) for code, *_ in BOTH + SOCKET + SERVER + NEITHER + STOPPED}
        self.assertEqual(set(documented), shown)


if __name__ == "__main__":
    unittest.main()
