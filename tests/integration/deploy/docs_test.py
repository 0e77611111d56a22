#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the documentation: each ```sh block of docs/operate/kafka.md, in order, while a principal and the agent w1 run.

A block must succeed. Where an ```output block follows, each of its lines must be in what was printed; numbers and
the width of blanks do not count.
"""
import os
import re
import shutil
import unittest

import broker
from daemons import Fleet, wait_for
from documented import commands


def normal(text):
    return [" ".join(re.sub(r"\d+", "N", line).split()) for line in text.splitlines() if line.strip()]


class Docs(Fleet):
    def kafka(self, **more):
        return super().kafka(**more, prefix="argobus")  # as the page has it

    def setUp(self):
        super().setUp()
        os.makedirs(self.folder / "hub/w1/Application")
        self.start()
        shutil.copy(os.path.join(broker.ROOT, "examples/applications/guestbook.yaml"), self.folder / "hub/w1/Application")
        wait_for("guestbook is at w1", lambda: self.spoke.read("argocd", "guestbook"))

    def test_every_command_works_and_shows_what_the_page_says(self):
        env = broker.environment()
        for command in commands("docs/operate/kafka.md", env=env):
            done = broker.run("bash", "-euo", "pipefail", "-c", command.text, env=env)
            self.assertEqual(done.returncode, 0, f"{command.text}\n{done.stdout}\n{done.stderr}")
            shown = normal(done.stdout + done.stderr)
            for line in normal(command.output):
                self.assertIn(line, shown, command.text)


if __name__ == "__main__":
    unittest.main()
