# SPDX-License-Identifier: Apache-2.0
"""With a real Argo CD at the agent: what is asked for at the hub is really deployed."""
import datetime
import time

import pytest
import yaml
from argocd import argocd_dev
from cluster import ARGOCD
from daemons import wait_for
from objects import APPROVED, CASCADE, REFRESH, annotations, project


pytestmark = pytest.mark.parametrize("shared_fleet", ["namespace"], indirect=True)

JOB = {
    "apiVersion": "batch/v1", "kind": "Job",
    "metadata": {"name": "never-ends", "annotations": {"argocd.argoproj.io/hook": "PreSync"}},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "none"}]}}},
}


def config_map(value, name="deployed", **annotations):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "annotations": annotations}, "data": {"value": value}}


def to_confirm():
    return config_map("one", **{"argocd.argoproj.io/sync-options": "Delete=confirm,Prune=confirm"})


@pytest.fixture(scope="module")
def argocd(clusters):
    argocd_dev("start", "w1")
    yield
    argocd_dev("stop", "w1")


@pytest.fixture
def repository(tmp_path):
    """repository(manifest...): commit these as folder "app"; gives the URL."""
    (tmp_path / "app").mkdir()

    def commit(*manifests):
        (tmp_path / "app/all.yaml").write_text(yaml.safe_dump_all(manifests))
        return argocd_dev("repo", str(tmp_path)).strip()
    return commit


@pytest.fixture
def deploy(fleet, argocd):
    fleet.hub.create(project("default", "w1", clusterResourceWhitelist=[{"group": "*", "kind": "*"}]))
    fleet.spoke_has("AppProject", "default", lambda p: p["spec"].get("description") == "first")
    yield lambda url: fleet.application("deployed", source={"repoURL": url, "path": "app",
                                                                     "targetRevision": "main"})
    fleet.spokes["w1"].delete("ConfigMap", "default", "deployed")
    fleet.spokes["w1"].delete("ConfigMap", "default", "other")
    fleet.spokes["w1"].delete("Job", "default", "never-ends")


def refresh(app):
    app.edit({"metadata": {"annotations": {REFRESH: "normal"}}})
    wait_for("the refresh is off the hub", lambda: REFRESH not in annotations(app.hub()))


def test_a_sync_asked_for_at_the_hub_deploys_and_its_outcome_is_seen_there(fleet, deploy, repository):
    app = deploy(repository(config_map("one")))
    app.reports(lambda s: s.get("sync", {}).get("status") == "OutOfSync", "it is compared")
    app.edit({"operation": {"sync": {}}})
    status = app.reports(lambda s: s.get("sync", {}).get("status") == "Synced" and
                         s.get("health", {}).get("status") == "Healthy" and
                         s.get("operationState", {}).get("phase") == "Succeeded", "it is deployed")
    assert fleet.spokes["w1"].get("ConfigMap", "default", "deployed")["data"] == {"value": "one"}
    assert [r["name"] for r in status["resources"]] == ["deployed"]
    wait_for("the request is off the hub", lambda: "operation" not in app.hub())


def test_a_new_commit_is_deployed_after_a_refresh_at_the_hub(fleet, deploy, repository):
    app = deploy(repository(config_map("one")))
    app.edit({"spec": {"syncPolicy": {"automated": {}}}})
    first = app.reports(lambda s: s.get("sync", {}).get("status") == "Synced", "it is deployed")["sync"]["revision"]
    repository(config_map("two"))
    refresh(app)
    app.reports(lambda s: s["sync"]["status"] == "Synced" and s["sync"]["revision"] != first, "the new one is")
    assert fleet.spokes["w1"].get("ConfigMap", "default", "deployed")["data"] == {"value": "two"}


def test_a_sync_window_of_the_agents_cluster_counts_there(fleet, deploy, repository):
    window = {"kind": "deny", "schedule": "* * * * *", "duration": "1h", "clusters": ["w1"]}
    fleet.hub.patch("AppProject", ARGOCD, "default", {"spec": {"syncWindows": [window]}})
    fleet.spoke_has("AppProject", "default", lambda p: p["spec"].get("syncWindows"))
    app = deploy(repository(config_map("one")))
    app.edit({"spec": {"syncPolicy": {"automated": {}}}})
    wait_for("it is to be synced", lambda: app.spoke()["spec"].get("syncPolicy"))
    app.reports(lambda s: s["sync"]["status"] == "OutOfSync", "it is compared")
    for _ in range(2):
        refresh(app)
        assert "operationState" not in app.hub()["status"]
    fleet.hub.patch("AppProject", ARGOCD, "default", {"spec": {"syncWindows": None}})
    fleet.spoke_has("AppProject", "default", lambda p: not p["spec"].get("syncWindows"))
    refresh(app)
    app.reports(lambda s: s["sync"]["status"] == "Synced", "it is deployed")


def test_a_terminate_at_the_hub_ends_a_sync_that_hangs(deploy, repository):
    app = deploy(repository(config_map("one"), JOB))
    app.edit({"operation": {"sync": {}}})
    app.reports(lambda s: s.get("operationState", {}).get("phase") == "Running", "the sync runs")
    app.edit({"status": {"operationState": {"phase": "Terminating"}}})
    status = app.reports(lambda s: s["operationState"]["phase"] in ("Failed", "Error"), "the sync has ended")
    assert "terminated" in status["operationState"]["message"]


def test_a_cascade_delete_at_the_hub_prunes_what_was_deployed(fleet, deploy, repository):
    app = deploy(repository(config_map("one")))
    app.edit({"metadata": {"finalizers": [CASCADE]}, "operation": {"sync": {}}})
    app.reports(lambda s: s["sync"]["status"] == "Synced" and s["operationState"]["phase"] == "Succeeded", "it is deployed")
    assert fleet.spokes["w1"].get("ConfigMap", "default", "deployed")
    app.delete()
    app.goes()
    assert fleet.spokes["w1"].get("ConfigMap", "default", "deployed") is None
    wait_for("it is gone at the hub", lambda: app.hub() is None)


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat()


def deployed(app):
    app.edit({"metadata": {"finalizers": [CASCADE]}, "operation": {"sync": {}}})
    app.reports(lambda s: s["sync"]["status"] == "Synced" and s["operationState"]["phase"] == "Succeeded" and
                any(r.get("requiresDeletionConfirmation") for r in s["resources"]), "it is deployed, and is to be asked about")
    return app


@pytest.mark.parametrize("away", (False, True), ids=("connected", "away"))
def test_a_deletion_that_waits_goes_on_when_it_is_confirmed_at_the_hub(fleet, deploy, repository, away):
    app = deployed(deploy(repository(to_confirm())))
    if away:
        fleet.agents["w1"].stop()
    app.delete()
    if not away:
        wait_for("the deletion is under way at the agent", lambda: app.spoke()["metadata"].get("deletionTimestamp"))
        fleet.probe()
    assert fleet.spokes["w1"].get("ConfigMap", "default", "deployed")
    app.edit({"metadata": {"annotations": {APPROVED: now()}}})
    if away:
        began = int(time.time())
        wait_for("another second", lambda: int(time.time()) > began + 1)  # of which the deletion at the agent is
        fleet.start("w1")
    app.goes()
    assert fleet.spokes["w1"].get("ConfigMap", "default", "deployed") is None
    wait_for("it is gone at the hub", lambda: app.hub() is None)


def test_what_is_to_be_pruned_goes_when_that_is_confirmed_at_the_hub(fleet, deploy, repository):
    app = deployed(deploy(repository(to_confirm(), config_map("one", "other"))))
    repository(config_map("one", "other"))
    app.edit({"metadata": {"annotations": {REFRESH: "normal"}}})
    app.reports(lambda s: s["sync"]["status"] == "OutOfSync", "it is compared")
    app.edit({"operation": {"sync": {"prune": True}}})
    app.reports(lambda s: s["operationState"]["phase"] == "Running" and
                "pruning confirmation" in s["operationState"]["message"], "the sync waits")
    assert fleet.spokes["w1"].get("ConfigMap", "default", "deployed")
    app.edit({"metadata": {"annotations": {APPROVED: now()}}})
    app.reports(lambda s: s["operationState"]["phase"] == "Succeeded", "the sync goes on")
    wait_for("it is pruned", lambda: fleet.spokes["w1"].get("ConfigMap", "default", "deployed") is None)
