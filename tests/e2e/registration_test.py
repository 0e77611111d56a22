# SPDX-License-Identifier: Apache-2.0
"""Agents that register themselves at a principal with the rights of deploy/kubernetes/rbac and no other, over gRPC."""
import json
import os

import pytest
from cluster import ARGOCD, decoded
from daemons import free_port, wait_for
from fleet import FORBIDDEN, certificate

ROLE = "argobus-principal-registration"


@pytest.fixture
def registering(own_fleet, transport, tmp_path):
    """A principal that knows no agent; `registering.key` is the key of the agents' tokens."""
    if transport != "grpc":
        pytest.skip("over Kafka nobody hears an agent that is not known")
    key = tmp_path / "token.key"
    key.write_bytes(os.urandom(32))
    port = free_port()
    fleet = own_fleet("namespace", agents=[], live={"resource": {"listen": f"127.0.0.1:{port}"}},
                      registration={"enabled": True, "server": f"https://localhost:{port}", "token-key": str(key),
                                    "ca": certificate("server")["ca"]})
    fleet.key = key
    return fleet


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
