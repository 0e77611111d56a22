# SPDX-License-Identifier: Apache-2.0
"""An argobus agent behind argocd-agent's principal, which go_peer.py plays: what that asks about a real API server and
a real redis, and what it is answered."""
import base64
import json
import os
import subprocess
import time
import unittest
import uuid

from access import Access
from cable import Cable
from compat_test import AtAgent, bridge, data
from daemons import wait_for
from redis_servers import Server
from viewers import COUNTING, LINE

TREE = "app|resources-tree|w1_guestbook|1.8.3.gz"
CHANNEL = "app|managed-resources|w1_guestbook|1.8.3"
PONG = {"pong": {}}


def kubectl(*args, **options):
    subprocess.run([os.environ["KUBE_DEV"], "kubectl", "test", *args], check=True, timeout=120,
                   stdout=subprocess.DEVNULL, **options)


def config_map(name, namespace, **annotations):
    return {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "annotations": annotations}, "data": {"a": "ü\u2028\""}}


class Behind(AtAgent):
    """An agent that argocd-agent's principal asks."""

    live = {}
    settings = {}  # of the principal

    def setUp(self):
        self.redis = Server(self)
        self.namespace = f"live-{uuid.uuid4().hex[:8]}"
        super().setUp()
        kubectl("create", "namespace", self.namespace)
        self.addCleanup(kubectl, "delete", "namespace", self.namespace, "--wait=false")
        self.peer = self.go("principal", version="v0.8.1", **self.settings)
        self.peer.wait("listening")
        self.agent.start(ready=False)
        self.peer.wait("subscribed")
        wait_for("the agent knows its principal", lambda: "principal connected" in self.agent.log.read_text())

    def agent_config(self):
        config = super().agent_config()
        config["store"]["kubernetes"] = {"kubeconfig": os.environ["AB_KUBECONFIG"]}
        return {**config, "live": {"enabled": True, "redis": {"address": f"127.0.0.1:{self.redis.port}"}, **self.live}}

    def apply(self, *objects):
        for o in objects:
            o["metadata"].setdefault("namespace", self.namespace)
        kubectl("apply", "-f", "-", text=True,
                input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def send(self, kind, target, content, name=None):
        """As argocd-agent's principal asks."""
        name = name or str(uuid.uuid4())
        ext = {"resourceid": name, "eventid": name, "sentat": "2026-01-02T03:04:05.678901234Z"}
        self.peer.order(event={"type": kind, "target": target, "ext": ext, "data": json.dumps({**content, "uuid": name})})
        return ext

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.agent.process.pid}/fd"))

    def holds(self):
        """Wait until the call takes no more: it has 256 KiB, and three pieces of 64 KiB may be all that fit."""
        wait_for("the call is full", lambda: self.agent.metric("argobus_grpc_buffered_bytes") > 190000)

    def ask_by_side(self, target, **content):
        """The id of the request, whose first message has come."""
        kind = "GET" if target == "containerlog" else "terminal-request"
        ext = self.send(kind, target, {"namespace": self.namespace, **content})
        self.peer.acked(ext)
        self.assertEqual(self.message(ext["eventid"]), {}, "which request it is of")
        return ext["eventid"]

    def message(self, name):
        """The next message of a side call, without its uuid; or how it ended."""
        said = self.peer.wait("side", lambda s: s["name"] == name)
        if "message" not in said:
            return said["ended"]
        self.assertEqual(said["message"].pop("uuid"), name)
        return said["message"]


class Asked(Behind):
    """The agent shows what Argo CD manages."""

    tracked = {"argocd.argoproj.io/tracking-id": "app:/ConfigMap:x/one"}

    def setUp(self):
        super().setUp()
        self.apply(config_map("managed", self.namespace, **self.tracked), config_map("other", self.namespace))

    def answered(self, ext, kind):
        event = self.peer.wait("event", lambda e: e["type"] == kind and e["ext"]["eventid"] == ext["eventid"])
        self.assertNotEqual(event["ext"]["resourceid"], ext["resourceid"])
        self.assertEqual((event["source"], event["kinds"]["dataschema"]), ("agent://agent-managed", 5))
        self.assertEqual(data(event)["uuid"], ext["eventid"])
        return data(event)

    def ask(self, method, body=None, ready=False, **names):
        """Status and object."""
        content = {"name": "", "group": "", "version": "v1", "resource": "configmaps", "namespace": self.namespace,
                   "method": method, **names}
        if body is not None:
            content["body"] = base64.b64encode(json.dumps(body).encode()).decode()
        ext = self.send(method, "resource", content)
        self.peer.acked(ext)
        answer = self.answered(ext, "response")
        return answer["status"], json.loads(answer["resource"]) if answer.get("resource") else None

    def ask_redis(self, body, connection="c1"):
        return self.send("redis-request", "redis", {"connectionUuid": connection, "body": body})

    def get(self, key):
        answer = self.answered(self.ask_redis({"get": {"key": key}}), "redis-response")
        self.assertEqual(answer["connectionUuid"], "c1")
        return answer["body"]["get"]

    def test_objects_are_shown_as_the_agents_policy_says(self):
        status, shown = self.ask("GET", name="managed")
        self.assertEqual((status, shown["kind"], shown["data"]), (200, "ConfigMap", {"a": "ü\u2028\""}))
        self.assertEqual(self.ask("GET", name="other"), (403, None))
        self.assertEqual(self.ask("GET", name="none"), (404, None))
        self.assertEqual(self.ask("GET"), (403, None), "a list")
        self.assertEqual(self.ask("GET", resource="events", params={"limit": "5"})[1]["kind"], "EventList")
        self.assertEqual(self.ask("GET", name="../secrets/x"), (400, None))

    def test_values_of_secrets_are_masked_here_too(self):
        secret = {"apiVersion": "v1", "kind": "Secret", "stringData": {"password": "hunter2"},
                  "metadata": {"name": "s", "namespace": self.namespace, "annotations": self.tracked}}
        self.apply(secret)
        self.assertEqual(self.ask("GET", resource="secrets", name="s")[1]["data"], {"password": "++++++++"})

    def test_objects_are_created_changed_and_deleted(self):
        made = config_map("made", self.namespace, **self.tracked)
        status, shown = self.ask("POST", made)
        self.assertEqual((status, shown["metadata"]["name"]), (200, "made"))
        self.assertEqual(self.ask("POST", made), (409, None))
        status, shown = self.ask("PATCH", {"data": {"a": None, "b": "1"}}, name="made")
        self.assertEqual((status, shown["data"]), (200, {"b": "1"}))
        self.assertEqual(self.ask("DELETE", {}, name="made")[0], 200)
        self.assertEqual(self.ask("GET", name="made"), (404, None))

    def test_discovery_has_the_core_group(self):
        nothing = {"namespace": "", "version": "", "resource": ""}
        status, groups = self.ask("GET", **nothing)
        self.assertEqual((status, groups["kind"]), (200, "APIGroupList"))
        names = [g["name"] for g in groups["groups"]]
        self.assertEqual((names[0], names.count(""), names.count("apps")), ("", 1, 1))
        status, listed = self.ask("GET", namespace="", resource="")
        self.assertIn("configmaps", [r["name"] for r in listed["resources"]])
        status, listed = self.ask("GET", namespace="", resource="", group="apps")
        self.assertEqual((status, listed["groupVersion"]), (200, "apps/v1"))

    def test_keys_of_redis_are_read_without_the_namespace_of_the_principal(self):
        value = os.urandom(2000000)
        self.set("app|resources-tree|guestbook|1.8.3.gz", value)
        got = self.get(TREE)
        self.assertEqual((base64.b64decode(got["bytes"]), got["cacheHit"], got["error"]), (value, True, ""))
        self.assertEqual(self.get(CHANNEL), {"bytes": None, "cacheHit": False, "error": ""})
        self.assertIn("not a key", self.get("mfst|x")["error"])

    def set(self, key, value):
        subprocess.run(["redis-cli", "-p", str(self.redis.port), "-x", "set", key], input=value, check=True,
                       stdout=subprocess.DEVNULL)

    def publish(self):
        out = subprocess.run(["redis-cli", "-p", str(self.redis.port), "publish",
                              "app|managed-resources|guestbook|1.8.3", ""], check=True, capture_output=True, text=True)
        return int(out.stdout)

    def test_messages_of_a_channel_come_and_pings_are_answered(self):
        ext = self.ask_redis({"subscribe": {"channel": CHANNEL}})
        self.assertEqual(self.answered(ext, "redis-response")["body"], {"subscribeResponse": {"error": ""}})
        for _ in range(3):
            self.assertEqual(self.publish(), 1)
            self.assertEqual(self.answered(ext, "redis-response")["body"],
                             {"pushFromSubscribe": {"channelName": CHANNEL}})
        self.assertEqual(self.answered(self.ask_redis({"ping": {}}), "redis-response")["body"], PONG)
        self.redis.stop()
        self.redis.start()
        self.assertEqual(self.answered(ext, "redis-response")["body"], {"pushFromSubscribe": {"channelName": CHANNEL}})

    def test_a_request_that_comes_twice_is_made_once(self):
        made = config_map("twice", self.namespace, **self.tracked)
        content = {"name": "", "group": "", "version": "v1", "resource": "configmaps", "namespace": self.namespace,
                   "method": "POST", "body": base64.b64encode(json.dumps(made).encode()).decode()}
        ext = self.send("POST", "resource", content, "one")
        self.send("POST", "resource", content, "one")
        self.assertEqual(self.answered(ext, "response")["status"], 200)
        self.send("POST", "resource", content, "one")
        self.assertEqual(self.ask("GET", name="twice")[0], 200)
        self.assertEqual(len([e for e in self.peer.events("resource") if e["ext"]["eventid"] == "one"]), 1)

    def test_what_is_not_a_request_is_passed_over(self):
        for target, content in (("resource", {}), ("resource", {"method": "GET", "name": 1}), ("redis", {"body": {}})):
            self.peer.acked(self.send("GET" if target == "resource" else "redis-request", target, content))
        self.assertEqual(self.ask("GET", name="managed")[0], 200)


class Logs(Behind):
    """Logs of Pods of the agent's cluster."""

    live = {"kubernetes": {"policy": "all"}}
    run_pod = Access.run_pod

    def read(self, name):
        """All that comes, as text, and how it ended."""
        text = ""
        while "data" in (message := self.message(name)):
            text += message["data"]
        return text, message

    def test_a_log_comes_by_a_call_and_ends(self):
        self.run_pod("short", "echo one; echo two; exec sleep 1000")
        wait_for("it has said so", lambda: self.read(self.ask_by_side("containerlog", podName="short"))[0] == "one\ntwo\n")
        name = self.ask_by_side("containerlog", podName="short", container="main", tailLines=1, timestamps=True)
        text, end = self.read(name)
        self.assertRegex(text, r"^\d{4}-\S+Z? two\n$")
        self.assertEqual((end, self.message(name)), ({"eof": 1}, "OK"))

    def test_what_the_cluster_or_the_policy_refuses_is_an_error(self):
        for content, error in (({"podName": "none"}, "not found"), ({"podName": "../secrets/x"}, "not a name"),
                               ({"podName": ""}, "not a request for a log")):
            text, end = self.read(self.ask_by_side("containerlog", **content))
            self.assertEqual(text, "")
            self.assertIn(error, end["error"])

    def test_a_log_is_followed_until_the_viewer_goes(self):
        self.run_pod("counter", COUNTING)
        name = self.ask_by_side("containerlog", podName="counter", follow=True, sinceSeconds=60)
        text = ""
        while text.count("\n") < 50:
            text += self.message(name)["data"]
        lines = text.splitlines()[:50]
        self.assertEqual(lines, [f"line {n}" for n in range(1, 51)])
        before = self.descriptors()
        self.peer.order(drop=name)
        wait_for("the API server is not read any more", lambda: self.descriptors() < before)

    def test_a_principal_that_does_not_read_gets_it_all_later(self):
        self.run_pod("long", "seq 1000000; exec sleep 1000")
        self.peer.order(reads=False)
        name = self.ask_by_side("containerlog", podName="long", follow=True)
        self.holds()
        self.assertEqual(self.ask_status(), 404)
        self.peer.order(reads=True)
        text = ""
        while not text.endswith("\n1000000\n"):
            text += self.message(name)["data"]
        self.assertEqual(text, "".join(f"{n}\n" for n in range(1, 1000001)))

    def ask_status(self):
        """Other requests are answered meanwhile."""
        ext = self.send("GET", "resource", {"name": "none", "group": "", "version": "v1", "resource": "pods",
                                            "namespace": self.namespace, "method": "GET"})
        return data(self.peer.wait("event", lambda e: e["type"] == "response" and e["ext"]["eventid"] == ext["eventid"]))["status"]


class LostLogs(Behind):
    """Between agent and principal is a cable that can be cut."""

    live = {"kubernetes": {"policy": "all"}}
    run_pod = Access.run_pod

    def setUp(self):
        self.cable = None
        super().setUp()

    def agent_config(self):
        if self.cable is None:
            self.cable = Cable(self.grpc_port)
            self.addCleanup(self.cable.close)
        config = super().agent_config()
        config["grpc"]["address"] = f"localhost:{self.cable.port}"
        return config

    def numbers(self, name, count):
        """Of so many lines of a log, by as many calls as it takes."""
        text = ""
        while text.count("\n") < count:
            message = self.message(name)
            text += message.get("data", "") if isinstance(message, dict) else ""
        return [int(LINE.fullmatch(line.encode()).group(1)) for line in text.splitlines(keepends=True)]

    def follow(self):
        self.run_pod("counter", COUNTING)
        return self.ask_by_side("containerlog", podName="counter", follow=True, timestamps=True, tailLines=1)

    def test_a_log_that_is_followed_with_timestamps_goes_on_by_another_call(self):
        name = self.follow()
        numbers = self.numbers(name, 20)
        for _ in range(2):
            self.cable.cut()
            self.cable.mend()
            self.peer.wait("subscribed")
            numbers += self.numbers(name, 100)
        self.assertEqual(sorted(set(numbers)), list(range(min(numbers), max(numbers) + 1)))
        self.assertGreater(len(numbers), 200)

    def test_a_log_of_which_the_viewer_has_gone_does_not_go_on(self):
        name = self.follow()
        self.numbers(name, 20)
        before = self.descriptors()
        self.peer.order(drop=name)
        wait_for("the API server is not read any more", lambda: self.descriptors() < before)
        self.cable.cut()
        self.cable.mend()
        self.peer.wait("subscribed")
        again = self.ask_by_side("containerlog", podName="counter", tailLines=1)
        self.assertRegex(self.message(again)["data"], "^line")
        calls = [line for line in self.peer.seen if line.get("side", {}).get("name") == name
                 and "data" not in line["side"].get("message", {"data": ""})]
        self.assertEqual(len(calls), 1, "first messages, which say which request it is of")


class LogsByAnAgedConnection(Behind):
    """The principal has said GOAWAY, and the stream goes on."""

    live = {"kubernetes": {"policy": "all"}}
    settings = {"age_ms": 6000}
    run_pod = Access.run_pod

    def test_a_log_of_which_the_call_cannot_begin_makes_the_agent_connect_again(self):
        self.run_pod("short", "echo one; exec sleep 1000")
        end = time.monotonic() + 8
        wait_for("the connection is too old, by more than a tenth", lambda: time.monotonic() > end)
        self.send("GET", "containerlog", {"namespace": self.namespace, "podName": "short"})
        self.peer.wait("subscribed")
        self.assertEqual(self.message(self.ask_by_side("containerlog", podName="short"))["data"], "one\n")


class Terminals(Behind):
    """Terminals in Pods of the agent's cluster."""

    live = {"kubernetes": {"policy": "all"}, "exec": True}
    run_pod = Access.run_pod
    open_streams = {"stdin": True, "stdout": True, "stderr": False, "tty": True}

    def setUp(self):
        super().setUp()
        self.run_pod("shell", "exec sleep 1000")

    def open(self, *command, **changes):
        return self.ask_by_side("terminal", **{"podName": "shell", "containerName": "main", "command": list(command),
                                               **self.open_streams, **changes})

    def say(self, name, **message):
        self.peer.order(say={"name": name, "messages": [{"uuid": name, **message}]})

    def until(self, name, text):
        shown = ""
        while text not in shown:
            message = self.message(name)
            self.assertEqual(message.get("stream"), "stdout", message)
            shown += message["data"]
        return shown

    def test_a_window_has_its_size_and_what_is_typed_its_answer(self):
        name = self.open("bash")
        self.say(name, data="stty size\n", stream="stdin")
        self.until(name, "24 80")
        self.say(name, resize=True, rows=47, cols=113)
        # A kubelet reads what is typed and the size from two streams, in no order.
        self.say(name, data="while stty size | grep -q ' 80'; do sleep 0.1; done; stty size\n", stream="stdin")
        self.until(name, "47 113")
        self.say(name, data="seq 100000; echo whole\n", stream="stdin")
        shown = self.until(name, "\nwhole\r\n")
        self.assertIn("".join(f"{n}\r\n" for n in range(1, 100001)), shown)
        self.say(name, data="exit\n", stream="stdin")
        self.assertEqual(self.end_of(name), ({"eof": 1}, "OK"))

    def end_of(self, name):
        while "data" in (message := self.message(name)):
            pass
        return message, self.message(name)

    def test_failures_and_refusals_are_errors(self):
        streams = {"tty": False, "stderr": True}
        message, _ = self.end_of(self.open("bash", "-c", "exit 3", **streams))
        self.assertIn("exit code 3", message["error"])
        message, _ = self.end_of(self.open("no-such-shell", **streams))
        self.assertIn("no-such-shell", message["error"])
        message, _ = self.end_of(self.open("bash", podName="none"))
        self.assertIn("not found", message["error"])
        message, _ = self.end_of(self.open("bash", podName=""))
        self.assertIn("not a request for a terminal", message["error"])

    def test_when_the_viewer_goes_what_it_started_ends(self):
        for goes in ({"say": {"eof": True}}, {"drop": True}):
            name = self.open("bash")
            self.say(name, data="echo $((6 * 7)); cat\n", stream="stdin")
            self.until(name, "42")
            before = self.descriptors()
            if "say" in goes:
                self.say(name, **goes["say"])
            else:
                self.peer.order(drop=name)
            wait_for("the API server is not read any more", lambda: self.descriptors() < before)

    def test_a_principal_that_does_not_read_gets_it_all_later(self):
        self.peer.order(reads=False)
        name = self.open("bash", "-c", "seq 1000000", tty=False)
        self.holds()
        self.peer.order(reads=True)
        shown = self.until(name, "\n1000000\n")
        self.assertEqual(shown, "".join(f"{n}\n" for n in range(1, 1000001)))


class ByWebsocket(Behind):
    """The agent is behind a proxy: each call has a WebSocket of its own."""

    live = {"kubernetes": {"policy": "all"}, "exec": True}
    run_pod = Access.run_pod

    def go(self, role, **settings):
        peer = super().go(role, **settings)
        config = self.agent_config()
        config["grpc"].update(websocket=True, address=f"localhost:{bridge(self, self.grpc_port, '-')}")
        self.agent.configure(config)
        return peer


class LogsByWebsocket(ByWebsocket):
    read = Logs.read
    test_a_log_comes_by_a_call_and_ends = Logs.test_a_log_comes_by_a_call_and_ends
    test_a_log_is_followed_until_the_viewer_goes = Logs.test_a_log_is_followed_until_the_viewer_goes


class TerminalsByWebsocket(ByWebsocket):
    open_streams = Terminals.open_streams
    open, say, until, end_of = Terminals.open, Terminals.say, Terminals.until, Terminals.end_of

    def setUp(self):
        super().setUp()
        self.run_pod("shell", "exec sleep 1000")

    test_a_window_has_its_size = Terminals.test_a_window_has_its_size_and_what_is_typed_its_answer
    test_when_the_viewer_goes_what_it_started_ends = Terminals.test_when_the_viewer_goes_what_it_started_ends


class NoTerminals(Behind):
    """The agent does not allow them."""

    live = {"kubernetes": {"policy": "all"}}

    def test_the_policy_refuses_them(self):
        name = self.ask_by_side("terminal", podName="any", command=["bash"], **Terminals.open_streams)
        self.assertIn("live.exec", self.message(name)["error"])


if __name__ == "__main__":
    unittest.main()
