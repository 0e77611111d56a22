# SPDX-License-Identifier: Apache-2.0
"""Deletions at the hub that wait for what Argo CD deletes first."""
import pytest
from daemons import wait_for
from objects import APPROVED, CASCADE, annotations


@pytest.fixture
def app(fleet):
    app = fleet.application("guestbook", finalizers=[CASCADE])
    assert app.arrives()["metadata"]["finalizers"] == [CASCADE]
    fleet.quiet()
    return app


def test_both_go_only_when_the_agents_argocd_is_done(fleet, app):
    app.delete()
    wait_for("the deletion is under way at the agent", lambda: app.spoke()["metadata"].get("deletionTimestamp"))
    fleet.probe()
    assert CASCADE in app.spoke()["metadata"]["finalizers"]
    assert app.hub()["metadata"]["deletionTimestamp"]
    app.finish_deletion()
    app.goes()
    wait_for("it is gone at the hub", lambda: app.hub() is None)


def test_a_cascade_ends_though_the_agent_was_away_meanwhile(fleet, app):
    fleet.agents["w1"].stop()
    app.delete()
    fleet.agents["w1"].start()
    wait_for("the deletion is under way at the agent", lambda: app.spoke()["metadata"].get("deletionTimestamp"))
    fleet.agents["w1"].stop()
    app.finish_deletion()
    fleet.agents["w1"].start()
    wait_for("it is gone at the hub", lambda: app.hub() is None)


def test_an_approval_at_the_hub_reaches_a_deletion_that_waits_for_it(fleet, app):
    app.delete()
    wait_for("the deletion is under way at the agent", lambda: app.spoke()["metadata"].get("deletionTimestamp"))
    app.edit({"metadata": {"annotations": {APPROVED: app.hub()["metadata"]["deletionTimestamp"]}}})
    wait_for("it is approved there", lambda: APPROVED in annotations(app.spoke()))
    local = app.spoke()["metadata"]
    assert local["annotations"][APPROVED] == local["deletionTimestamp"]
    assert CASCADE in local["finalizers"]
    app.finish_deletion()
    app.goes()
    wait_for("it is gone at the hub", lambda: app.hub() is None)


def test_a_cascade_that_is_asked_for_just_before_is_the_agents_too(fleet):
    app = fleet.application("guestbook")
    app.arrives()
    fleet.quiet()
    with fleet.away("w1"):  # so that it hears of both at once
        app.edit({"metadata": {"finalizers": [CASCADE]}})  # as argocd app delete
        app.delete()
    wait_for("the deletion is under way at the agent", lambda: app.spoke()["metadata"].get("deletionTimestamp"))
    assert CASCADE in app.spoke()["metadata"]["finalizers"]
    app.finish_deletion()
    app.goes()
    wait_for("it is gone at the hub", lambda: app.hub() is None)


def test_without_cascade_it_goes_at_once_and_argo_cd_deletes_nothing(fleet, app):
    app.edit({"metadata": {"finalizers": None}})  # as argocd app delete --cascade=false
    app.delete()
    app.goes()


def test_without_cascade_it_goes_so_though_the_agent_was_away_meanwhile(fleet, app):
    fleet.agents["w1"].stop()
    app.edit({"metadata": {"finalizers": None}})
    app.delete()
    fleet.agents["w1"].start()
    app.goes()


def test_a_deletion_at_the_agent_alone_deletes_nothing_at_the_hub(fleet, app):
    first = app.spoke()["metadata"]["uid"]
    app.delete_locally()
    app.finish_deletion()
    wait_for("it is made anew", lambda: (app.spoke() or {"metadata": {"uid": first}})["metadata"]["uid"] != first)
    fleet.quiet()
    assert "deletionTimestamp" not in app.hub()["metadata"]
    assert app.hub()["metadata"]["finalizers"] == [CASCADE]
