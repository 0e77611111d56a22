# SPDX-License-Identifier: Apache-2.0
"""All fleets share the clusters, so one of them is on stage at a time."""
import contextlib

from fleet import Fleet

on_stage = []  # the one that runs


def enter(fleet):
    """This fleet runs from now on, with the rights that its mapping needs."""
    if fleet in on_stage:
        return
    for other in on_stage:
        other.stop()
    on_stage[:] = [fleet]
    for spoke in fleet.spokes.values():
        if fleet.mapping == "destination":
            spoke.grant("agent-destination")
        else:
            spoke.kubectl("delete", "clusterrolebinding", "argobus-agent-destination", "--ignore-not-found")


@contextlib.contextmanager
def running(mapping, transport, clusters, folder, **principal):
    spokes = {name: clusters[name] for name in ("w1", "w2")}
    fleet = Fleet(mapping, transport, clusters["hub"], spokes, folder, **principal)
    enter(fleet)
    fleet.wipe()
    try:
        yield fleet
        fleet.stop()
    finally:
        fleet.kill()
        fleet.wipe()
