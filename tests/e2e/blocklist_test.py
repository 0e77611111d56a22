# SPDX-License-Identifier: Apache-2.0
"""argocd-agent's list of blocked certificates, a ConfigMap that the principal watches with the rights of deploy/kubernetes/rbac
and no other: whose certificate is in it is not served, over gRPC."""
import subprocess

import pytest
from cluster import ARGOCD
from daemons import wait_for
from fleet import certificate
from objects import application

NAME = "argocd-agent-tls-blocklist"
MODES = ["managed", "autonomous"]


def fingerprint(agent):
    said = subprocess.run(["openssl", "x509", "-noout", "-fingerprint", "-sha256", "-in", certificate(agent)["cert"]],
                          check=True, capture_output=True, text=True).stdout
    return said.strip().partition("=")[2].replace(":", "")


class List:
    def __init__(self, cluster):
        self.cluster = cluster

    def delete(self):
        self.cluster.delete("ConfigMap", ARGOCD, NAME)

    def create(self, *keys):
        self.cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": ARGOCD},
                             "data": dict.fromkeys(keys, "")})

    def add(self, key):
        self.cluster.patch("ConfigMap", ARGOCD, NAME, {"data": {key: ""}})

    def remove(self, key):
        self.cluster.patch("ConfigMap", ARGOCD, NAME, {"data": {key: None}})


@pytest.fixture
def blocklist(clusters, transport):
    if transport != "grpc":
        pytest.skip("over Kafka the broker says who an agent is")
    found = List(clusters["hub"])
    found.delete()
    yield found
    found.delete()


@pytest.fixture
def fleet(own_fleet, clusters, blocklist, tmp_path):
    """w1 is autonomous, w2 managed."""
    with clusters["hub"].granted("principal-autonomous"):
        fleet = own_fleet("namespace", principal={"data": str(tmp_path)},
                          agents=[{"name": "w1", "mode": "autonomous"}, {"name": "w2"}])
        fleet.configure_agent("w1", agent={"mode": "autonomous"})
        fleet.start()
        yield fleet
        fleet.stop()


class Blocked:
    """An agent whose certificate is put on the list, and another one's is not."""

    def __init__(self, fleet, mode):
        self.fleet, self.principal = fleet, fleet.principal
        self.name, self.other = ("w1", "w2") if mode == "autonomous" else ("w2", "w1")
        self.agent, self.key = fleet.agents[self.name], fingerprint(self.name)

    def is_up(self, name):
        return self.principal.metric(rf'argobus_peer_up\{{agent="{name}"\}}') == 1

    def refusals(self):
        return self.principal.metric(r'argobus_auth_failures_total\{reason="revoked"\}')

    def is_refused(self):
        before = self.refusals()
        wait_for("its login is refused", lambda: self.refusals() > before)
        assert not self.is_up(self.name)
        assert self.is_up(self.other)

    def is_cut_off(self):
        ended = "the stream has ended: UNAUTHENTICATED"
        wait_for("its stream is ended", lambda: ended in self.agent.log.read_text())
        self.is_refused()
        assert ended not in self.fleet.agents[self.other].log.read_text()

    def make(self, name):
        """An Application where this agent's are made."""
        cluster, namespace = (self.fleet.spokes["w1"], ARGOCD) if self.name == "w1" else (self.fleet.hub, "w2")
        cluster.create(application(name, namespace, self.name))

    def find(self, name):
        """What came of it at the other side."""
        return (self.fleet.hub.get("Application", "w1", name) if self.name == "w1"
                else self.fleet.spokes["w2"].get("Application", ARGOCD, name))


@pytest.mark.parametrize("mode", MODES)
def test_whose_certificate_is_added_is_out_until_it_is_removed(fleet, blocklist, mode):
    blocked = Blocked(fleet, mode)
    blocked.make("before")
    wait_for("it has arrived", lambda: blocked.find("before"))
    blocklist.create()
    blocklist.add(blocked.key)
    blocked.is_cut_off()
    blocked.make("meanwhile")
    fleet.principal.stop()
    fleet.principal.start()
    wait_for("the other one is back", lambda: blocked.is_up(blocked.other))
    blocked.is_refused()
    assert blocked.find("meanwhile") is None
    blocklist.remove(blocked.key)
    wait_for("it is let in again", lambda: blocked.is_up(blocked.name))
    wait_for("what was made meanwhile arrives", lambda: blocked.find("meanwhile"))


@pytest.mark.parametrize("mode", MODES)
def test_a_list_that_is_created_and_deleted_counts_at_once(fleet, blocklist, mode):
    blocked = Blocked(fleet, mode)
    blocklist.create("not-a-fingerprint", blocked.key.lower())
    blocked.is_cut_off()
    said = [line for line in fleet.principal.log.read_text().splitlines() if "block no certificate" in line]
    assert len(said) == 1
    assert "key=not-a-fingerprint" in said[0]
    blocklist.delete()
    wait_for("it is let in again", lambda: blocked.is_up(blocked.name))
