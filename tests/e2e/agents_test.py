# SPDX-License-Identifier: Apache-2.0
"""Agents that come and go while the principal runs."""
import signal

import objects
from cluster import ARGOCD
from daemons import kcat, wait_for


def is_served(fleet, agent):
    return f'agent="{agent}"' in wait_for("/metrics answers", lambda: fleet.principal.get("/metrics"))


def topics(fleet, agent):
    done = kcat("-L", capture_output=True)
    return [word for word in done.stdout.split() if word.startswith(f'"{fleet.prefix}.') and f".{agent}." in word]


def has_topics(fleet, agent, count):
    return fleet.transport != "kafka" or len(topics(fleet, agent)) == count


def test_an_agent_comes_and_goes_with_its_cluster_secret(own_fleet):
    fleet = own_fleet("namespace", agents=[], **{"agent-secrets": True})
    fleet.hub.create(objects.cluster_secret("w1"))
    fleet.start("principal", "w1")
    app = fleet.application("guestbook")
    app.arrives()
    assert is_served(fleet, "w1")
    wait_for("it has its topics", lambda: has_topics(fleet, "w1", 4))
    fleet.hub.delete("Secret", ARGOCD, "cluster-w1")
    wait_for("its series are gone", lambda: not is_served(fleet, "w1"))
    wait_for("its topics are gone", lambda: has_topics(fleet, "w1", 0))
    app.revise("2")
    fleet.hub.create(objects.cluster_secret("w2"))
    fleet.start("w2")
    fleet.probe("w2")
    assert objects.revision(app.spoke()) == "1", "what it had stays"
    fleet.hub.create(objects.cluster_secret("w1"))
    app.arrives("2")


def test_an_agent_comes_and_goes_with_the_configuration(own_fleet):
    fleet = own_fleet("namespace", agents=[{"name": "w1"}])
    fleet.start("principal", "w1")
    fleet.application("first").arrives()
    fleet.configure_principal(agents=[{"name": "w2"}])
    fleet.principal.process.send_signal(signal.SIGHUP)
    second = fleet.application("second", "w2")
    fleet.start("w2")
    second.arrives()
    wait_for("w1 is served no more", lambda: not is_served(fleet, "w1"))
