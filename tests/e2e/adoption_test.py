# SPDX-License-Identifier: Apache-2.0
"""Applications that an agent's cluster has already when the hub makes them."""
from cluster import ARGOCD
from objects import ADOPTION, SOURCE_UID, annotations, application


def test_an_existing_application_is_adopted(fleet):
    fleet.spokes["w1"].create(application("found", ARGOCD, revision="local"))
    app = fleet.application("found")
    assert annotations(app.arrives())[SOURCE_UID] == app.hub()["metadata"]["uid"]
    app.revise("2")
    app.arrives("2")


def test_an_application_that_may_not_be_adopted_is_left_and_the_hub_says_so(fleet):
    fleet.spokes["w1"].create(application("mine", ARGOCD, revision="local", annotations={ADOPTION: "never"}))
    before = fleet.spokes["w1"].get("Application", ARGOCD, "mine")
    app = fleet.application("mine")
    status = app.reports(lambda s: s.get("conditions"))
    assert status["health"]["status"] == "Degraded"
    assert status["conditions"][0]["type"] == "AgentError"
    fleet.probe()
    assert app.spoke() == before
    app.delete_locally()
    app.arrives()
