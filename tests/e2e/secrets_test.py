# SPDX-License-Identifier: Apache-2.0
"""A credential is for its agent's eyes only."""
import base64
import uuid

import pytest
from cluster import decoded
from daemons import broker_holds
from objects import project, repository


def on_the_broker(text):
    """Does any file of the broker hold this, as it is or as Kubernetes writes it?"""
    return broker_holds(text.encode(), base64.b64encode(text.encode()).rstrip(b"=")[:-1])


@pytest.mark.parametrize("transport", ["kafka"], indirect=True)
@pytest.mark.parametrize(("protection", "found"), [("sealed", False), ("none", True)])
def test_the_broker_has_a_credential_in_clear_only_when_that_was_asked_for(own_fleet, protection, found):
    fleet = own_fleet("namespace", kafka={"compression": "none"}, secrets={"protection": protection})
    fleet.configure_agent("w1", secrets={"protection": protection})
    fleet.start()
    password = f"correct-horse-{uuid.uuid4().hex}"
    fleet.hub.create(project("team", "w1"))
    fleet.hub.create(repository("apps", "team", password=password))
    assert decoded(fleet.spoke_has("Secret", "apps"))["password"] == password
    fleet.quiet()
    assert on_the_broker(password) == found
