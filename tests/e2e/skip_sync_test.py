# SPDX-License-Identifier: Apache-2.0
"""Objects with the label ignore-sync=true are nobody else's business."""
import pytest
from cluster import ARGOCD
from objects import IGNORE, project, repository


TRUE = {IGNORE: "true"}


def test_a_labelled_application_is_not_sent(fleet):
    app = fleet.application("mine", labels=TRUE)
    fleet.probe()
    assert app.spoke() is None


def test_an_application_with_another_value_is_sent(fleet):
    fleet.application("ours", labels={IGNORE: "false"}).arrives()


def test_a_label_that_comes_later_takes_it_from_the_agent_and_one_that_goes_brings_it_back(fleet):
    app = fleet.application("guestbook")
    app.arrives()
    app.edit({"metadata": {"labels": TRUE}})
    app.goes()
    assert app.hub() is not None
    app.edit({"metadata": {"labels": {IGNORE: None}}})
    app.arrives()


@pytest.mark.parametrize("labelled", ["project", "repository"])
def test_a_labelled_project_or_repository_is_not_sent(fleet, labelled):
    objects = {"project": project("team", "w1"), "repository": repository("apps", "team")}
    objects[labelled]["metadata"].setdefault("labels", {}).update(TRUE)
    for o in objects.values():
        fleet.hub.create(o)
    fleet.probe()
    for o in objects.values():
        sent = fleet.spokes["w1"].get(o["kind"], ARGOCD, o["metadata"]["name"]) is not None
        assert sent == (labelled == "repository" and o["kind"] == "AppProject"), o["kind"]
