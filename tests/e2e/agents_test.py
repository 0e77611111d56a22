# SPDX-License-Identifier: Apache-2.0
"""Agents that are known from cluster Secrets, and agents that leave."""
import subprocess

from cluster import ARGOCD
from daemons import broker_ports, wait_for
from objects import cluster_secret


def topics(prefix):
    done = subprocess.run(["kcat", "-L", "-b", f"127.0.0.1:{broker_ports()['plain']}"], check=True,
                          capture_output=True, text=True)
    return {word.strip('"') for word in done.stdout.split() if word.startswith(f'"{prefix}.')}


def test_an_agent_comes_and_goes_with_its_cluster_secret(own_fleet):
    fleet = own_fleet("namespace", agents=[], **{"agent-secrets": True})
    fleet.hub.create(cluster_secret("w1"))
    app = fleet.application("guestbook")
    app.arrives()
    assert 'agent="w1"' in fleet.principal.get("/metrics")
    fleet.hub.delete("Secret", ARGOCD, "cluster-w1")
    wait_for("its series are gone", lambda: 'agent="w1"' not in fleet.principal.get("/metrics"))
    wait_for("its topics are gone", lambda: not any(".w1." in topic for topic in topics(fleet.prefix)))
    assert app.hub() is not None
    assert app.spoke() is not None
