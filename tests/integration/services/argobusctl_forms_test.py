#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which commands of argobusctl show something, in which form. The commands are those that it names itself."""
import json
import os
import re
import subprocess
import unittest

import yaml

from argobusctl_test import Shown
from daemons import application, wait_for

COMMAND = re.compile(r"^  ([a-z]+(?: [a-z]+)?) {2,}\S", re.MULTILINE)


def without_ages(shown):
    """They grow between two questions."""
    if isinstance(shown, dict):
        return {key: without_ages(value) for key, value in shown.items() if key != "age_seconds"}
    return [without_ages(value) for value in shown] if isinstance(shown, list) else shown


class Forms(Shown):
    def commands(self):
        """{name: whether it takes --output}"""
        names = COMMAND.findall(self.ctl("--help").stdout)
        self.assertGreater(len(names), 15)
        return {name: "--output FORM" in self.ctl(*name.split(), "--help").stdout for name in names}

    def showing(self):
        """{name: operands and flags} of those that show something."""
        config = ("agent", "-c", self.agent.config)
        return {"agent list": (), "agent inspect": ("w1",), "lag": (), "pending": ("w1",), "deletions": (),
                "pki inspect": ("w1.crt",), "revoked": ("--file", "revoked"), "check": config, "connect": config, "records": config}

    def make_files(self):
        for command in (("pki", "init"), ("pki", "issue", "agent", "w1"), ("revoke", "w1.crt", "--file", "revoked")):
            self.assertEqual(self.ctl(*command).returncode, 0)

    def ctl(self, *args):
        command = [os.path.join(os.environ["AB_BIN"], "argobusctl"), "--socket", self.folder / "ctl.sock", *args]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=self.folder)

    def test_json_and_yaml_say_the_same_of_all_that_is_shown(self):
        self.make_files()
        self.begin()
        self.agent.stop()
        self.hub.write("w1", "guestbook", application("guestbook", "2"))
        self.are_pending(1)
        wait_for("the principal notices", lambda: not self.agent_w1()["connected"])
        self.assertEqual({name for name, shows in self.commands().items() if shows}, set(self.showing()))
        for name, given in self.showing().items():
            if name == "records" and self.transport != "kafka":
                continue
            with self.subTest(name):
                table, as_json, as_yaml = (self.ctl(*name.split(), *given, "-o", form) for form in ("table", "json", "yaml"))
                self.assertIn(as_json.returncode, (0, 1) if name in ("check", "connect") else (0,), as_json.stderr)
                self.assertEqual({done.returncode for done in (table, as_yaml)}, {as_json.returncode})
                self.assertTrue(json.loads(as_json.stdout))
                self.assertEqual(without_ages(yaml.safe_load(as_yaml.stdout)), without_ages(json.loads(as_json.stdout)))
                self.assertNotIn(table.stdout, (as_json.stdout, as_yaml.stdout))

    def test_a_command_that_shows_nothing_takes_no_form(self):
        names = [name for name, shows in self.commands().items() if not shows]
        self.assertIn("resync", names)
        for name in names:
            done = self.ctl(*name.split(), "-o", "json")
            self.assertEqual((done.returncode, done.stdout), (2, ""), name)
            self.assertEqual(done.stderr, f"argobusctl: unknown flag -o of {name}\n")


if __name__ == "__main__":
    unittest.main()
