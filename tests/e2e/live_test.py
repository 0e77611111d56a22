# SPDX-License-Identifier: Apache-2.0
"""Live access through the API of a real argocd-server, which reaches neither w1 nor its redis but through the principal."""
import json
import socket

import pytest
from argocd import port
from daemons import wait_for
from live_scenarios import (test_a_deleted_resource_is_gone_from_the_cluster, test_a_log_is_followed_in_order,  # noqa: F401
                            test_a_restart_replaces_the_pods)  # noqa: F401
from remote import NAME, NAMESPACE, deployed, output_of
from stage import enter, running

SHELL = {"container": "main", "appName": NAME, "projectName": "default", "namespace": NAMESPACE}


@pytest.fixture(scope="module", params=[("namespace", "kafka"), ("destination", "grpc")], ids="-".join)
def shared(request, clusters, tmp_path_factory):
    with running(*request.param, clusters, tmp_path_factory.mktemp("live")) as fleet, deployed(fleet) as remote:
        yield remote


@pytest.fixture
def remote(shared):
    enter(shared.fleet)
    shared.fleet.start("principal", "w1")
    return shared


def test_the_tree_shows_the_pods_of_a_deployment(remote):
    pod = remote.pod()
    parents = {node["name"]: [parent["name"] for parent in node.get("parentRefs", [])] for node in remote.nodes()}
    [replicas] = parents[pod]
    assert parents[replicas] == ["web"]


def test_a_live_manifest_is_what_the_cluster_has_now(remote):
    settings = remote.spoke.get("ConfigMap", NAMESPACE, "settings")
    assert remote.live("ConfigMap", "settings")["metadata"]["uid"] == settings["metadata"]["uid"]
    remote.spoke.patch("ConfigMap", NAMESPACE, "settings", {"metadata": {"labels": {"seen": "now"}}})
    assert remote.live("ConfigMap", "settings")["metadata"]["labels"]["seen"] == "now"


def test_what_was_changed_by_hand_is_seen_as_a_difference_and_edited_back(remote):
    remote.spoke.patch("ConfigMap", NAMESPACE, "settings", {"data": {"colour": "green"}})

    def difference():
        items = remote.ask("GET", "managed-resources").get("items", [])
        states = {item["name"]: (json.loads(item["targetState"]), json.loads(item["liveState"])) for item in items}
        return [state["data"] for state in states["settings"]]
    wait_for("the difference is seen", lambda: difference() == [{"colour": "blue"}, {"colour": "green"}])
    remote.ask("POST", "resource", json.dumps({"data": {"colour": "blue"}}),
               **remote.where("ConfigMap", "settings"), patchType="application/merge-patch+json")
    assert remote.spoke.get("ConfigMap", NAMESPACE, "settings")["data"] == {"colour": "blue"}
    wait_for("it is gone", lambda: difference() == [{"colour": "blue"}] * 2)


def test_events_of_a_resource_are_those_of_its_cluster(remote):
    web = remote.spoke.get("Deployment", NAMESPACE, "web")["metadata"]
    events = remote.ask("GET", "events", resourceNamespace=NAMESPACE, resourceName="web", resourceUID=web["uid"])
    assert "ScalingReplicaSet" in [event["reason"] for event in events["items"]]


def test_a_terminal_obeys_what_is_typed(remote):
    terminal = remote.server.terminal(pod=remote.pod(), appNamespace=remote.app.namespace, **SHELL)
    shown = ""

    def shows(text):
        nonlocal shown
        while text not in shown:
            shown += json.loads(terminal.recv()).get("data", "")
    terminal.send(json.dumps({"operation": "resize", "rows": 47, "cols": 113}))
    # A kubelet reads what is typed and the size from two streams, in no order.
    line = "until stty size | grep -q 113; do sleep 0.1; done; echo sum $((40 + 2)); stty size\n"
    terminal.send(json.dumps({"operation": "stdin", "data": line}))
    shows("sum 42\r\n")
    shows("47 113\r\n")
    terminal.close()


def test_an_agent_that_is_away_is_named_and_is_back_when_it_returns(remote):
    with remote.fleet.away("w1"):
        code, message = wait_for("the API says so", lambda: remote.server.refusal(
            "GET", f"applications/{NAME}/resource", **remote.where("ConfigMap", "settings")))
        assert code >= 500 and "w1" in message, message
    wait_for("it is there again", lambda: remote.live("ConfigMap", "settings")["data"] == {"colour": "blue"})


def test_the_cluster_is_connected_for_as_long_as_its_agent_is(remote):
    def state():
        info = remote.server.ask("GET", "clusters/w1", **{"id.type": "name"}).get("info", {})
        return info.get("connectionState", {}).get("status")
    wait_for("it is connected", lambda: state() == "Successful")
    with remote.fleet.away("w1"):
        wait_for("it is disconnected", lambda: state() == "Failed")
    wait_for("it is connected again", lambda: state() == "Successful")


def test_the_cluster_is_shown_with_what_its_own_argo_cd_counts(remote):
    def counts():
        info = remote.server.ask("GET", "clusters/w1", **{"id.type": "name"}).get("info", {})
        cache = info.get("cacheInfo", {})
        return [int(count or 0) for count in (info.get("applicationsCount"), cache.get("apisCount"),
                                              cache.get("resourcesCount"))]

    def are_right(found):
        applications, apis, resources = found
        return applications == 1 and apis > 20 and resources > 20
    wait_for("they are counted", lambda: are_right(counts()))
    with remote.fleet.away("principal"), socket.create_connection(("127.0.0.1", port("hub", "redis"))) as redis:
        redis.sendall(b"FLUSHALL\r\n")
        assert redis.recv(100) == b"+OK\r\n"
    wait_for("a principal that begins hears of them", lambda: are_right(counts()))


def test_the_command_line_tells_of_the_application_and_its_resources(remote):
    code, said = remote.cli("get", "--refresh")
    assert code == 0 and "Sync Status:        Synced" in said, said
    code, said = remote.cli("resources")
    assert code == 0 and all(name in said for name in ("settings", "spare", "web")), said


def test_the_command_line_shows_a_difference(remote):
    assert remote.cli("diff") == (0, "")
    remote.spoke.patch("ConfigMap", NAMESPACE, "settings", {"data": {"colour": "green"}})
    wait_for("it is shown", lambda: remote.cli("diff")[0] == 1)
    assert "colour: green" in remote.cli("diff")[1]
    remote.spoke.patch("ConfigMap", NAMESPACE, "settings", {"data": {"colour": "blue"}})
    wait_for("it is gone", lambda: remote.cli("diff")[0] == 0)


def test_the_command_line_follows_a_log(remote):
    remote.pod()
    with output_of(remote.start_cli("logs", "--follow", "--tail", "1")) as log:
        lines = [log.readline() for _ in range(5)]
    first = int(lines[0].split()[1])
    assert lines == [f"line {first + more}\n" for more in range(5)]


def test_the_command_line_restarts_a_deployment(remote):
    before = remote.pod()
    code, said = remote.cli("actions run", "restart", "--kind", "Deployment", "--resource-name", "web")
    assert code == 0, said
    wait_for("another pod runs", lambda: before not in remote.pods() and remote.pods())


def test_the_command_line_deletes_a_resource(remote):
    code, said = remote.cli("delete-resource", "--kind", "ConfigMap", "--resource-name", "spare")
    assert code == 0, said
    wait_for("it is gone", lambda: remote.spoke.get("ConfigMap", NAMESPACE, "spare") is None)
    remote.restore()


def test_kubectl_reads_changes_and_deletes_through_the_principal(remote):
    made = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made", "namespace": NAMESPACE}})
    assert remote.kubectl("apply", "--server-side", "-f", "-", text=made) == (0, "configmap/made serverside-applied\n")
    assert remote.kubectl("get", "configmap", "made", "-o", "name") == (0, "configmap/made\n")
    code, said = remote.kubectl("label", "configmap", "made", "a=b")
    assert code == 0 and remote.spoke.get("ConfigMap", NAMESPACE, "made")["metadata"]["labels"] == {"a": "b"}, said
    assert remote.kubectl("delete", "configmap", "made") == (0, 'configmap "made" deleted from default namespace\n')
    code, said = remote.kubectl("get", "configmap", "made")
    assert code == 1 and "(NotFound)" in said, said


def test_kubectl_watches_through_the_principal(remote):
    turns = "jsonpath={.metadata.labels.turn}{'\\n'}"
    # A list: of one object by name kubectl drops the first event that it hears, whatever it says.
    watch = ("get", "configmaps", "--field-selector", "metadata.name=settings", "--watch", "-o", turns)
    with output_of(remote.start_kubectl(*watch)) as seen:
        assert seen.readline()
        for turn in ("one", "two"):
            remote.spoke.patch("ConfigMap", NAMESPACE, "settings", {"metadata": {"labels": {"turn": turn}}})
            assert seen.readline() == f"{turn}\n"


def test_kubectl_types_into_a_container_and_gets_its_exit_code(remote):
    code, said = remote.kubectl("exec", "-i", remote.pod(), "--", "bash", "-c", "read word; echo got $word; exit 3",
                                text="hello\n")
    assert code == 3 and said.startswith("got hello\n"), said
