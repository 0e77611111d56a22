# SPDX-License-Identifier: Apache-2.0
"""The GPG keys of the hub are those of every agent."""
import pytest
from cluster import ARGOCD
from objects import GPG_KEYS, gpg_keys


def holding(**keys):
    return lambda m: m["data"] == keys


@pytest.fixture
def keys(fleet):
    fleet.hub.create(gpg_keys(A="one"))
    for agent in ("w1", "w2"):
        fleet.spoke_has("ConfigMap", GPG_KEYS, holding(A="one"), agent)
    return fleet


def test_keys_are_added_changed_and_taken_away(keys):
    for change, expected in (({"B": "two", "C": "three"}, {"A": "one", "B": "two", "C": "three"}),
                             ({"A": "uno", "C": None}, {"A": "uno", "B": "two"})):
        keys.hub.patch("ConfigMap", ARGOCD, GPG_KEYS, {"data": change})
        for agent in ("w1", "w2"):
            keys.spoke_has("ConfigMap", GPG_KEYS, holding(**expected), agent)
    keys.hub.delete("ConfigMap", ARGOCD, GPG_KEYS)
    for agent in ("w1", "w2"):
        keys.spoke_lacks("ConfigMap", GPG_KEYS, agent)


def test_a_local_change_is_reverted(keys):
    keys.spokes["w1"].patch("ConfigMap", ARGOCD, GPG_KEYS, {"data": {"A": "hacked", "X": "hacked"}})
    keys.spoke_has("ConfigMap", GPG_KEYS, holding(A="one"))


def test_a_local_deletion_is_reverted(keys):
    keys.spokes["w1"].delete("ConfigMap", ARGOCD, GPG_KEYS)
    keys.spoke_has("ConfigMap", GPG_KEYS, holding(A="one"))


def test_keys_that_an_agent_has_already_are_taken_over(fleet):
    fleet.spokes["w1"].create(gpg_keys(L="local"))
    fleet.hub.create(gpg_keys(A="one"))
    fleet.spoke_has("ConfigMap", GPG_KEYS, holding(A="one"))
    fleet.hub.patch("ConfigMap", ARGOCD, GPG_KEYS, {"data": {"B": "two"}})
    fleet.spoke_has("ConfigMap", GPG_KEYS, holding(A="one", B="two"))
