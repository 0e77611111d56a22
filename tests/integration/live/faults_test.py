#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Live access in the middle of which something breaks, and clients that do not keep to the rules: each gets a clear end,
nothing else is held up, nothing is left over, and afterwards everything works as before."""
import contextlib
import functools
import http.client
import json
import os
import pathlib
import re
import select
import signal
import socket
import ssl
import struct
import unittest
from unittest import mock

from access import TOKEN, TOKEN_W1, Access, Answer, config_map
from cable import Cable
from daemons import TRANSPORT, Daemon, kafka_dev, wait_for
from ports import free_port
from redis_servers import Server
from viewers import COUNTING, STDIN, STDOUT, V5, LogViewer, WebSocket

TREE = "app|resources-tree|%s|1.8.3.gz"
CHANNEL = "app|managed-resources|%s|1.8.3"
HEARTBEAT = ("--set", "transport.heartbeat=1s")  # over Kafka, who is silent for three of them is gone
LARGE = 16  # objects of 900 KB in the list
MIB = 1024 * 1024
MUCH = 256 * MIB  # far more than kernels keep for a connection


def setUpModule():
    if TRANSPORT == "kafka":  # a broker of its own: it goes down
        home = os.environ["KAFKA_DEV_HOME"] + "-live"
        unittest.enterModuleContext(mock.patch.dict(os.environ, {"KAFKA_DEV_HOME": home}))
        kafka_dev("fresh")
        unittest.addModuleCleanup(kafka_dev, "kill")


def resident(daemon):
    """Bytes of memory."""
    status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024


def command_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    return ""


@unittest.skipUnless(TRANSPORT == "grpc", "a broker keeps what is sent")
class SlowLine(Access):
    """Over which what an agent may have on its way takes longer than anybody should wait for a key stroke."""

    def agent_config(self):
        cable = Cable(self.grpc_port, rate=80 * 1024)
        self.addCleanup(cable.close)
        config = super().agent_config()
        config["grpc"]["address"] = f"localhost:{cable.port}"
        return config

    def test_objects_arrive_whole(self):
        names = ("one", "other")
        for name in names:
            self.bare("POST", self.path("configmaps"), body=config_map(name, a="x" * 850000), content_type="application/json")
        self.ask_when_there("GET", "/version")
        for name, answer in [(name, self.begin("GET", self.path("configmaps", name))) for name in names]:
            self.assertEqual(answer.status, 200)
            self.assertEqual(json.loads(answer.read())["metadata"]["name"], name)


class RedisClient:
    """One that waits for nothing but what it reads."""

    def __init__(self, case, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        self.file = self.socket.makefile("rb")
        case.addCleanup(self.close)

    def close(self):
        self.file.close()
        self.socket.close()

    def say(self, *words):
        self.socket.sendall(f"{' '.join(words)}\r\n".encode())

    def reply(self):
        """A value, an error's line, or the words of an array."""
        line = self.file.readline().decode().strip()
        if line[:1] == "$":
            value = self.file.read(int(line[1:]) + 2)
            return value[:-2].decode()
        return [self.reply() for _ in range(int(line[1:]))] if line[:1] == "*" else line

    def ask(self, *words):
        self.say(*words)
        return self.reply()


class Faults(Access):
    """Agent w1 reaches its API server, and over gRPC the principal, by cables that can be cut. Nothing befalls w2."""

    live = {"exec": True}

    def setUp(self):
        self.redis = {name: Server(self) for name in ("hub", "w1", "w2")}
        self.redis_port = free_port()
        super().setUp()
        self.run_pod("shell", COUNTING)
        for path in ("/agents/w1/version", "/agents/w2/version"):
            self.ask_when_there("GET", path, token=TOKEN)
        for name in ("w1", "w2"):
            self.put(name, TREE % "guestbook", f"of {name}")

    # --- the fleet ---

    def cable_to(self, port):
        cable = Cable(port)
        self.addCleanup(cable.close)
        return cable

    @functools.cached_property
    def api(self):
        """Between w1 and its API server."""
        return self.cable_to(int(pathlib.Path(os.environ["AB_KUBECONFIG"]).with_name("port").read_text()))

    @functools.cached_property
    def wire(self):
        """Between w1 and the principal, over gRPC."""
        return self.cable_to(self.grpc_port)

    def principal_config(self):
        config = super().principal_config()
        config["live"]["redis"] = {"listen": f"127.0.0.1:{self.redis_port}",
                                   "address": f"127.0.0.1:{self.redis['hub'].port}"}
        config["agents"].append({"name": "w2", "mode": "managed"})
        config["stop"] = {"timeout": "240s"}  # of which clients have a quarter
        return config

    def agent_config(self, name="w1"):
        config = {**super().agent_config(), **self.carried(name)}
        config["agent"] = {"name": name, "mode": "managed", "data": str(self.folder / f"data-{name}")}
        config["store"]["directory"] = {"path": str(self.folder / name)}
        config["live"] = {**config["live"], **self.certificate(name),
                          "redis": {"address": f"127.0.0.1:{self.redis[name].port}"}}
        for folder in (f"data-{name}", name):
            (self.folder / folder).mkdir(exist_ok=True)
        if name == "w1":
            config["store"]["kubernetes"]["kubeconfig"] = self.kubeconfig()
        if name == "w1" and self.transport == "grpc":
            config["grpc"]["address"] = f"localhost:{self.wire.port}"
        return config

    def kubeconfig(self):
        """By the cable."""
        text = pathlib.Path(os.environ["AB_KUBECONFIG"]).read_text()
        path = self.folder / "kubeconfig"
        path.write_text(text.replace(f"127.0.0.1:{self.api.target}", f"127.0.0.1:{self.api.port}"))
        return str(path)

    def start(self):
        self.other = Daemon("argobus-agent", self.folder / "other", self.agent_config("w2"))
        self.addCleanup(self.other.kill)
        for daemon in (self.principal, self.agent, self.other):
            daemon.start(*HEARTBEAT)

    def put(self, name, key, value):
        client = RedisClient(self, self.redis[name].port)
        self.assertEqual(client.ask("SET", key, f'"{value}"'), "+OK")

    # --- what is asked ---

    def send_head(self, method, path, *fields):
        """Of a request that is not whole; the rest is the test's."""
        connection = self.connect()
        connection.connect()
        head = (f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {TOKEN_W1}", *fields, "", "")
        connection.sock.sendall("\r\n".join(head).encode())
        return connection.sock

    def answer_to(self, raw, method="POST"):
        answer = http.client.HTTPResponse(raw, method=method)
        answer.begin()
        return answer

    def fill(self):
        """So much that a list does not fit in what lies between its ends."""
        connection = self.connect_bare()
        for number in range(LARGE):
            answer = self.ask("POST", self.path("configmaps"), config_map(f"large-{number}", a="x" * 900000),
                              token=None, connection=connection, content_type="application/json")
            self.assertEqual(answer.code, 201)

    def shell(self, path=""):
        terminal = WebSocket(self.connect(), f"{path}{self.path('pods', 'shell')}/exec?container=main&stdin=true"
                             "&stdout=true&stderr=true&tty=false&command=bash", V5, token=TOKEN if path else TOKEN_W1)
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.code, 101)
        terminal.say(STDIN, b"echo here\n")
        terminal.until(STDOUT, b"here")
        return terminal

    def begin_slow(self, path):
        """By a client that takes little before it is read, so that an answer stays in the middle."""
        connection = self.connect()
        connection.connect()
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        answer = self.begin("GET", path, connection=connection)
        answer.leave = connection.close
        return answer

    def follow(self, path="", token=TOKEN_W1):
        connection = self.connect()
        viewer = LogViewer(self.begin("GET", f"{path}{self.path('pods', 'shell')}/log?container=main&timestamps=true"
                                      "&follow=true&tailLines=1", token=token, connection=connection))
        viewer.leave = lambda: connection.sock.shutdown(socket.SHUT_RDWR)
        wait_for("there are lines", lambda: viewer.lines)
        return viewer

    def redis_client(self):
        return RedisClient(self, self.redis_port)

    def open_count(self):
        return self.principal.metric("argobus_live_open")

    # --- what must hold ---

    def assert_status(self, answer, *codes):
        """A Status of ours, readable, with a reason."""
        answer = Answer(answer)
        self.assertIn(answer.code, codes)
        status = answer.json()
        self.assertEqual((status["kind"], status["code"]), ("Status", answer.code))
        self.assertTrue(status["message"])

    def assert_cut(self, answer):
        """The client sees that it has not got all."""
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            answer.read()

    @staticmethod
    def assert_ended(end):
        """The connection, after whatever was said on it last."""
        with contextlib.suppress(ConnectionError):
            while end.recv(65536):
                pass

    def assert_whole(self, viewer):
        numbers = viewer.numbers()
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))

    def assert_grows(self, viewer):
        count = len(viewer.lines) + 10
        wait_for(f"{count} lines", lambda: len(viewer.lines) >= count)

    def assert_all_works(self):
        """With each agent, and nothing is left over of what was before."""
        wait_for("nothing is open", lambda: self.open_count() == 0)
        for name in ("w1", "w2"):
            self.ask_when_there("GET", f"/agents/{name}/version", token=TOKEN)
            listed = self.ask("GET", f"/agents/{name}{self.path('configmaps')}", token=TOKEN)
            self.assertEqual(listed.code, 200)
            listed.json()
            self.shell(f"/agents/{name}").close()
            client = self.redis_client()
            self.assertEqual(client.ask("GET", TREE % f"{name}_guestbook"), f"of {name}")
            client.close()
        wait_for("nothing is open", lambda: self.open_count() == 0)


class Middle:
    """One operation of each kind, of w1, and none of them at its end."""

    def __init__(self, case):
        case.fill()
        before = case.open_count()
        self.redis = case.redis["w1"]
        case.addCleanup(self.let_go, case)  # else nothing could end the redis
        self.listed = case.begin_slow(case.path("configmaps"))
        self.watch = case.begin("GET", case.path("services") + "?watch=true")
        self.log, self.terminal = case.follow(), case.shell()
        self.subscriber = case.redis_client()
        self.subscriber.ask("SUBSCRIBE", CHANNEL % "w1_guestbook")
        listener = RedisClient(case, self.redis.port)
        channel = CHANNEL % "guestbook"
        wait_for("w1 listens", lambda: listener.ask("PUBSUB", "NUMSUB", channel) == [channel, ":1"])
        self.create = case.send_head("POST", case.path("configmaps"), "Content-Type: application/json",
                                     "Content-Length: 1000")
        self.create.sendall(b'{"apiVersion": "v1", ')
        case.api.mute()
        self.redis.process.send_signal(signal.SIGSTOP)
        self.get = case.send_head("GET", "/version")
        self.value = case.redis_client()
        self.value.say("GET", TREE % "w1_guestbook")
        wait_for("all of them are under way", lambda: case.open_count() == before + 6)

    def let_go(self, case):
        """What held the agent's servers up."""
        self.redis.process.send_signal(signal.SIGCONT)
        case.api.mend()


class Middles(Faults):
    """What happens to an operation in the middle of which something ends."""

    def assert_told(self, middle):
        """Each client knows that it has not got all, and why."""
        self.assert_status(self.answer_to(middle.get, "GET"), 502)
        self.assert_status(self.answer_to(middle.create), 502)
        self.assert_cut(middle.listed)
        self.assert_cut(middle.watch)
        self.assertIsNone(middle.terminal.receive())
        self.assertEqual(middle.terminal.close_code, 1011)
        self.assertRegex(middle.value.reply(), '^-ERR argobus: agent "w1": ')
        self.assert_status(self.begin("GET", "/version"), 503)

    def assert_goes_on(self, middle):
        """What outlives an absence, without a gap that nobody tells of."""
        self.assert_grows(middle.log)
        self.assert_whole(middle.log)
        self.assertEqual(middle.subscriber.reply(), ["message", CHANNEL % "w1_guestbook", ""])
        middle.log.leave()
        self.assert_all_works()

    def test_an_agent_that_is_killed(self):
        beside = self.follow("/agents/w2", TOKEN)
        middle = Middle(self)
        self.agent.kill()
        middle.let_go(self)
        self.assert_told(middle)
        self.assert_grows(beside)
        self.agent.start(*HEARTBEAT)
        self.assert_whole(beside)
        beside.leave()
        self.assert_goes_on(middle)

    def test_a_way_that_breaks(self):
        """The broker, or the connection."""
        middle = Middle(self)
        if self.transport == "kafka":
            kafka_dev("stop")
        else:
            self.wire.cut()
        middle.let_go(self)
        self.assert_told(middle)
        if self.transport == "kafka":
            kafka_dev("start")
        else:
            self.wire.mend()
        self.assert_goes_on(middle)

    def principal_ends(self, end, *cut):
        """`cut`: answers that are not whole."""
        middle = Middle(self)
        mark = f"sleep 97{os.getpid()}"
        middle.terminal.say(STDIN, f"exec {mark}\n".encode())
        middle.let_go(self)
        runs = lambda: any(command_of(pid) == mark for pid in os.listdir("/proc") if pid.isdigit())  # noqa: E731
        wait_for("it runs", runs)
        middle.log.leave()
        wait_for("the agent has nothing to say", lambda: self.open_count() == 4)
        end()
        for name in cut:
            self.assert_cut(getattr(middle, name))
        for end in (middle.create, middle.terminal.socket, middle.value.socket, middle.subscriber.socket):
            self.assert_ended(end)
        wait_for("what the terminal ran has ended", lambda: not runs(), 12)  # silence is noticed after 15 s
        self.principal.start(*HEARTBEAT)
        self.assert_all_works()

    def test_a_principal_that_is_stopped(self):
        self.principal_ends(self.principal.stop, "listed")

    def test_a_principal_that_is_killed(self):
        self.principal_ends(self.principal.kill, "listed", "watch")

    def test_a_principal_that_is_stopping_tells_its_clients(self):
        """A viewer that does not read its watch holds it for as long as this takes."""
        middle = Middle(self)
        self.api.mend()
        log = self.begin("GET", f"{self.path('pods', 'shell')}/log?container=main&timestamps=true&follow=true&tailLines=1")
        self.assertRegex(log.readline(), b"line")
        slow = self.begin_slow(self.path("configmaps") + "?watch=true")
        self.principal.process.send_signal(signal.SIGTERM)
        for method, body in (("GET", None), ("POST", config_map("refused"))):
            refused = self.begin(method, self.path("configmaps"), body, content_type="application/json")
            self.assertEqual((refused.getheader("Retry-After"), refused.getheader("Connection")), ("1", "close"))
            self.assert_status(refused, 503)
        self.assert_status(self.answer_to(middle.create), 502)
        self.assert_cut(middle.listed)
        for answer in (middle.watch, log, slow):
            answer.read()  # to its last chunk
        self.assertIsNone(middle.terminal.receive())
        self.assertEqual(middle.terminal.close_code, 1001)
        middle.terminal.close()
        self.assertEqual(middle.value.reply(), '-ERR argobus: agent "w1": the principal is stopping')
        for client in (middle.value, middle.subscriber):
            self.assertEqual(client.file.read(), b"")
            client.close()
        self.assertEqual(self.principal.process.wait(60), 0)
        middle.let_go(self)
        self.principal.start(*HEARTBEAT)
        self.assert_all_works()


class Clients(Faults):
    """Those that do not keep to the rules, or to a pace."""

    def create(self, body, length):
        raw = self.send_head("POST", self.path("configmaps"), "Content-Type: application/json",
                             f"Content-Length: {length}")
        raw.sendall(body)
        return raw

    def test_bodies_that_are_not_as_announced(self):
        body = json.dumps(config_map("short")).encode()
        short = self.create(body, len(body) + 1)
        wait_for("it is known", lambda: self.open_count() == 1)
        short.close()
        wait_for("it is over", lambda: self.open_count() == 0)
        self.assertEqual(self.ask("GET", self.path("configmaps", "short")).code, 404)

        body = json.dumps(config_map("long")).encode()
        longer = self.create(body + b"and more\r\n\r\n", len(body))
        said = b"".join(iter(lambda: longer.recv(65536), b""))
        self.assertEqual(re.findall(rb"HTTP/1.1 (\d+)", said), [b"201", b"400"])
        self.assertEqual(self.ask("GET", self.path("configmaps", "long")).code, 200)

        chunked = self.send_head("POST", self.path("configmaps"), "Transfer-Encoding: chunked")
        chunked.sendall(b"zz\r\n{}")
        self.assert_status(self.answer_to(chunked), 400)
        self.assert_all_works()

    def test_viewers_that_never_read_hold_up_nobody_and_cost_little(self):
        self.fill()
        bare = self.bare("GET", self.path("configmaps")).json()["items"]
        daemons = (self.principal, self.agent)
        before = [resident(d) for d in daemons]
        viewers = [self.begin_slow(self.path("configmaps")) for _ in range(8)]
        beside = self.follow()
        self.assertEqual(self.ask("GET", self.path("configmaps")).json()["items"], bare)
        self.assert_grows(beside)
        for daemon, bytes_before in zip(daemons, before):
            self.assertLess(resident(daemon) - bytes_before, 32 * MIB)  # of 8 times 14
        beside.leave()
        self.assertEqual(json.loads(viewers.pop().read())["items"], bare)
        for viewer in viewers:
            viewer.leave()
        self.assert_all_works()

    def flood(self, terminal, frame, most=MUCH):
        """Send until it is not taken any more; how much was."""
        count = 0
        terminal.socket.setblocking(False)
        while count < most:
            try:
                count += terminal.socket.send(frame)
            except (ssl.SSLWantWriteError, BlockingIOError):
                if not select.select([], [terminal.socket], [], 2)[1]:
                    break
        return count

    def test_floods_are_held_up_and_cost_little(self):
        """Of messages that the container does not read, and of pings of which the client does not read the answers."""
        terminal, pinging, beside = self.shell(), self.shell(), self.shell()
        terminal.say(STDIN, b"exec sleep 1000\n")
        before = resident(self.principal), resident(self.agent)
        payload = bytes([STDIN]) + b"x" * 65000
        count = self.flood(terminal, b"\x82\xfe" + struct.pack(">H", len(payload)) + bytes(4) + payload)
        self.assertLess(count, MUCH)
        self.flood(pinging, (b"\x89\xfd" + bytes(4) + bytes(125)) * 100, 16 * MIB)
        beside.say(STDIN, b"echo there\n")
        beside.until(STDOUT, b"there")
        self.assertLess(resident(self.principal) - before[0], 16 * MIB)
        self.assertLess(resident(self.agent) - before[1], 16 * MIB)
        for each in (terminal, pinging, beside):  # without what waits to be sent
            each.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            each.close()
        self.assert_all_works()

    def test_heads_that_never_end_hold_up_nobody(self):
        slow = []
        for _ in range(100):
            slow.append(socket.create_connection(("127.0.0.1", self.port), 60))
            raw = self.connect()
            raw.connect()
            raw.sock.sendall(b"GET /version HTTP/1.1\r\nHost: lo")
            slow.append(raw.sock)
        self.assertEqual(self.ask("GET", "/version").code, 200)
        for end in slow:
            self.assert_ended(end)
            end.close()
        self.assert_all_works()


del Faults
unittest.main()
