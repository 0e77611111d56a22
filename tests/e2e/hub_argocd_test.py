# SPDX-License-Identifier: Apache-2.0
"""With a real Argo CD at the hub: Applications made by its API and by its ApplicationSets."""
from concurrent.futures import ThreadPoolExecutor

import pytest
from argocd import argocd_dev, call
from cluster import ARGOCD
from daemons import wait_for
from fleet import Application
from objects import AGENT_NAME, REFRESH, SYNCED, annotations, application, cluster_secret, project


@pytest.fixture(scope="module")
def argocd(clusters):
    argocd_dev("start", "hub", "server", "applicationsets", ARGOCD_APPLICATION_NAMESPACES="w1,w2")
    yield
    argocd_dev("stop", "hub")


@pytest.fixture
def hub(fleet, argocd):
    """The agents are the clusters that its Argo CD knows; its project "team" goes to all of them."""
    fleet.hub.delete("AppProject", ARGOCD, "default")
    fleet.hub.create(project("team", *fleet.agents))
    for agent in fleet.agents:
        fleet.hub.create(cluster_secret(agent))
    return fleet.hub


def made_through_the_api(fleet):
    """The Application, and where the API has it."""
    namespace = fleet.home()
    body = application("guestbook", namespace)
    body["spec"]["project"] = "team"
    call("hub", "POST", "?validate=false", body)
    app = Application(fleet, "guestbook", "w1", namespace)
    app.arrives()
    app.set_status(SYNCED)
    return app, f"/guestbook?appNamespace={namespace}"


def test_an_application_is_made_seen_and_deleted_through_the_api(fleet, hub):
    app, one = made_through_the_api(fleet)
    wait_for("it is shown as synced", lambda: call("hub", "GET", one)["status"].get("sync", {}).get("status") == "Synced")
    assert [a["metadata"]["name"] for a in call("hub", "GET", "")["items"]] == ["guestbook"]
    call("hub", "DELETE", one)
    app.finish_deletion()
    app.goes()
    wait_for("it is gone at the hub", lambda: app.hub() is None)


def test_a_refresh_through_the_api_answers_with_what_came_of_it(fleet, hub):
    app, one = made_through_the_api(fleet)
    app.reports(lambda s: s == SYNCED)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(call, "hub", "GET", f"{one}&refresh=normal")
        wait_for("the refresh arrives", lambda: REFRESH in annotations(app.spoke()))
        app.edit_locally({"metadata": {"annotations": {REFRESH: None}}, "status": {"sync": {"status": "OutOfSync"}}})
        assert answer.result()["status"]["sync"]["status"] == "OutOfSync"


GUESTBOOKS = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "ApplicationSet",
    "metadata": {"name": "guestbooks", "namespace": ARGOCD},
    "spec": {
        "goTemplate": True,
        "generators": [{"clusters": {"selector": {"matchExpressions": [{"key": AGENT_NAME, "operator": "Exists"}]}}}],
        "template": {
            "metadata": {"name": "guestbook-{{.name}}"},
            "spec": application("any", ARGOCD, "{{.name}}")["spec"] | {"project": "team"},
        },
    },
}


@pytest.fixture
def application_set(hub):
    hub.create(GUESTBOOKS)
    yield {"kind": "ApplicationSet", "namespace": ARGOCD, "name": "guestbooks"}
    hub.delete("ApplicationSet", ARGOCD, "guestbooks")


@pytest.mark.parametrize("shared_fleet", ["destination"], indirect=True)
def test_generated_applications_reach_their_agents_are_updated_and_pruned(fleet, hub, application_set):
    first, second = (Application(fleet, f"guestbook-{agent}", agent, ARGOCD) for agent in ("w1", "w2"))
    for app in (first, second):
        assert "ownerReferences" not in app.arrives()["metadata"]
    second.set_status(SYNCED)
    second.reports(lambda s: s == SYNCED)
    template = {"spec": {"source": {"targetRevision": "2"}}}
    hub.patch(**application_set, body={"spec": {"template": template}})
    for app in (first, second):
        app.arrives("2")
    assert second.hub()["status"] == SYNCED
    hub.patch("Secret", ARGOCD, "cluster-w2", {"metadata": {"labels": {AGENT_NAME: None}}})
    second.finish_deletion()
    second.goes()
    wait_for("it is gone at the hub", lambda: second.hub() is None)
    first.arrives("2")
    hub.delete("ApplicationSet", ARGOCD, "guestbooks")
    first.finish_deletion()
    first.goes()


OPERATION_ID = "argobus.io/operation-id"


@pytest.mark.parametrize("shared_fleet", ["destination"], indirect=True)
def test_a_sync_of_a_generated_application_is_one_command(fleet, hub, application_set):
    """Its controller removes the annotation that gives the sync its id."""
    app = Application(fleet, "guestbook-w1", "w1", ARGOCD)
    app.arrives()
    fleet.quiet()
    with fleet.away("w1"):
        app.edit({"operation": {"sync": {"revision": "abc"}}})
        wait_for("the sync is on its way", lambda: fleet.principal.metric("argobus_changes_pending") > 0)
        wait_for("the controller has removed its id", lambda: OPERATION_ID not in annotations(app.hub()))
    wait_for("the operation arrives", lambda: app.spoke().get("operation"))
    app.edit_locally({"operation": None, "status": SYNCED})
    app.reports(lambda s: s == SYNCED)
    wait_for("it is taken off the hub", lambda: "operation" not in app.hub())
    fleet.probe()
    assert "operation" not in app.spoke()
    assert fleet.agents["w1"].metric("argobus_commands_total") == 1
