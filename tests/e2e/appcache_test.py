# SPDX-License-Identifier: Apache-2.0
"""What is changed at an agent's cluster by others is set back, whoever else is there."""
import pytest
from cluster import decoded
from daemons import wait_for
from objects import project, repository


@pytest.fixture
def app(fleet):
    app = fleet.application("guestbook")
    app.arrives()
    fleet.quiet()
    return app


def test_a_local_edit_is_reverted_and_the_hubs_edits_win(app):
    app.revise_locally("hacked")
    app.arrives("1")
    app.revise("2")
    app.arrives("2")
    app.revise_locally("hacked")
    app.arrives("2")
    assert app.hub()["spec"]["source"]["targetRevision"] == "2"


def test_a_local_edit_is_reverted_while_the_principal_is_away(fleet, app):
    fleet.principal.stop()
    app.revise_locally("hacked")
    app.arrives("1")
    app.revise("2")
    fleet.principal.start()
    app.arrives("2")


@pytest.mark.parametrize("data", ["kept", "lost"])
def test_a_local_edit_is_reverted_after_a_restart_of_the_agent(fleet, app, data):
    agent = fleet.agents["w1"]
    agent.stop()
    if data == "lost":
        for path in (agent.folder / "data").iterdir():
            path.unlink()
    agent.start()
    fleet.quiet()
    app.revise_locally("hacked")
    app.arrives("1")


@pytest.mark.parametrize("data", ["kept", "lost"])
def test_edits_made_while_the_agent_was_away_are_reverted(fleet, app, data):
    agent = fleet.agents["w1"]
    agent.stop()
    if data == "lost":
        for path in (agent.folder / "data").iterdir():
            path.unlink()
    app.revise_locally("hacked")
    agent.start()
    app.arrives("1")


def test_a_local_deletion_is_reverted(fleet, app):
    first = app.spoke()["metadata"]["uid"]
    app.delete_locally()
    wait_for("it is made anew", lambda: (app.spoke() or {"metadata": {"uid": first}})["metadata"]["uid"] != first)
    fleet.agents["w1"].stop()
    app.delete_locally()
    app.goes()
    fleet.agents["w1"].start()
    app.arrives()


def test_labels_and_annotations_of_others_stay(app):
    app.edit_locally({"metadata": {"labels": {"local": "yes"}, "annotations": {"notified.notifications.argoproj.io": "x"}}})
    app.revise("2")
    metadata = app.arrives("2")["metadata"]
    assert metadata["labels"]["local"] == "yes"
    assert metadata["annotations"]["notified.notifications.argoproj.io"] == "x"


def test_local_changes_of_a_project_are_reverted(fleet):
    fleet.hub.create(project("team", "w1"))
    fleet.spoke_has("AppProject", "team")
    fleet.spokes["w1"].patch("AppProject", "argocd", "team", {"spec": {"description": "hacked"}})
    fleet.spoke_has("AppProject", "team", lambda p: p["spec"]["description"] == "first")
    fleet.spokes["w1"].delete("AppProject", "argocd", "team")
    fleet.spoke_has("AppProject", "team", lambda p: p["spec"]["description"] == "first")


def test_local_changes_of_a_repository_are_reverted(fleet):
    fleet.hub.create(project("team", "w1"))
    fleet.hub.create(repository("apps", "team", password="first"))
    fleet.spoke_has("Secret", "apps")
    fleet.spokes["w1"].patch("Secret", "argocd", "apps", {"stringData": {"password": "hacked"}})
    fleet.spoke_has("Secret", "apps", lambda s: decoded(s)["password"] == "first")
    fleet.spokes["w1"].delete("Secret", "argocd", "apps")
    fleet.spoke_has("Secret", "apps", lambda s: decoded(s)["password"] == "first")
