#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs docs/operate/helm.md, see two_clusters.py. It prints the time from the first command to the first Application; the page has
a figure of it, which is not asserted."""
import pathlib
import re
import shutil
import subprocess
import time
import unittest

import broker
from chart import ROOT
from daemons import broker_ports
from documented import commands
from two_clusters import TwoClusters

PAGE = ROOT / "docs/operate/helm.md"
MOST_COMMANDS = 12  # without the settings, which the page names apart
SETTINGS = re.compile(r"^export \w+=", re.MULTILINE)


class Docs(TwoClusters):
    edge = "edge-1"

    def clean_hub(self):
        super().clean_hub()
        self.hub.kubectl("delete", "secret", "argobus-principal-tls", "--ignore-not-found")

    def lay_out(self):
        super().lay_out()
        tls = pathlib.Path(broker.HOME, "tls")
        for user in ("principal", "edge-1"):
            subprocess.run([broker.KAFKA_DEV, "cert", user], check=True, capture_output=True)
            for kind in ("crt", "key"):
                shutil.copy(tls / f"{user}.{kind}", self.folder)
        shutil.copy(tls / "ca.crt", self.folder)
        self.env["BROKERS"] = f"127.0.0.1:{broker_ports()['tls']}"
        self.env["IMAGE"] = "registry.example.com/argobus"

    def test_every_command_works_and_the_first_application_arrives(self):
        before, separator, _ = PAGE.read_text().partition("## Values")
        self.assertTrue(separator)
        blocks = commands("docs/operate/helm.md", env=self.env)
        first = [block for block in blocks if block.text in before]
        self.begin()
        begin = time.monotonic()
        for block in first:
            self.run_block(block)
        count = sum(len(re.findall(r"(?<!\\)\n", block.text)) for block in first)
        print(f"first command to first Application: {time.monotonic() - begin:.1f} s, {count} commands", flush=True)
        for thread in self.others:
            thread.join(60)
        for pod in self.pods:
            built = r'argobus_build_info\{version="[^"]+",commit="([0-9a-f]+|unknown)"\} 1'
            self.assertRegex(pod.daemon.get("/metrics"), built)
        self.assertLessEqual(count, MOST_COMMANDS)
        settings = len(SETTINGS.findall(before))
        said = f"takes {count} commands, besides the {settings} `export` lines"
        self.assertTrue(said in before, said)
        for block in blocks[len(first):]:
            self.run_block(block)


if __name__ == "__main__":
    unittest.main()
