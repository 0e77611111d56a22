# SPDX-License-Identifier: Apache-2.0
"""Destination mapping: the destination's name says whose an Application is."""
import uuid

import pytest
from cluster import ARGOCD
from daemons import wait_for
from objects import CASCADE, REFRESH, REMAPPED, SYNCED, annotations, application


pytestmark = pytest.mark.parametrize("shared_fleet", ["destination"], indirect=True)


@pytest.fixture
def team(fleet):
    """A namespace that only the hub has."""
    name = f"team-{uuid.uuid4().hex[:8]}"
    fleet.hub.namespace(name)
    return name


def test_an_application_keeps_its_namespace_which_is_made_at_the_agent(fleet, team):
    app = fleet.application("guestbook", namespace=team)
    assert app.arrives()["metadata"]["namespace"] == team
    assert fleet.spokes["w1"].get("Application", ARGOCD, "guestbook") is None
    app.set_status(SYNCED)
    app.reports(lambda s: s == SYNCED)
    app.revise_locally("hacked")
    app.arrives("1")
    app.delete()
    app.goes()


def test_one_of_the_principals_namespace_lives_in_the_agents(fleet):
    app = fleet.application("guestbook")
    assert annotations(app.arrives())[REMAPPED] == "true"
    app.set_status(SYNCED)
    app.reports(lambda s: s == SYNCED)
    assert REMAPPED not in annotations(app.hub())


def test_equal_names_in_two_namespaces_stay_apart(fleet, team):
    own, other = fleet.application("guestbook"), fleet.application("guestbook", namespace=team)
    own.arrives()
    other.arrives()
    own.revise("2")
    own.arrives("2")
    own.delete()
    own.goes()
    assert other.arrives("1")


def test_a_namespace_that_is_not_allowed_is_left_alone(fleet):
    fleet.hub.namespace("elsewhere")
    app = fleet.application("guestbook", namespace="elsewhere")
    fleet.probe()
    assert app.spoke() is None


@pytest.mark.parametrize("destination", ["in-cluster", "nobody"])
def test_one_of_no_agent_is_left_alone(fleet, destination):
    fleet.hub.create(application("guestbook", ARGOCD, destination))
    fleet.probe()
    for spoke in fleet.spokes.values():
        assert spoke.get("Application", ARGOCD, "guestbook") is None


def test_with_its_destination_it_moves_to_another_agent(fleet, team):
    app = fleet.application("guestbook", namespace=team)
    app.arrives()
    app.set_status(SYNCED)
    app.reports(lambda s: s == SYNCED)
    app.edit({"spec": {"destination": {"name": "w2"}}})
    wait_for("w2 has it", lambda: fleet.spokes["w2"].get("Application", team, "guestbook"))
    wait_for("w1 has not", lambda: fleet.spokes["w1"].get("Application", team, "guestbook") is None)
    fleet.spokes["w2"].patch("Application", team, "guestbook", {"status": {"sync": {"status": "OutOfSync"}}})
    app.reports(lambda s: s["sync"]["status"] == "OutOfSync")


def test_it_moves_though_the_new_agent_is_away_at_first(fleet):
    app = fleet.application("guestbook")
    app.arrives()
    fleet.agents["w2"].stop()
    app.edit({"spec": {"destination": {"name": "w2"}}})
    app.goes()
    fleet.agents["w2"].start()
    wait_for("w2 has it", lambda: fleet.spokes["w2"].get("Application", ARGOCD, "guestbook"))


def test_a_sync_and_a_refresh_reach_it(fleet, team):
    app = fleet.application("guestbook", namespace=team)
    app.arrives()
    app.edit({"operation": {"sync": {"revision": "abc"}}, "metadata": {"annotations": {REFRESH: "normal"}}})
    wait_for("both arrive", lambda: "operation" in app.spoke() and REFRESH in annotations(app.spoke()))
    app.edit_locally({"operation": None, "metadata": {"annotations": {REFRESH: None}}, "status": SYNCED})
    wait_for("both are off the hub", lambda: "operation" not in app.hub() and REFRESH not in annotations(app.hub()))


def test_a_cascade_deletes_both(fleet, team):
    app = fleet.application("guestbook", namespace=team, finalizers=[CASCADE])
    app.arrives()
    fleet.quiet()
    app.delete()
    wait_for("the deletion is under way at the agent", lambda: app.spoke()["metadata"].get("deletionTimestamp"))
    assert app.hub()
    app.edit_locally({"metadata": {"finalizers": None}})
    app.goes()
    wait_for("it is gone at the hub", lambda: app.hub() is None)
