# SPDX-License-Identifier: Apache-2.0
"""The fleet as a page of Argo CD, set up as docs/operate/argocd-extension.md says."""
import os
import pathlib
import re
import subprocess

import pytest
from argocd import PASSWORD, argocd_dev
from cluster import ARGOCD
from daemons import free_port
from documented import commands
from fleet import certificate
from playwright.sync_api import expect
from stage import running

expect.set_options(timeout=60000)

ROOT = pathlib.Path(__file__).parents[3]
ADDRESS = "argobus-principal.argocd.svc:8090"  # of the page and of deploy/argocd/extension
TOKEN = "a-token-of-argocd-0123456789"
SERVER = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "argocd-server", "namespace": ARGOCD},
          "spec": {"selector": {"matchLabels": {"app": "argocd-server"}},
                   "template": {"metadata": {"labels": {"app": "argocd-server"}},
                                "spec": {"containers": [{"name": "argocd-server", "image": "any"}]}}}}


def application(name, server):
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": name, "namespace": ARGOCD},
            "spec": {"project": "default", "source": {"repoURL": "https://git.example.com/a.git", "path": "a"},
                     "destination": {"server": server, "namespace": "default"}}}


# Argo CD lets nobody use an extension with the first: it does not know that cluster.
APPLICATIONS = (application("a-stray", "https://nowhere.example"), application("b-local", "https://kubernetes.default.svc"))


def follow_the_page(hub, folder, address):
    """Run its commands, in a folder that has what they name."""
    programs = subprocess.run([os.environ["KUBE_DEV"], "programs"], check=True, stdout=subprocess.PIPE, text=True)
    (folder / "deploy/argocd/extension").mkdir(parents=True)
    for file in (ROOT / "deploy/argocd/extension").iterdir():
        (folder / "deploy/argocd/extension" / file.name).write_text(file.read_text().replace(ADDRESS, address))
    (folder / "fleet-ca.crt").write_text(pathlib.Path(certificate("server")["ca"]).read_text())
    (folder / "fleet-authorization").write_text(f"Bearer {TOKEN}\n")
    text = (ROOT / "docs/operate/argocd-extension.md").read_text()
    rights, = re.findall(r"^```csv\n(p, .*?)^```\n", text, re.MULTILINE | re.DOTALL)
    hub.patch("ConfigMap", ARGOCD, "argocd-rbac-cm", {"data": {"policy.csv": f"{rights}g, admin, role:operators\n"}})
    for command in commands("docs/operate/argocd-extension.md"):
        subprocess.run(["bash", "-euc", command.text.replace(ADDRESS, address)], check=True, cwd=folder, timeout=300,
                       env={**os.environ, "KUBECONFIG": str(hub.folder / "kubeconfig"),
                            "PATH": f"{programs.stdout.strip()}:{os.environ['PATH']}"})


def mount(hub, extensions):
    """What the kubelet makes of the ConfigMap in the Deployment, where argocd-server looks for extensions."""
    pod = hub.get("Deployment", ARGOCD, "argocd-server")["spec"]["template"]["spec"]
    at = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}["argobus-extension"]
    files = hub.get("ConfigMap", ARGOCD, "argobus-extension")["data"]
    folder = extensions / pathlib.Path(at).relative_to("/tmp/extensions")
    (folder / "..written").mkdir(parents=True)
    (folder / "..data").symlink_to("..written")
    for name, text in files.items():
        (folder / "..written" / name).write_text(text)
        (folder / name).symlink_to(f"..data/{name}")


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokens") / "tokens"
    path.write_text(f"{TOKEN} *\n")
    return path


@pytest.fixture(scope="module")
def argocd(clusters, tokens, tmp_path_factory):
    hub, folder, listen = clusters["hub"], tmp_path_factory.mktemp("extension"), free_port()
    tls = certificate("server")
    fleet = {"listen": f"127.0.0.1:{listen}", "tokens": str(tokens), "tls": {"cert": tls["cert"], "key": tls["key"]}}
    extensions = folder / "extensions"
    extensions.mkdir()
    with running("destination", "grpc", clusters, folder, fleet=fleet) as agents:
        agents.start()
        hub.create(SERVER)
        argocd_dev("start", "hub", "server", ARGOCD_DEV_PASSWORD=PASSWORD, ARGOCD_SERVER_ENABLE_PROXY_EXTENSION="true",
                   SSL_CERT_FILE=tls["ca"], ARGOCD_DEV_EXTENSIONS=str(extensions))
        follow_the_page(hub, folder, f"localhost:{listen}")
        mount(hub, extensions)
        for o in APPLICATIONS:
            hub.create(o)
        yield agents
        argocd_dev("stop", "hub")
        hub.patch("ConfigMap", ARGOCD, "argocd-cm", {"data": {"extension.config.argobus": None}})
        hub.patch("ConfigMap", ARGOCD, "argocd-rbac-cm", {"data": {"policy.csv": None}})
        for kind, name in (("Deployment", "argocd-server"), ("ConfigMap", "argobus-extension"),
                           ("ConfigMap", "argobus-fleet-ca"), ("Secret", "argobus-fleet")):
            hub.delete(kind, ARGOCD, name)
        for o in APPLICATIONS:
            hub.remove(o)


@pytest.fixture
def fleet(argocd, pages):
    """The page, opened from the sidebar."""
    pages.list()
    pages.page.locator(".sidebar__nav-item", has_text="Fleet").click()
    expect(pages.page.locator("#connection")).to_have_text("live")
    return pages.page


def test_agents_are_shown_as_they_are_now(argocd, fleet, pages):
    expect(fleet.locator("#agent-w1")).to_contain_text("connected")
    pages.shot("fleet_in_argocd")
    with argocd.away("w1"):
        expect(fleet.locator("#agent-w1")).to_contain_text("disconnected")
        fleet.locator("#agent-w1").click()
        expect(fleet.locator("#detail-name")).to_have_text("w1")
        expect(fleet.locator("#pending")).to_contain_text("None.")
        pages.shot("agent_in_argocd")
    expect(fleet.locator("#agent-w1")).not_to_contain_text("disconnected")


def test_the_page_is_left_and_opened_again(fleet):
    fleet.locator(".sidebar__nav-item", has_text="Settings").click()
    expect(fleet.locator("#agents")).to_have_count(0)
    fleet.locator(".sidebar__nav-item", has_text="Fleet").click()
    expect(fleet.locator("#agent-w2")).to_contain_text("connected")


def test_who_may_not_is_told_so_until_he_may(argocd, fleet, pages):
    policy = argocd.hub.get("ConfigMap", ARGOCD, "argocd-rbac-cm")["data"]
    argocd.hub.patch("ConfigMap", ARGOCD, "argocd-rbac-cm", {"data": {"policy.csv": ""}})
    fleet.reload()
    expect(fleet.locator("#connection")).to_contain_text("refused: HTTP 401 Unauthorized extension request")
    argocd.hub.patch("ConfigMap", ARGOCD, "argocd-rbac-cm", {"data": policy})
    expect(fleet.locator("#connection")).to_have_text("live")


def test_who_refuses_is_named_until_it_is_mended(argocd, tokens, fleet, pages):
    tokens.write_text("another-token-0123456789 *\n")
    argocd.principal.stop()
    argocd.start("principal")
    expect(fleet.locator("#connection")).to_contain_text("refused: show a token of fleet.tokens")
    pages.shot("refused_in_argocd")
    tokens.write_text(f"{TOKEN} *\n")
    expect(fleet.locator("#connection")).to_have_text("live")
