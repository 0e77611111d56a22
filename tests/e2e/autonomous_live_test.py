# SPDX-License-Identifier: Apache-2.0
"""Live access to the cluster of an autonomous agent: the real argocd-server of the hub shows and changes what its own Argo CD
has deployed, through the mirror of its Application."""
import json

import pytest
from autonomous_test import IN_CLUSTER, own_project
from cluster import ARGOCD, DEPLOY
from fleet import Application
from live_scenarios import (test_a_deleted_resource_is_gone_from_the_cluster, test_a_log_is_followed_in_order,  # noqa: F401
                            test_a_restart_replaces_the_pods)  # noqa: F401
from objects import application
from remote import NAME, NAMESPACE, deployed, repository
from stage import running


def deploy(fleet, folder):
    """The Application is made at w1; its mirror is given once all of it runs."""
    spoke = fleet.spokes["w1"]
    spoke.delete("AppProject", ARGOCD, "default")
    default = own_project("default")
    default["spec"].update(sourceRepos=["*"], clusterResourceWhitelist=[{"group": "*", "kind": "*"}])
    spoke.create(default)
    o = application(NAME, ARGOCD)
    o["spec"].update(destination={"server": IN_CLUSTER, "namespace": NAMESPACE}, syncPolicy={"automated": {}})
    o["spec"]["source"].update(repoURL=repository(folder / "repository"), path="app", targetRevision="main")
    spoke.create(o)
    mirror = Application(fleet, NAME, "w1", "w1")
    mirror.reports(lambda s: s.get("sync", {}).get("status") == "Synced" and
                   s.get("health", {}).get("status") == "Healthy", "it is deployed")
    return mirror


@pytest.fixture(scope="module", params=["kafka", "grpc"])
def remote(request, clusters, tmp_path_factory):
    role, folder = DEPLOY / "principal-autonomous.yaml", tmp_path_factory.mktemp("live")
    clusters["hub"].kubectl("apply", "-f", str(role))
    with running("namespace", request.param, clusters, folder) as fleet:
        principal = {"principal": {"data": str(folder)}, "agents": [{"name": "w1", "mode": "autonomous"}, {"name": "w2"}]}
        with deployed(fleet, deploy, principal, {"agent": {"mode": "autonomous"}}) as remote:
            yield remote
    clusters["hub"].kubectl("delete", "-f", str(role))


def test_the_tree_and_the_live_manifest_are_those_of_the_agents_cluster(remote):
    parents = {node["name"]: [parent["name"] for parent in node.get("parentRefs", [])] for node in remote.nodes()}
    [replicas] = parents[remote.pod()]
    assert parents[replicas] == ["web"]
    settings = remote.spoke.get("ConfigMap", NAMESPACE, "settings")
    assert remote.live("ConfigMap", "settings")["metadata"]["uid"] == settings["metadata"]["uid"]


def test_a_resource_is_edited(remote):
    remote.ask("POST", "resource", json.dumps({"metadata": {"labels": {"edited": "yes"}}}),
               **remote.where("ConfigMap", "settings"), patchType="application/merge-patch+json")
    assert remote.spoke.get("ConfigMap", NAMESPACE, "settings")["metadata"]["labels"]["edited"] == "yes"
