# SPDX-License-Identifier: Apache-2.0
"""An autonomous agent beside a real Argo CD: what is asked for at the mirror is carried out there."""
import pytest
from argocd_test import JOB, config_map, repository  # noqa: F401 - a fixture
from argocd import argocd_dev
from autonomous_test import IN_CLUSTER, Own, fleet, own_project  # noqa: F401 - a fixture
from cluster import ARGOCD
from daemons import wait_for


@pytest.fixture
def deploy(fleet):  # noqa: F811
    """deploy(url): an Application of that repository at w1, mirrored at the hub."""
    argocd_dev("start", "w1")
    spoke = fleet.spokes["w1"]
    spoke.delete("AppProject", ARGOCD, "default")
    default = own_project("default")
    default["spec"].update(sourceRepos=["*"], clusterResourceWhitelist=[{"group": "*", "kind": "*"}])
    spoke.create(default)

    def make(url):
        own = Own(fleet, "deployed", awaited=False)
        own.edit({"spec": {"source": {"repoURL": url, "path": "app", "targetRevision": "main"},
                           "destination": {"server": IN_CLUSTER, "name": None, "namespace": "default"}}})
        own.is_mirrored("main")
        return own
    yield make
    spoke.delete("ConfigMap", "default", "deployed")
    spoke.delete("Job", "default", "never-ends")
    argocd_dev("stop", "w1")


def reports(own, condition, what):
    def found():
        status = (own.mirror() or {}).get("status") or {}
        return status if condition(status) else None
    return wait_for(what, found)


def phase(status):
    return status.get("operationState", {}).get("phase")


def test_a_sync_asked_for_at_the_mirror_deploys(fleet, deploy, repository):  # noqa: F811
    own = deploy(repository(config_map("one")))
    reports(own, lambda s: s.get("sync", {}).get("status") == "OutOfSync", "it is compared")
    own.edit_at_hub({"operation": {"sync": {}}})
    reports(own, lambda s: s.get("sync", {}).get("status") == "Synced" and phase(s) == "Succeeded", "it is deployed")
    assert fleet.spokes["w1"].get("ConfigMap", "default", "deployed")["data"] == {"value": "one"}
    wait_for("the request is off the hub", lambda: "operation" not in own.mirror())


def test_a_terminate_at_the_mirror_ends_a_sync_that_hangs(deploy, repository):  # noqa: F811
    own = deploy(repository(config_map("one"), JOB))
    own.edit_at_hub({"operation": {"sync": {}}})
    reports(own, lambda s: phase(s) == "Running", "the sync runs")
    own.edit_at_hub({"status": {"operationState": {"phase": "Terminating"}}})
    status = reports(own, lambda s: phase(s) in ("Failed", "Error"), "the sync has ended")
    assert "terminated" in status["operationState"]["message"]
