# SPDX-License-Identifier: Apache-2.0
"""Runs docs/operate/kubernetes.md: its files are written, its commands are run in order, while principal and agents run.

A command must succeed. Where an ```output block follows, its lines must be what was printed.
"""
import os
import pathlib
import re
import subprocess

import pytest
import yaml
from cluster import DEPLOY

ROOT = pathlib.Path(__file__).parents[2]
BLOCK = re.compile(r"^```(sh|yaml)\n(.*?)^```\n(?:^```output\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.parametrize("shared_fleet", ["namespace"], indirect=True)


def kubeconfig(path, clusters):
    """One file with a context for each cluster, as an administrator has it."""
    merged = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []}
    for name, cluster in clusters.items():
        own = yaml.safe_load((cluster.folder / "kubeconfig").read_text())
        merged["clusters"] += own["clusters"]
        merged["users"].append({"name": f"{name}-admin", "user": own["users"][0]["user"]})
        merged["contexts"].append({"name": name, "context": {"cluster": name, "user": f"{name}-admin"}})
    path.write_text(yaml.safe_dump(merged))


@pytest.fixture
def shell(fleet, clusters, tmp_path):
    """Runs a command where the page's files are, and gives what it prints."""
    for folder in ("deploy", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    for name in ("agents-ca.crt", "w1.crt", "w1.key", "agent.kubeconfig"):
        (tmp_path / name).touch()
    (tmp_path / "data").mkdir()
    kubeconfig(tmp_path / "config", clusters)
    kubectl = subprocess.run([os.environ["KUBE_DEV"], "programs"], check=True, capture_output=True, text=True).stdout.strip()
    env = {**os.environ, "KUBECONFIG": str(tmp_path / "config"),
           "PATH": f"{os.environ['AB_BIN']}:{kubectl}:{os.environ['PATH']}"}

    def run(command):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], env=env, cwd=tmp_path, text=True, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        return done.stdout
    yield run
    for cluster, further in (("hub", "principal-autonomous"), ("w1", "agent-destination")):
        clusters[cluster].kubectl("delete", "-f", str(DEPLOY / f"{further}.yaml"))


def test_the_page_on_kubernetes_works_as_it_says(shell, tmp_path):
    files = iter(("principal.yaml", "agent.yaml"))
    blocks = BLOCK.findall((ROOT / "docs/operate/kubernetes.md").read_text())
    assert len(blocks) > 5
    for language, text, expected in blocks:
        if language == "yaml":
            (tmp_path / next(files)).write_text(text)
        else:
            shown = shell(text)
            assert [line for line in expected.splitlines() if line not in shown.splitlines()] == [], text
