# SPDX-License-Identifier: Apache-2.0
"""Runs docs/operate/kubernetes.md, argocd.md, modes.md and live.md: files are written, commands run in order, while principal and
agents run.

A command must succeed. Where an ```output block follows, its lines must be what was printed.
"""
import os
import pathlib
import re
import subprocess

import pytest
import yaml
from cluster import ARGOCD, DEPLOY
from daemons import wait_for
from documented import commands
from objects import cluster_secret

ROOT = pathlib.Path(__file__).parents[2]
YAML = re.compile(r"^```yaml\n(.*?)^```\n", re.MULTILINE | re.DOTALL)

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
    for cluster, further in (("hub", "principal-autonomous"), ("w1", "agent-destination"), ("w1", "agent-live")):
        clusters[cluster].kubectl("delete", "-f", str(DEPLOY / f"{further}.yaml"), "--ignore-not-found")


def run_page(page, shell, by=None, **words):
    """`words` of the page stand for these of the test."""
    for command in commands(page, by):
        text = command.text
        for word, own in words.items():
            text = text.replace(word, own)
        shown = shell(text)
        assert [line for line in command.output.splitlines() if line not in shown.splitlines()] == [], command.text


def test_the_page_on_kubernetes_works_as_it_says(shell, tmp_path):
    configurations = YAML.findall((ROOT / "docs/operate/kubernetes.md").read_text())
    for name, text in zip(("principal.yaml", "agent.yaml"), configurations, strict=True):
        (tmp_path / name).write_text(text)
    way_in = next(c.text for c in commands("docs/operate/kubernetes.md") if "principal.kubeconfig" in c.text)  # "for an agent, use"
    for there, here in (("principal", "agent"), ("--context hub", "--context w1")):
        way_in = way_in.replace(there, here)
    shell(f"umask 022\n{way_in}")
    run_page("docs/operate/kubernetes.md", shell)
    for name in ("principal", "agent"):
        file = tmp_path / f"{name}.kubeconfig"
        assert file.stat().st_mode & 0o777 == 0o600, name
        assert [user["name"] for user in yaml.safe_load(file.read_text())["users"]] == ["argobus"], name
        shell(f"kubectl --kubeconfig {file} -n {ARGOCD} get applications")


def workload(kind, name):
    """What an installed Argo CD has; without nodes it has no pods."""
    labels = {"app.kubernetes.io/name": name}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": ARGOCD},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}},
                     **({"serviceName": name} if kind == "StatefulSet" else {})}}


@pytest.fixture
def installed(clusters):
    """What the page expects of Argo CD's installation at the control plane."""
    objects = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cmd-params-cm", "namespace": ARGOCD}},
               workload("Deployment", "argocd-server"), workload("StatefulSet", "argocd-application-controller")]
    for o in objects:
        clusters["hub"].kubectl("-n", ARGOCD, "delete", o["kind"], o["metadata"]["name"], "--ignore-not-found")
        clusters["hub"].create(o)
    yield
    for o in objects:
        clusters["hub"].delete(o["kind"], ARGOCD, o["metadata"]["name"])


def test_the_page_on_argocd_works_as_it_says(shell, installed, clusters):
    run_page("docs/operate/argocd.md", shell)
    assert clusters["hub"].get("StatefulSet", ARGOCD, "argocd-application-controller")["spec"]["replicas"] == 0


def test_the_page_on_modes_works_as_it_says(shell, clusters, fleet):
    """The agent runs, and brings back the Application that the page deletes in its cluster."""
    clusters["hub"].create(cluster_secret("w1"))
    app = fleet.application("guestbook")
    app.arrives()
    before = app.spoke()["metadata"]["uid"]
    run_page("docs/operate/modes.md", shell, NAME="guestbook")
    wait_for("it was deleted", lambda: app.spoke() and app.spoke()["metadata"]["uid"] != before)
    assert clusters["hub"].get("Secret", ARGOCD, "cluster-w1")["metadata"]["annotations"]["argobus.io/mode"] == "autonomous"


def test_the_page_on_live_access_grants_as_it_says(shell):
    may = f"kubectl --context w1 auth can-i create pods/exec -n default --as system:serviceaccount:{ARGOCD}:argobus-agent"
    shell(f"! {may}")
    run_page("docs/operate/live.md", shell, by="tests/e2e/docs_test.py")
    shell(may)
