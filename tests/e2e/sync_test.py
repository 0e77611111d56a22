# SPDX-License-Identifier: Apache-2.0
"""What is asked for at the hub happens once, at the agent."""
import pytest
from daemons import wait_for
from objects import REFRESH, SYNCED, annotations


OPERATION = {"sync": {"revision": "abc"}}
RUNNING = {"operationState": {"operation": OPERATION, "phase": "Running", "startedAt": "2026-01-02T03:04:05Z"}}


@pytest.fixture
def app(fleet):
    app = fleet.application("guestbook")
    app.arrives()
    fleet.quiet()
    return app


def test_a_sync_reaches_the_agent_and_is_taken_off_the_hub(fleet, app):
    commands = fleet.agents["w1"].metric("argobus_commands_total")
    app.edit({"operation": OPERATION})
    wait_for("the operation arrives", lambda: app.spoke().get("operation") == OPERATION)
    app.edit_locally({"operation": None, "status": SYNCED})
    app.reports(lambda s: s == SYNCED)
    wait_for("it is taken off the hub", lambda: "operation" not in app.hub())
    fleet.probe()
    assert "operation" not in app.spoke()
    assert fleet.agents["w1"].metric("argobus_commands_total") == commands + 1


def test_a_sync_asked_for_while_the_agent_is_away_is_carried_out_later(fleet, app):
    fleet.agents["w1"].stop()
    app.edit({"operation": OPERATION})
    fleet.agents["w1"].start()
    wait_for("the operation arrives", lambda: app.spoke().get("operation") == OPERATION)


def test_a_sync_asked_for_while_another_one_runs_fails_and_says_why(app):
    """As while Argo CD's automated sync runs, which the control plane does not show in .operation."""
    app.edit_locally({"operation": OPERATION, "status": RUNNING})
    app.reports(lambda s: s == RUNNING)
    app.edit({"operation": {"sync": {"revision": "another"}}})
    wait_for("it is taken off the hub", lambda: "operation" not in app.hub())
    run = app.reports(lambda s: s["operationState"]["phase"] == "Error", "it has failed")["operationState"]
    assert run["operation"]["sync"]["revision"] == "another"
    assert "another operation is in progress" in run["message"]
    assert app.spoke()["operation"] == OPERATION


def test_a_terminate_ends_the_run(app):
    app.set_status(RUNNING)
    app.reports(lambda s: s == RUNNING)
    app.edit({"status": {"operationState": {"phase": "Terminating"}}})
    wait_for("the agent's operation is terminating",
             lambda: app.spoke()["status"]["operationState"]["phase"] == "Terminating")
    app.set_status({"operationState": {"phase": "Failed"}})
    app.reports(lambda s: s["operationState"]["phase"] == "Failed")


def test_a_refresh_is_passed_on_and_cleared(app):
    app.edit({"metadata": {"annotations": {REFRESH: "hard"}}})
    wait_for("the refresh arrives", lambda: annotations(app.spoke()).get(REFRESH) == "hard")
    app.edit_locally({"metadata": {"annotations": {REFRESH: None}}, "status": SYNCED})
    app.reports(lambda s: s == SYNCED)
    wait_for("it is cleared at the hub", lambda: REFRESH not in annotations(app.hub()))
