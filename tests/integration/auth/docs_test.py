#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what docs/operate/authentication.md tells an operator to do: runs each ```sh block, in order and in one folder,
and then logs in with what they have made, under the ```yaml blocks that follow.

A block must succeed. Where an ```output block follows, each of its lines must be in what was printed; fingerprints do
not count.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from documented import commands

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/operate/authentication.md"
YAML = re.compile(r"^```yaml\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def normal(text):
    return re.sub(r"\b[0-9A-F]{2}(:[0-9A-F]{2}){31}\b", "FINGERPRINT", text).splitlines()


class Docs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="argobus-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.page = PAGE.read_text(encoding="utf-8")
        for command in commands("docs/operate/authentication.md"):
            done = self.run_command("bash", "-euo", "pipefail", "-c", command.text)
            self.assertEqual(done.returncode, 0, f"{command.text}\n{done.stdout}\n{done.stderr}")
            for line in normal(command.output):
                self.assertIn(line, normal(done.stdout + done.stderr), command.text)

    def run_command(self, *command):
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120)

    def log_in(self, config, method, what):
        """What a principal with the yaml block that contains `config` says to this login."""
        blocks = [b for b in YAML.findall(self.page) if config in b]
        self.assertEqual(len(blocks), 1, config)
        (self.folder / "principal.yaml").write_text(blocks[0])
        program = os.path.join(os.environ["AB_BIN"], "auth_log_in")
        return self.run_command(program, "principal.yaml", method, what).stdout.strip()

    def write_agent(self):
        [block] = [b for b in YAML.findall(self.page) if "method: userpass" in b]
        (self.folder / "agent.yaml").write_text(block)
        return "agent.yaml"

    def test_what_the_page_makes_logs_in_as_the_page_says(self):
        (self.folder / "revoked-then").write_text((self.folder / "revoked").read_text())
        (self.folder / "revoked").write_text("# nobody\n")
        self.assertEqual(self.log_in("accept: [mtls]\n", "mtls", "w1.crt"), "w1")
        (self.folder / "revoked").write_text((self.folder / "revoked-then").read_text())
        self.assertIn("revoked", self.log_in("accept: [mtls]\n", "mtls", "w1.crt"))
        self.assertEqual(self.log_in("uri:", "mtls", "w1-spiffe.crt"), "w1")
        self.assertIn("does not match", self.log_in("uri:", "mtls", "w1.crt"))
        self.assertEqual(self.log_in("token:", "mtls", "w1.crt"), "w1")
        shown = 'By=x;Hash=00;Subject="";URI=spiffe://cluster.local/ns/argobus/sa/w1'
        self.assertEqual(self.log_in("header:", "header", shown), "w1")
        for lie in ('By=x;Hash=00;Subject="URI=spiffe://cluster.local/ns/argobus/sa/w1";URI=spiffe://cluster.local/other',
                    'By=x;Hash=00;Subject="CN=\\";URI=spiffe://cluster.local/ns/argobus/sa/w1";URI=spiffe://other/w2',
                    shown + ",By=x", "Hash=00;" + shown, shown + "/w2", shown.replace("spiffe:", "https://x/spiffe:")):
            self.assertIn("does not match", self.log_in("header:", "header", lie), lie)
        self.assertEqual(self.log_in("accept: [mtls, userpass]", "userpass", self.write_agent()), "w1")
        (self.folder / "w1.login").write_text("w1:guessed\n")
        self.assertEqual(self.log_in("accept: [mtls, userpass]", "userpass", self.write_agent()), "wrong password")


if __name__ == "__main__":
    unittest.main()
