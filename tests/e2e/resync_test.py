# SPDX-License-Identifier: Apache-2.0
"""What changes while one of the parts is away is as it should be soon after its return."""
from cluster import ARGOCD, decoded
from daemons import wait_for
from objects import SYNCED, project, repository


def test_applications_created_changed_and_deleted_meanwhile(fleet, missing):
    changed, deleted = fleet.application("changed"), fleet.application("deleted")
    changed.arrives()
    deleted.arrives()
    fleet.quiet()
    with fleet.away(missing):
        created = fleet.application("created")
        changed.revise("2")
        deleted.delete()
    created.arrives()
    changed.arrives("2")
    deleted.goes()


def test_a_status_set_meanwhile(fleet, missing):
    app = fleet.application("guestbook")
    app.arrives()
    fleet.quiet()
    with fleet.away(missing):
        app.set_status(SYNCED)
    app.reports(lambda s: s == SYNCED)


def test_projects_and_repositories_created_changed_and_deleted_meanwhile(fleet, missing):
    for name in ("changed", "deleted"):
        fleet.hub.create(project(name, "w1"))
        fleet.hub.create(repository(f"{name}-apps", name, password="one"))
        fleet.spoke_has("Secret", f"{name}-apps")
    fleet.quiet()
    with fleet.away(missing):
        fleet.hub.create(project("created", "w1"))
        fleet.hub.create(repository("created-apps", "created"))
        fleet.hub.patch("AppProject", ARGOCD, "changed", {"spec": {"description": "second"}})
        fleet.hub.patch("Secret", ARGOCD, "changed-apps", {"stringData": {"password": "two"}})
        fleet.hub.delete("AppProject", ARGOCD, "deleted")
        fleet.hub.delete("Secret", ARGOCD, "deleted-apps")
    fleet.spoke_has("AppProject", "created")
    fleet.spoke_has("Secret", "created-apps")
    fleet.spoke_has("AppProject", "changed", lambda p: p["spec"]["description"] == "second")
    fleet.spoke_has("Secret", "changed-apps", lambda s: decoded(s)["password"] == "two")
    fleet.spoke_lacks("AppProject", "deleted")
    fleet.spoke_lacks("Secret", "deleted-apps")


def test_a_project_that_moved_with_its_repository_meanwhile(fleet, missing):
    fleet.hub.create(project("team", "w1"))
    fleet.hub.create(repository("apps", "team"))
    fleet.spoke_has("Secret", "apps")
    fleet.quiet()
    with fleet.away(missing):
        fleet.hub.patch("AppProject", ARGOCD, "team", {"spec": project("team", "w2")["spec"]})
    for kind, name in (("AppProject", "team"), ("Secret", "apps")):
        fleet.spoke_has(kind, name, agent="w2")
        fleet.spoke_lacks(kind, name)


def test_projects_and_repositories_deleted_at_the_agent_meanwhile(fleet):
    fleet.hub.create(project("team", "w1"))
    fleet.hub.create(repository("apps", "team"))
    fleet.spoke_has("AppProject", "team")
    fleet.spoke_has("Secret", "apps")
    fleet.quiet()
    with fleet.away("w1"):
        fleet.spokes["w1"].delete("AppProject", ARGOCD, "team")
        fleet.spokes["w1"].delete("Secret", ARGOCD, "apps")
    fleet.spoke_has("AppProject", "team")
    fleet.spoke_has("Secret", "apps")


def test_a_restart_of_both_with_nothing_changed_writes_nothing(fleet):
    app = fleet.application("guestbook")
    app.arrives()
    app.set_status(SYNCED)
    app.reports(lambda s: s == SYNCED)
    fleet.hub.create(project("team", "w1"))
    fleet.spoke_has("AppProject", "team")
    fleet.quiet()
    before = versions(fleet)
    fleet.stop()
    fleet.start()
    fleet.probe()
    wait_for("all is compared", lambda: fleet.principal.metric("argobus_resyncs_total") >= len(fleet.agents))
    wait_for("the hub has answered all", lambda: fleet.principal.metric("argobus_store_operations") == 0)
    assert versions(fleet) == before


def versions(fleet):
    return {(cluster.name, o["kind"], o["metadata"]["name"]): o["metadata"]["resourceVersion"]
            for cluster in (fleet.hub, fleet.spokes["w1"]) for o in fleet.managed(cluster)}
