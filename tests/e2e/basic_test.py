# SPDX-License-Identifier: Apache-2.0
"""One Application from the hub to its agent and back."""
from daemons import wait_for
from objects import PRINCIPAL_UID, SOURCE_UID, SYNCED, annotations


def test_an_application_arrives_placed_and_stamped(fleet):
    app = fleet.application("guestbook", labels={"team": "a"}, annotations={"note": "kept"})
    local, source = app.arrives(), app.hub()
    assert local["spec"] == source["spec"] | {
        "destination": {"name": "in-cluster", "namespace": "default", "server": ""}}
    assert local["metadata"]["labels"] == {"team": "a"}
    assert annotations(local)["note"] == "kept"
    assert annotations(local)[SOURCE_UID] == source["metadata"]["uid"]
    assert len(annotations(local)[PRINCIPAL_UID]) == 36


def test_changes_and_the_deletion_follow(fleet):
    app = fleet.application("guestbook")
    app.arrives()
    app.edit({"metadata": {"labels": {"team": "b"}}, "spec": {"source": {"targetRevision": "2"}}})
    assert app.arrives("2")["metadata"]["labels"] == {"team": "b"}
    app.delete()
    app.goes()
    assert app.hub() is None


def test_each_agent_gets_its_own_applications_only(fleet):
    first, second = fleet.application("first", "w1"), fleet.application("second", "w2")
    first.arrives()
    second.arrives()
    fleet.probe("w1")
    fleet.probe("w2")
    assert [a["metadata"]["name"] for a in fleet.spokes["w1"].list("Application")] == ["first"]
    assert [a["metadata"]["name"] for a in fleet.spokes["w2"].list("Application")] == ["second"]


def test_the_status_comes_back_and_nothing_goes_down_for_it(fleet):
    app = fleet.application("guestbook")
    app.arrives()
    fleet.quiet()
    writes = fleet.agents["w1"].metric("argobus_store_writes_total")
    app.set_status(SYNCED)
    app.reports(lambda s: s == SYNCED)
    app.set_status({"sync": {"status": "OutOfSync"}})
    app.reports(lambda s: s["sync"]["status"] == "OutOfSync" and s["health"] == SYNCED["health"])
    fleet.quiet()
    assert fleet.agents["w1"].metric("argobus_store_writes_total") == writes


def test_a_hundred_applications_arrive_and_go(fleet):
    apps = [fleet.application(f"app-{i}") for i in range(100)]
    spoke = fleet.spokes["w1"]
    wait_for("all are there", lambda: len(spoke.list("Application")) == 100)
    for app in apps:
        app.delete()
    wait_for("all are gone", lambda: not spoke.list("Application"))
