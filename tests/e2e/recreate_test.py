# SPDX-License-Identifier: Apache-2.0
"""What follows when an Application was deleted and made anew, at either side."""
import contextlib

import pytest
from daemons import wait_for
from objects import SOURCE_UID, SYNCED, annotations


@contextlib.contextmanager
def agent_options(fleet, **options):
    fleet.reconfigure_agent("w1", agent=options)
    yield
    fleet.reconfigure_agent("w1")


def replaced(app, uid):
    return wait_for("it is made anew", lambda: (
        lambda local: local if local and local["metadata"]["uid"] != uid else None)(app.spoke()))


@pytest.mark.parametrize(("policy", "status", "operation"),
                         [("ignore", SYNCED, False), ("clear-status", None, False), ("resync", None, True)])
def test_a_local_deletion_is_reverted_as_configured(fleet, policy, status, operation):
    with agent_options(fleet, **{"on-recreate": policy}):
        app = fleet.application("guestbook")
        uid = app.arrives()["metadata"]["uid"]
        app.set_status(SYNCED)
        app.reports(lambda s: s == SYNCED)
        fleet.quiet()
        app.delete_locally()
        assert ("sync" in replaced(app, uid).get("operation", {})) == operation
        fleet.quiet()
        wait_for("its status is as configured", lambda: app.spoke().get("status") == status)


@pytest.mark.parametrize(("policy", "anew"), [("recreate", True), ("upsert", False)])
def test_one_made_anew_at_the_hub_replaces_the_old_one_as_configured(fleet, policy, anew):
    with agent_options(fleet, **{"uid-mismatch": policy}):
        app = fleet.application("guestbook")
        uid = app.arrives()["metadata"]["uid"]
        fleet.quiet()
        fleet.agents["w1"].stop()
        app.delete()
        fleet.application("guestbook", labels={"second": "yes"})
        fleet.agents["w1"].start()
        local = wait_for("the second one is there", lambda: (
            lambda a: a if a and a["metadata"].get("labels") == {"second": "yes"} else None)(app.spoke()))
        assert annotations(local)[SOURCE_UID] == app.hub()["metadata"]["uid"]
        assert (local["metadata"]["uid"] != uid) == anew
