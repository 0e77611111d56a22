#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kustomize bases are what the chart renders, kustomize (that of kubectl) builds them, an API server takes them, and an
overlay as docs/operate/helm.md shows it brings its own configuration.

The environment is as tests/support/kube/kube.cmake sets it, with HELM_DEV.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml
from chart import ROOT, one

BASE = ROOT / "deploy/kubernetes/base"
OVERLAY = re.compile(r"^```yaml\n(# kustomization\.yaml\n.*?)^```\n", re.MULTILINE | re.DOTALL)


def kubectl(*args, text=None):
    done = subprocess.run([os.environ["KUBE_DEV"], "kubectl", "test", *args], input=text, text=True, capture_output=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Base(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory(dir=ROOT / "build")  # an overlay names its base by a relative path
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)

    def test_the_bases_are_what_the_chart_renders(self):
        subprocess.run([BASE / "render", self.folder], check=True, env={**os.environ, "HELM": os.environ["HELM_DEV"]})
        for role in ("principal", "agent"):
            for name in ("config.yaml", "manifests.yaml"):
                with self.subTest(f"{role}/{name}"):
                    self.assertEqual((BASE / role / name).read_text(), (self.folder / role / name).read_text(),
                                     "run deploy/kubernetes/base/render")

    def test_an_api_server_takes_what_kustomize_builds(self):
        for role in ("principal", "agent"):
            built = kubectl("kustomize", str(BASE / role))
            kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", text=built)
            manifests = list(yaml.safe_load_all(built))
            config = one(manifests, "ConfigMap")["metadata"]["name"]
            self.assertNotEqual(config, f"argobus-{role}")  # with a hash: another configuration restarts the pod
            volumes = one(manifests, "StatefulSet")["spec"]["template"]["spec"]["volumes"]
            self.assertIn({"name": "config", "configMap": {"name": config}}, volumes)

    def test_the_overlay_of_the_page_brings_its_configuration_and_secret(self):
        text = OVERLAY.search((ROOT / "docs/operate/helm.md").read_text())[1]
        self.assertIn("deploy/kubernetes/base/agent", text)
        text = text.replace("deploy/kubernetes/base/agent", os.path.relpath(BASE / "agent", self.folder))
        (self.folder / "kustomization.yaml").write_text(text)
        (self.folder / "config.yaml").write_text("agent: {name: edge-1}\n")
        manifests = list(yaml.safe_load_all(kubectl("kustomize", str(self.folder))))
        self.assertEqual(one(manifests, "ConfigMap")["data"], {"config.yaml": "agent: {name: edge-1}\n"})
        pod = one(manifests, "StatefulSet")["spec"]["template"]["spec"]
        self.assertEqual(pod["containers"][0]["image"], "registry.example.com/argobus:0.1.0")


if __name__ == "__main__":
    unittest.main()
