# SPDX-License-Identifier: Apache-2.0
"""Agents that register themselves at a principal with the rights of deploy/kubernetes/rbac and no other, over gRPC."""
import json
import os
import pathlib
import re

import pytest
import yaml
from argocd import argocd_dev
from cluster import ARGOCD, decoded
from daemons import free_port, wait_for
from fleet import FORBIDDEN, Application, certificate

PAGE = pathlib.Path(__file__).parents[2] / "docs/operate/registration.md"
ROLE = "argobus-principal-registration"


@pytest.fixture
def registering_fleet(own_fleet, transport, tmp_path):
    """registering_fleet(mapping, **options): a principal that knows no agent; `key` is the key of the agents' tokens."""
    if transport != "grpc":
        pytest.skip("over Kafka nobody hears an agent that is not known")

    def make(mapping, **options):
        key = tmp_path / "token.key"
        key.write_bytes(os.urandom(32))
        port = free_port()
        fleet = own_fleet(mapping, agents=[], live={"resource": {"listen": f"127.0.0.1:{port}"}},
                          registration={"enabled": True, "server": f"https://localhost:{port}", "token-key": str(key),
                                        "ca": certificate("server")["ca"], **options})
        fleet.key = key
        return fleet
    return make


@pytest.fixture
def registering(registering_fleet):
    return registering_fleet("namespace")


def secret_of(fleet, agent):
    return fleet.hub.get("Secret", ARGOCD, f"cluster-{agent}")


def may_only(fleet, *verbs):
    fleet.hub.kubectl("patch", "role", ROLE, "-n", ARGOCD, "--type", "json", "-p",
                      json.dumps([{"op": "replace", "path": "/rules/0/verbs", "value": verbs}]))


def has_logged(fleet, text):
    wait_for(text, lambda: text in fleet.principal.log.read_text())


def test_an_agent_registers_with_no_right_but_those_of_the_roles(registering):
    fleet = registering
    with fleet.hub.granted("principal-registration"):
        fleet.start("principal", "w1")
        app = fleet.application("guestbook")
        app.arrives()
        before = decoded(secret_of(fleet, "w1"))
        assert before["name"] == "w1"
        fleet.key.with_suffix(".new").write_bytes(os.urandom(32))
        fleet.key.with_suffix(".new").rename(fleet.key)
        wait_for("another key makes other tokens", lambda: decoded(secret_of(fleet, "w1"))["config"] != before["config"])
        assert fleet.principal.metric(FORBIDDEN) == 0


def test_each_right_of_the_role_is_needed_and_what_lacks_is_named(registering):
    fleet = registering
    fleet.principal.start(ready=False)
    wait_for("it is ready", fleet.principal.is_ready)
    fleet.agents["w1"].start(ready=False)
    has_logged(fleet, "the verbs create and patch on secrets may be missing")
    assert secret_of(fleet, "w1") is None
    with fleet.hub.granted("principal-registration"):
        may_only(fleet, "create")
        wait_for("it is tried again", lambda: secret_of(fleet, "w1"))
        fleet.application("guestbook").arrives()
        before = decoded(secret_of(fleet, "w1"))["config"]
        refused = fleet.principal.metric(FORBIDDEN)
        fleet.key.with_suffix(".new").write_bytes(os.urandom(32))
        fleet.key.with_suffix(".new").rename(fleet.key)
        wait_for("the patch is forbidden", lambda: fleet.principal.metric(FORBIDDEN) > refused)
        assert decoded(secret_of(fleet, "w1"))["config"] == before
        may_only(fleet, "create", "patch")
        wait_for("it is tried again", lambda: decoded(secret_of(fleet, "w1"))["config"] != before)


@pytest.fixture
def by_region(registering_fleet):
    """w1 is in the region that the page's ApplicationSet is for, w2 in another one; the real controller is at the hub."""
    fleet = registering_fleet("destination", labels=["region"], approval="manual")
    for agent, region in (("w1", "eu-west"), ("w2", "us-east")):
        fleet.configure_agent(agent, agent={"labels": {"region": region}})
    blocks = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    [fleet.set] = [o for o in map(yaml.safe_load, blocks) if o.get("kind") == "ApplicationSet"]
    argocd_dev("start", "hub", "applicationsets")
    with fleet.hub.granted("principal-registration"):
        yield fleet
        fleet.hub.delete("ApplicationSet", ARGOCD, fleet.set["metadata"]["name"])
        argocd_dev("stop", "hub")


def label(fleet, agent, **labels):
    fleet.hub.patch("Secret", ARGOCD, f"cluster-{agent}", {"metadata": {"labels": labels}})


def test_an_application_set_generates_for_approved_agents_by_the_labels_that_they_bring(by_region):
    fleet = by_region
    fleet.principal.start(ready=False)
    for agent in fleet.agents:
        fleet.agents[agent].start(ready=False)
        wait_for(f"{agent} is registered", lambda agent=agent: secret_of(fleet, agent))
    fleet.hub.create(fleet.set)

    def is_reconciled():
        status = fleet.hub.get("ApplicationSet", ARGOCD, fleet.set["metadata"]["name"]).get("status") or {}
        return {"ResourcesUpToDate": "True"}.items() <= {c["type"]: c["status"] for c in status.get("conditions", ())}.items()

    def generated():
        return sorted(o["metadata"]["name"] for o in fleet.hub.list("Application"))
    wait_for("the ApplicationSet is reconciled", is_reconciled)
    assert generated() == []
    for agent in ("w2", "w1"):
        label(fleet, agent, **{"argobus.io/approved": "true"})
        wait_for(f"{agent} is served", fleet.agents[agent].is_ready)
    first, second = (Application(fleet, f"guestbook-{agent}", agent, ARGOCD) for agent in ("w1", "w2"))
    first.arrives("main")
    assert generated() == ["guestbook-w1"]
    label(fleet, "w2", region="eu-west")
    second.arrives("main")
    label(fleet, "w1", region="us-east")
    first.finish_deletion()
    first.goes()
    wait_for("the hub has the other one only", lambda: generated() == ["guestbook-w2"])
