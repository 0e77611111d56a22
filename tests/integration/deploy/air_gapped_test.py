#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/operate/air-gapped.md that need neither an image nor a registry; image_test.py runs the others.
HELM_DEV is tests/support/helm/helm-dev."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml
from chart import AGENT, PRINCIPAL, ROOT, merged, render
from documented import commands


class AirGapped(unittest.TestCase):
    def test_every_command_works_and_shows_what_the_page_says(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "deploy/kubernetes", pathlib.Path(folder, "deploy/kubernetes"))
            helm = pathlib.Path(folder, "helm")
            helm.symlink_to(os.environ["HELM_DEV"])
            for command in commands("docs/operate/air-gapped.md"):
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", command.text], cwd=folder, text=True, capture_output=True,
                                      timeout=120, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
                self.assertEqual(done.returncode, 0, done.stderr)
                if command.output:
                    self.assertEqual(done.stdout.split(), command.output.split())
            chart = yaml.safe_load((ROOT / "deploy/kubernetes/chart/Chart.yaml").read_text())
            self.assertNotIn("dependencies", chart)

    def test_no_manifest_asks_for_another_image_or_a_foreign_address(self):
        more = {"image": {"repository": "registry.example.com/argobus"}, "live": {"enabled": True},
                "metrics": {"serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}}}
        for values in (AGENT, PRINCIPAL):
            text = yaml.safe_dump_all(render(merged(values, more)))
            self.assertEqual({image.split(":")[0] for image in re.findall(r"image: (\S+)", text)}, {"registry.example.com/argobus"})
            self.assertEqual(re.findall(r"https?://[^\s\"']+", text), [])


if __name__ == "__main__":
    unittest.main()
