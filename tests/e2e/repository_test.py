# SPDX-License-Identifier: Apache-2.0
"""Repositories and their credentials go where their project goes."""
import pytest
from cluster import ARGOCD, decoded
from objects import SOURCE_UID, annotations, project, repository


@pytest.fixture(params=["repository", "repo-creds"])
def secret(request):
    """secret(project): a repository, or credentials for several."""
    return lambda project_name, **data: repository("apps", project_name, request.param, **data)


def absent(fleet, agent="w1"):
    fleet.probe(agent)
    return fleet.spokes[agent].get("Secret", ARGOCD, "apps") is None


def test_it_arrives_as_it_is_changes_and_goes(fleet, secret):
    fleet.hub.create(project("team", "w1"))
    source = fleet.hub.create(secret("team", password="one"))
    local = fleet.spoke_has("Secret", "apps")
    assert local["data"] == source["data"]
    assert local["metadata"]["labels"] == source["metadata"]["labels"]
    assert annotations(local)[SOURCE_UID] == source["metadata"]["uid"]
    fleet.hub.patch("Secret", ARGOCD, "apps", {"stringData": {"password": "two", "url": "https://git.example.com/b.git"}})
    local = fleet.spoke_has("Secret", "apps", lambda s: decoded(s)["password"] == "two")
    assert decoded(local)["url"] == "https://git.example.com/b.git"
    assert absent(fleet, "w2")
    fleet.hub.delete("Secret", ARGOCD, "apps")
    fleet.spoke_lacks("Secret", "apps")


def test_without_a_project_it_stays_at_the_hub(fleet, secret):
    fleet.hub.create(secret(""))
    assert absent(fleet)


def test_it_follows_when_its_project_is_made_later(fleet, secret):
    fleet.hub.create(secret("team"))
    assert absent(fleet)
    fleet.hub.create(project("team", "w1"))
    fleet.spoke_has("Secret", "apps")


def test_it_moves_with_its_projects_destinations(fleet, secret):
    fleet.hub.create(project("team", "w1"))
    fleet.hub.create(secret("team"))
    fleet.spoke_has("Secret", "apps")
    fleet.hub.patch("AppProject", ARGOCD, "team", {"spec": project("team", "w2")["spec"]})
    fleet.spoke_has("Secret", "apps", agent="w2")
    fleet.spoke_lacks("Secret", "apps")


def test_it_goes_with_its_project(fleet, secret):
    fleet.hub.create(project("team", "w1"))
    fleet.hub.create(secret("team"))
    fleet.spoke_has("Secret", "apps")
    fleet.hub.delete("AppProject", ARGOCD, "team")
    fleet.spoke_lacks("Secret", "apps")
    assert fleet.hub.get("Secret", ARGOCD, "apps") is not None


def test_it_moves_when_it_names_another_project(fleet, secret):
    fleet.hub.create(project("one", "w1"))
    fleet.hub.create(project("two", "w2"))
    fleet.hub.create(secret("one"))
    fleet.spoke_has("Secret", "apps")
    fleet.hub.patch("Secret", ARGOCD, "apps", {"stringData": {"project": "two"}})
    fleet.spoke_has("Secret", "apps", agent="w2")
    fleet.spoke_lacks("Secret", "apps")


def test_it_stays_when_it_names_another_project_of_the_same_agent(fleet, secret):
    fleet.hub.create(project("one", "w1"))
    fleet.hub.create(project("two", "w1"))
    fleet.hub.create(secret("one"))
    uid = fleet.spoke_has("Secret", "apps")["metadata"]["uid"]
    fleet.hub.patch("Secret", ARGOCD, "apps", {"stringData": {"project": "two"}})
    assert fleet.spoke_has("Secret", "apps", lambda s: decoded(s)["project"] == "two")["metadata"]["uid"] == uid
