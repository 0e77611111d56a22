# SPDX-License-Identifier: Apache-2.0
"""Projects go to the agents that their destinations name, rendered for each."""
import pytest
from cluster import ARGOCD
from daemons import wait_for
from objects import project


IN_CLUSTER = {"name": "in-cluster", "server": "https://kubernetes.default.svc", "namespace": "*"}


def described(text):
    return lambda p: p["spec"].get("description") == text


def test_a_project_is_rendered_for_its_agent(fleet):
    fleet.hub.create(project("team", "w1", roles=[{"name": "ci", "policies": ["p, proj:team:ci, applications, *, team/*, allow"]}],
                             clusterResourceWhitelist=[{"group": "*", "kind": "*"}]))
    spec = fleet.spoke_has("AppProject", "team")["spec"]
    assert spec["destinations"] == [IN_CLUSTER]
    assert not spec.get("roles")
    assert spec.get("sourceNamespaces", []) == ([] if fleet.mapping == "namespace" else ["w1"])
    assert spec["sourceRepos"] == ["*"]
    assert spec["clusterResourceWhitelist"] == [{"group": "*", "kind": "*"}]
    fleet.probe("w2")
    assert fleet.spokes["w2"].get("AppProject", ARGOCD, "team") is None


def test_changes_and_the_deletion_of_a_project_follow(fleet):
    fleet.hub.create(project("team", "w1"))
    fleet.spoke_has("AppProject", "team")
    fleet.hub.patch("AppProject", ARGOCD, "team", {"spec": {"description": "second"}})
    fleet.spoke_has("AppProject", "team", described("second"))
    fleet.hub.delete("AppProject", ARGOCD, "team")
    fleet.spoke_lacks("AppProject", "team")


def test_a_project_moves_with_its_destinations(fleet):
    fleet.hub.create(project("team", "w1"))
    fleet.spoke_has("AppProject", "team")
    fleet.hub.patch("AppProject", ARGOCD, "team", {"spec": project("team", "w2")["spec"]})
    fleet.spoke_has("AppProject", "team", agent="w2")
    fleet.spoke_lacks("AppProject", "team")


def test_globs_and_denials_choose_the_agents(fleet):
    everyone = [{"name": "w*", "server": "*", "namespace": "*"}]
    fleet.hub.create(project("all", destinations=everyone, sourceNamespaces=["w*"]))
    fleet.hub.create(project("some", destinations=[*everyone, {"name": "!w1", "server": "*", "namespace": "*"}],
                             sourceNamespaces=["w*"]))
    fleet.spoke_has("AppProject", "all", agent="w1")
    fleet.spoke_has("AppProject", "all", agent="w2")
    fleet.spoke_has("AppProject", "some", agent="w2")
    fleet.probe("w1")
    assert fleet.spokes["w1"].get("AppProject", ARGOCD, "some") is None


@pytest.mark.parametrize("shared_fleet", ["namespace"], indirect=True)
def test_a_project_without_the_agents_namespace_is_not_sent(fleet):
    fleet.hub.create(project("team", "w1", sourceNamespaces=["elsewhere"]))
    fleet.probe()
    assert fleet.spokes["w1"].get("AppProject", ARGOCD, "team") is None


def test_the_project_default_of_an_agent_is_taken_over(fleet):
    fleet.spokes["w1"].create(project("default", description="local"))
    fleet.hub.create(project("default", "w1"))
    fleet.spoke_has("AppProject", "default", described("first"))
    fleet.hub.patch("AppProject", ARGOCD, "default", {"spec": {"description": "second"}})
    fleet.spoke_has("AppProject", "default", described("second"))


def test_a_project_with_finalizers_goes(fleet):
    fleet.hub.create(project("team", "w1"))
    fleet.hub.patch("AppProject", ARGOCD, "team", {"metadata": {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}})
    fleet.spoke_has("AppProject", "team")
    fleet.hub.delete("AppProject", ARGOCD, "team")
    fleet.spoke_lacks("AppProject", "team")
    wait_for("it is gone at the hub", lambda: fleet.hub.get("AppProject", ARGOCD, "team") is None)
