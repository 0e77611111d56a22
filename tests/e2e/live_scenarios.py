# SPDX-License-Identifier: Apache-2.0
"""What argocd-server does in a cluster in the same way whatever the mode of its agent. The tests of a mode import these, and
bring their own `remote`."""
import json

from daemons import wait_for
from remote import NAME, NAMESPACE


def test_a_restart_replaces_the_pods(remote):
    before = remote.pod()
    where = remote.where("Deployment", "web", group="apps")
    actions = remote.ask("GET", "resource/actions", **where)["actions"]
    assert "restart" in [action["name"] for action in actions]
    remote.ask("POST", "resource/actions/v2", {**where, "name": NAME, "action": "restart"})
    wait_for("another pod runs", lambda: before not in remote.pods() and remote.pods())


def test_a_deleted_resource_is_gone_from_the_cluster(remote):
    remote.ask("DELETE", "resource", **remote.where("ConfigMap", "spare"))
    wait_for("it is gone", lambda: remote.spoke.get("ConfigMap", NAMESPACE, "spare") is None)
    remote.restore()


def test_a_log_is_followed_in_order(remote):
    query = {"appNamespace": remote.app.namespace, "namespace": NAMESPACE, "podName": remote.pod(), "container": "main",
             "follow": "true", "tailLines": 1}
    with remote.server.open("GET", f"applications/{NAME}/logs", **query) as answer:
        lines = [json.loads(answer.readline())["result"]["content"] for _ in range(10)]
    first = int(lines[0].split()[1])
    assert lines == [f"line {first + more}" for more in range(10)]
