# SPDX-License-Identifier: Apache-2.0
"""Live access as people see it: the pages of the hub show what is at w1, which nothing but the principal reaches."""
import re

import pytest
from daemons import wait_for
from pages import PROMPT
from remote import NAME, NAMESPACE, deployed
from stage import running


@pytest.fixture(scope="module", params=[("destination", "kafka"), ("namespace", "grpc")], ids="-".join)
def argocd(request, clusters, tmp_path_factory):
    with running(*request.param, clusters, tmp_path_factory.mktemp("live")) as fleet, deployed(fleet) as remote:
        yield remote


@pytest.fixture
def remote(argocd):
    argocd.fleet.start("principal", "w1")
    argocd.pod()
    return argocd


def shot(request, pages, what):
    """A picture beside that of the end, for each transport."""
    pages.shot(f"remote_{what}[{request.node.callspec.id}]")


def panel(remote, pages, kind, name, tab, group=""):
    pages.panel(remote.app.namespace, NAME, f"{group}/{kind}/{NAMESPACE}/{name}", tab)


def test_the_list_and_the_tree_show_what_is_deployed(request, remote, pages):
    pages.list()
    assert re.search("Healthy.*Synced", pages.entry(NAME).inner_text(), re.DOTALL)
    shot(request, pages, "list")
    pages.tree(remote.app.namespace, NAME)
    for kind, name in (("cm", "settings"), ("deploy", "web"), ("pod", remote.pod())):
        pages.node(kind, name).first.wait_for()


def test_a_difference_is_seen_in_the_manifest_and_edited_back(request, remote, pages):
    remote.spoke.patch("ConfigMap", NAMESPACE, "settings", {"data": {"colour": "green"}})
    wait_for("the hub knows", lambda: remote.app.hub()["status"]["sync"]["status"] == "OutOfSync")
    panel(remote, pages, "ConfigMap", "settings", "DIFF")
    pages.page.locator(".diff-code-insert").filter(has_text="blue").first.wait_for()
    shot(request, pages, "diff")
    panel(remote, pages, "ConfigMap", "settings", "LIVE MANIFEST")
    pages.edit("colour: green", "green", "blue")
    wait_for("the cluster has it",
             lambda: remote.spoke.get("ConfigMap", NAMESPACE, "settings")["data"] == {"colour": "blue"})


def test_the_events_of_a_deployment_are_shown(remote, pages):
    panel(remote, pages, "Deployment", "web", "EVENTS", "apps")
    pages.text("ScalingReplicaSet").wait_for()


def test_a_restart_replaces_the_pod_in_the_tree(remote, pages):
    before = remote.pod()
    pages.tree(remote.app.namespace, NAME)
    pages.node("pod", before).wait_for()
    pages.choose("deploy", "web", "Restart")
    pages.node("pod", before).wait_for(state="detached")
    pages.node("pod", "web-").wait_for()


def test_a_deleted_resource_goes_from_the_tree(request, remote, pages):
    pages.tree(remote.app.namespace, NAME)
    pages.choose("cm", "spare", "Delete", "spare")
    wait_for("the cluster has it no more", lambda: remote.spoke.get("ConfigMap", NAMESPACE, "spare") is None)
    shot(request, pages, "deleted")
    remote.restore()


def test_a_log_goes_on_while_it_is_looked_at(remote, pages):
    panel(remote, pages, "Pod", remote.pod(), "LOGS")
    pages.text("line ").wait_for()
    seen = max(int(number) for number in re.findall(r"line (\d+)", pages.page.inner_text("body")))
    pages.text(f"line {seen + 20}").wait_for()


def test_a_terminal_obeys_what_is_typed(remote, pages):
    shown = pages.terminal(remote.app.namespace, NAME, f"/Pod/{NAMESPACE}/{remote.pod()}")
    shown.waits_for(PROMPT)
    pages.type("echo sum $((40 + 2))\n")
    shown.waits_for("sum 42")


def test_an_agent_that_is_away_is_named_and_is_back_when_it_returns(request, remote, pages):
    pages.tree(remote.app.namespace, NAME)
    pages.node("cm", "spare").wait_for()
    with remote.fleet.away("w1"):
        pages.choose("cm", "spare", "Delete", "spare")
        pages.text("agent w1 is not connected").wait_for()
        shot(request, pages, "away")
    panel(remote, pages, "ConfigMap", "settings", "LIVE MANIFEST")
    pages.manifest("colour: blue").wait_for()
    assert remote.spoke.get("ConfigMap", NAMESPACE, "spare")
