#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what docs/operate/live.md tells an operator to do, with the page's own configuration, tokens and command."""
import json
import pathlib
import re
import subprocess
import unittest

import yaml
from access import Access
from daemons import wait_for
from documented import commands

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/operate/live.md"
ARGOCD = PAGE.parent / "argocd.md"
SECRET = re.compile(r"^(apiVersion: v1\nkind: Secret\n.*?)^MANIFEST$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```\n", re.MULTILINE | re.DOTALL)
SERVER = "argobus-principal"


def block(words):
    """The only one of the page that has these words."""
    [found] = [text for _, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")) if words in text]
    return "\n".join(line.removeprefix("   ") for line in found.splitlines())


class Docs(Access):
    policy = {}

    def agent_config(self):
        """It is on by nothing but what the page says."""
        config = super().agent_config()
        del config["live"]["enabled"]
        config["live"] |= yaml.safe_load(block("enabled: true"))["live"]
        return config

    def setUp(self):
        self.secret = yaml.safe_load(block("argocd.argoproj.io/secret-type"))
        self.cluster = self.secret["stringData"]
        super().setUp()

    def principal_config(self):
        """The page's, with the files of this test."""
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-subj", f"/CN={SERVER}", "-addext", f"subjectAltName=DNS:{SERVER}", "-keyout", "live.key",
                        "-out", "live.crt"], cwd=self.folder, check=True, capture_output=True)
        (self.folder / "live-tokens").write_text(block(" *\n") + "\n")
        (self.folder / "agents-ca.crt").write_bytes((self.certs / "ca.crt").read_bytes())
        text = block("tokens: /etc/argobus").replace("/etc/argobus", str(self.folder))
        resource = yaml.safe_load(text.replace(":9090", f"127.0.0.1:{self.port}"))["live"]["resource"]
        config = super().principal_config()
        config["live"]["resource"] = resource
        return config

    def curl(self, command):
        """The command as it stands there; only where the name leads to is this test's."""
        self.assertTrue(command.startswith("curl "))
        words = f"curl --silent --show-error --connect-to {SERVER}:9090:127.0.0.1:{self.port} "
        done = subprocess.run(["bash", "-euc", command.replace("curl ", words, 1)], cwd=self.folder, timeout=60,
                              capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def test_what_the_page_sets_up_answers(self):
        (self.folder / "live-ca.crt").write_bytes((self.folder / "live.crt").read_bytes())
        [command] = commands("docs/operate/live.md")
        version = wait_for("the agent answers", lambda: self.curl(command.text).get("gitVersion"))
        self.assertEqual(version, self.bare("GET", "/version").json()["gitVersion"])
        [shown] = [line for line in block("live: live request").splitlines() if line]
        keys = re.compile(r"(\w+)=")
        [line] = wait_for("it is logged", lambda: self.audited("code=200", "by=token"))[:1]
        self.assertEqual(keys.findall(line.split("live request ")[1]), keys.findall(shown.split("live request ")[1]))

    def test_the_cluster_secret_leads_to_the_agent(self):
        self.assertEqual(self.cluster["server"], f"https://{SERVER}:9090/agents/{self.cluster['name']}")
        token = json.loads(self.cluster["config"])["bearerToken"]
        self.assertIn(f"{token} {self.cluster['name']}", (self.folder / "live-tokens").read_text())

    def test_the_cluster_secret_is_still_that_of_the_agent(self):
        """Whoever applies it over the one of argocd.md loses what it does not have."""
        before = yaml.safe_load(SECRET.search(ARGOCD.read_text(encoding="utf-8"))[1])
        for part in ("labels", "annotations"):
            self.assertEqual(self.secret["metadata"].get(part), before["metadata"][part])


class Off(Access):
    """Whoever has not read the page has opened nothing."""

    def agent_config(self):
        config = super().agent_config()
        del config["live"]["enabled"]
        return config

    def test_an_agent_that_was_not_told_to_shows_nothing(self):
        answer = self.ask_when_there("GET", "/version")
        self.assertEqual(answer.code, 502)
        self.assertIn("live access is off at the agent: set live.enabled to true there", answer.json()["message"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
