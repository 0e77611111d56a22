#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The redis proxy between a client of redis and real redis-servers: one of the control plane, one of each of two agents.
AB_BIN is the folder of redis_proxy, AB_GRPC_CERTS that of certificates."""
import contextlib
import gzip
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import unittest

import redis

from redis_servers import CERTS, Server, client_of
from waiting import wait_for

VERSION = "1.8.3"
TREE = f"app|resources-tree|%s|{VERSION}.gz"
MANAGED = f"app|managed-resources|%s|{VERSION}.gz"
SLOW_MAX = 32  # AB_REDIS_SPOKE_SLOW_MAX
CHANNEL = f"app|managed-resources|%s|{VERSION}"


class Proxy:
    def __init__(self, case, hub, agents, *options):
        spokes = [word for name, server in agents.items() for word in ("-s", f"{name}={server.port}")]
        self.process = subprocess.Popen([pathlib.Path(os.environ["AB_BIN"], "redis_proxy"), str(hub.port), *options,
                                         *spokes], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        case.addCleanup(self.stop)
        self.port = int(self.process.stdout.readline())

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def stop(self):
        self.process.stdin.close()
        code = self.process.wait(60)
        self.process.stdout.close()
        assert code == 0, code

    def client(self, **options):
        return client_of(self.port, **options)

    @contextlib.contextmanager
    def raw(self):
        with socket.create_connection(("127.0.0.1", self.port)) as s, s.makefile("rb") as replies:
            s.settimeout(30)
            yield s, replies


def command(*words):
    words = [w if isinstance(w, bytes) else w.encode() for w in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


class Case(unittest.TestCase):
    options, hub_options, tls = (), (), False

    def setUp(self):
        self.hub = Server(self, *self.hub_options, tls=self.tls)
        self.w1, self.w2 = Server(self, tls=self.tls), Server(self, tls=self.tls)
        self.proxy = Proxy(self, self.hub, {"w1": self.w1, "w2": self.w2}, *self.options)


class Keys(Case):
    def test_an_agents_keys_are_answered_by_its_redis(self):
        for protocol in (2, 3):
            with self.subTest(protocol=protocol), self.proxy.client(protocol=protocol) as c:
                self.w1.client().set(TREE % "guestbook", b"\x1f\x8b of w1\r\n\0")
                self.w2.client().set(TREE % "guestbook", b"of w2")
                self.w1.client().set(f"app|resources-tree|guestbook|1|{VERSION}.gz", b"shard")
                self.assertEqual(c.get(TREE % "w1_guestbook"), b"\x1f\x8b of w1\r\n\0")
                self.assertEqual(c.get(TREE % "w2_guestbook"), b"of w2")
                self.assertEqual(c.get(f"app|resources-tree|w1_guestbook|1|{VERSION}.gz"), b"shard")
                self.assertIsNone(c.get(MANAGED % "w1_guestbook"))

    def test_all_other_keys_are_the_control_planes(self):
        with self.proxy.client() as c:
            for key in ("mfst|x", TREE % "guestbook", TREE % "w3_guestbook", "cluster|info|https://x"):
                self.w1.client().set(key, "wrong")
                self.assertIsNone(c.get(key))
                c.set(key, "right", ex=100)
                self.assertEqual(self.hub.client().get(key), b"right")
                self.assertEqual(c.get(key), b"right")

    def test_replies_keep_the_order_of_commands(self):
        self.w1.client().set(TREE % "a", b"1")
        self.w2.client().set(TREE % "a", b"2" * 300000)
        self.hub.client().set("k", "hub")
        asked = [("GET", "k"), ("GET", TREE % "w2_a"), ("GET", TREE % "w1_a"), ("INCR", "n"), ("GET", TREE % "w1_none"),
                 ("GET", TREE % "w1_a"), ("PING",)]
        answer = (b"$3\r\nhub\r\n$300000\r\n" + b"2" * 300000 + b"\r\n$1\r\n1\r\n:%d\r\n$-1\r\n$1\r\n1\r\n+PONG\r\n")
        with self.proxy.raw() as (s, replies):
            threading.Thread(target=s.sendall, args=(b"".join(command(*a) for a in asked) * 200,)).start()
            for n in range(200):
                expected = answer % (n + 1)
                self.assertEqual(replies.read(len(expected)), expected)

    def test_requests_may_come_byte_by_byte_and_as_lines(self):
        self.w1.client().set(TREE % "a", b"1")
        with self.proxy.raw() as (s, replies):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in command("get", TREE % "w1_a"):
                s.sendall(bytes([byte]))
            self.assertEqual(replies.read(7), b"$1\r\n1\r\n")
            s.sendall(b'\r\nGET "' + (TREE % "w1_a").encode() + b'"\r\nPING\r\n')
            self.assertEqual(replies.read(14), b"$1\r\n1\r\n+PONG\r\n")

    def test_large_values_pass_both_ways(self):
        value = os.urandom(1 << 20) * 40
        with self.proxy.client() as c:
            c.set("big", value)
            self.assertEqual(self.hub.client().get("big"), value)
            self.assertEqual(c.get("big"), value)
            self.w1.client().set(TREE % "big", value)
            self.assertEqual(c.get(TREE % "w1_big"), value)

    def test_a_slow_reader_holds_nobody_else_up(self):
        self.w1.client().set(TREE % "big", b"v" * (1 << 18))
        self.w1.client().set(TREE % "a", b"1")
        with self.proxy.raw() as (slow, replies), self.proxy.client() as c:
            slow.sendall(command("GET", TREE % "w1_big") * 200)
            for _ in range(50):
                self.assertEqual(c.get(TREE % "w1_a"), b"1")
            for _ in range(200):
                self.assertEqual(replies.readline(), b"$262144\r\n")
                self.assertEqual(replies.read((1 << 18) + 2), b"v" * (1 << 18) + b"\r\n")

    def test_a_value_that_nobody_reads_delays_no_other_of_its_agent(self):
        value = b"v" * (64 << 20)
        self.w1.client().set(TREE % "big", value)
        self.w1.client().set(TREE % "a", b"1")
        with contextlib.ExitStack() as stack, self.proxy.client(socket_timeout=5) as c:
            slow = [stack.enter_context(self.proxy.raw()) for _ in range(3)]
            for s, replies in slow:
                s.sendall(command("GET", TREE % "w1_big"))
                self.assertEqual(replies.readline(), b"$67108864\r\n")
                for _ in range(20):
                    self.assertEqual(c.get(TREE % "w1_a"), b"1")
            for _, replies in slow:
                self.assertEqual(replies.read(len(value) + 2), value + b"\r\n")
            self.assertEqual(c.get(TREE % "w1_a"), b"1")

    def test_of_many_values_that_nobody_reads_the_stalest_is_broken_off(self):
        length = 8 << 20
        self.w1.client().set(TREE % "big", b"v" * length)
        self.w1.client().set(TREE % "a", b"1")
        with contextlib.ExitStack() as stack, self.proxy.client(socket_timeout=5) as c:
            slow = [stack.enter_context(self.proxy.raw()) for _ in range(SLOW_MAX + 1)]
            for s, replies in slow:
                s.sendall(command("GET", TREE % "w1_big"))
                self.assertEqual(replies.readline(), b"$8388608\r\n")
                self.assertEqual(c.get(TREE % "w1_a"), b"1")
            self.assertLess(len(slow[0][1].read()), length)
            for _, replies in slow[1:]:
                self.assertEqual(len(replies.read(length + 2)), length + 2)

    def test_a_key_of_another_type_is_an_error(self):
        self.w1.client().rpush(TREE % "a", "x")
        with self.proxy.client() as c, self.assertRaisesRegex(redis.ResponseError, 'argobus: agent "w1": WRONGTYPE'):
            c.get(TREE % "w1_a")


class Trouble(Case):
    options = ("-d", "500")

    def test_an_agent_that_is_away_is_told(self):
        self.w1.client().set(TREE % "a", b"1")
        self.w2.client().set(TREE % "a", b"2")
        self.proxy.tell("down w1")
        with self.proxy.client() as c:
            with self.assertRaisesRegex(redis.ResponseError, '^argobus: agent "w1": not connected'):
                c.get(TREE % "w1_a")
            self.assertEqual(c.get(TREE % "w2_a"), b"2")
            self.proxy.tell("up w1")
            self.assertEqual(c.get(TREE % "w1_a"), b"1")

    def test_an_agent_that_does_not_answer_is_given_up(self):
        self.proxy.tell("freeze w1")
        with self.proxy.client() as c:
            with self.assertRaisesRegex(redis.ResponseError, 'agent "w1": .*deadline'):
                c.get(TREE % "w1_a")
            self.assertTrue(c.ping())

    def test_an_agent_without_its_redis_says_so_and_recovers(self):
        with self.proxy.client() as c:
            self.assertIsNone(c.get(TREE % "w1_a"))
            self.w1.stop()
            with self.assertRaisesRegex(redis.ResponseError, 'agent "w1": its redis cannot be reached'):
                c.get(TREE % "w1_a")
            self.w1.start()
            self.w1.client().set(TREE % "a", b"1")
            self.assertEqual(c.get(TREE % "w1_a"), b"1")

    def test_the_control_planes_redis_that_is_away_is_told(self):
        self.hub.stop()
        with self.proxy.raw() as (s, replies):
            s.sendall(command("PING"))
            self.assertRegex(replies.readline(), b"^-ERR argobus: the control plane's redis cannot be reached: ")
            self.assertEqual(replies.read(), b"")

    def test_garbage_is_refused_in_its_place(self):
        for text, why in ((b"*1\r\n$536870912\r\n", b"invalid bulk length"), (b"*1\r\n:1\r\n", b"expected '$'"),
                          (b'GET "a\r\n', b"unbalanced quotes in request")):
            with self.subTest(text=text), self.proxy.raw() as (s, replies):
                s.sendall(command("PING") + text)
                self.assertEqual(replies.read(), b"+PONG\r\n-ERR Protocol error: " + why + b"\r\n")

    def test_commands_that_break_the_order_are_refused(self):
        with self.proxy.raw() as (s, replies):
            s.sendall(command("MONITOR") + command("CLIENT", "REPLY", "OFF") + command("PING"))
            refused = b"-ERR argobus: the command is not possible through this proxy\r\n"
            self.assertEqual(replies.read(len(refused) * 2 + 7), refused * 2 + b"+PONG\r\n")

    def test_a_transaction_with_an_agents_key_is_given_up(self):
        with self.proxy.raw() as (s, replies):
            s.sendall(command("MULTI") + command("SET", "k", "v") + command("GET", TREE % "w1_a") + command("EXEC"))
            self.assertEqual([replies.readline() for _ in range(3)], [
                b"+OK\r\n", b"+QUEUED\r\n", b"-ERR argobus: keys of agents cannot be read in a transaction\r\n"])
            self.assertRegex(replies.readline(), b"^-EXECABORT ")
            s.sendall(command("GET", "k") + command("GET", TREE % "w1_a"))
            self.assertEqual(replies.read(10), b"$-1\r\n$-1\r\n")

    def test_an_agent_that_leaves_in_the_middle_of_a_value_ends_the_connection(self):
        self.w1.client().set(TREE % "big", b"v" * (1 << 26))
        with self.proxy.raw() as (s, replies):
            s.sendall(command("GET", TREE % "w1_big"))
            self.assertEqual(replies.readline(), b"$67108864\r\n")
            self.proxy.tell("down w1")
            self.assertLess(len(replies.read()), 1 << 26)


class Channels(Case):
    def messages(self, pubsub, count):
        found = []
        wait_for(f"{count} messages", lambda: found.extend(filter(None, [pubsub.get_message(timeout=0.05)])) or
                 len(found) >= count)
        return [(m["type"], m["channel"] and m["channel"].decode(), m["data"]) for m in found]

    def listeners(self, server, name):
        return dict(server.client().pubsub_numsub(name))[name.encode()]

    def test_messages_of_an_agent_reach_its_subscribers(self):
        for protocol in (2, 3):
            with self.subTest(protocol=protocol), self.proxy.client(protocol=protocol) as c, c.pubsub() as p:
                p.subscribe(CHANNEL % "w1_a", "local")
                self.assertEqual(self.messages(p, 2), [("subscribe", CHANNEL % "w1_a", 1), ("subscribe", "local", 2)])
                wait_for("the agent listens", lambda: self.listeners(self.w1, CHANNEL % "a") == 1)
                self.w1.client().publish(CHANNEL % "a", "")
                self.assertEqual(self.messages(p, 1), [("message", CHANNEL % "w1_a", b"")])
                self.w1.client().publish(CHANNEL % "a", "x")
                self.assertEqual(self.messages(p, 1), [("message", CHANNEL % "w1_a", b"x")])
                self.hub.client().publish("local", "y")
                self.assertEqual(self.messages(p, 1), [("message", "local", b"y")])
                p.unsubscribe()
                self.assertEqual({m[1] for m in self.messages(p, 2)}, {CHANNEL % "w1_a", "local"})
                wait_for("nobody listens", lambda: self.listeners(self.w1, CHANNEL % "a") == 0)
                self.assertTrue(c.ping())

    def test_patterns_of_agents_channels_are_refused_and_others_match_local_ones(self):
        with self.proxy.raw() as (s, replies):
            refused = b"-ERR argobus: channels of Applications can only be subscribed to by name\r\n"
            for pattern in ("app|managed-resources|*", "app|resources-tree|w1_?", "app|*"):
                s.sendall(command("PSUBSCRIBE", "local*", pattern))
                self.assertEqual(replies.readline(), refused)
            s.sendall(command("PSUBSCRIBE", "*"))
            self.assertEqual(replies.read(25), b"*3\r\n$10\r\npsubscribe\r\n$1\r\n")
            self.assertEqual(replies.read(7), b"*\r\n:1\r\n")
            self.hub.client().publish("local", "x")
            wait_for("the message", lambda: replies.readline() == b"local\r\n")

    def test_a_client_that_goes_leaves_no_subscription(self):
        with self.proxy.client() as c, c.pubsub() as p:
            p.subscribe(CHANNEL % "w1_a")
            wait_for("the agent listens", lambda: self.listeners(self.w1, CHANNEL % "a") == 1)
        wait_for("nobody listens", lambda: self.listeners(self.w1, CHANNEL % "a") == 0)

    def test_an_agent_that_comes_back_is_listened_to_and_said_to_have_changed(self):
        with self.proxy.client() as c, c.pubsub() as p:
            p.subscribe(CHANNEL % "w1_a")
            self.messages(p, 1)
            wait_for("the agent listens", lambda: self.listeners(self.w1, CHANNEL % "a") == 1)
            self.proxy.tell("down w1")
            self.proxy.tell("up w1")
            self.assertEqual(self.messages(p, 1), [("message", CHANNEL % "w1_a", b"")])
            self.w1.stop()
            self.w1.start()
            self.assertEqual(self.messages(p, 1), [("message", CHANNEL % "w1_a", b"")])
            self.w1.client().publish(CHANNEL % "a", "x")
            self.assertEqual(self.messages(p, 1), [("message", CHANNEL % "w1_a", b"x")])

    def test_commands_and_messages_share_a_connection_in_resp3(self):
        self.w1.client().set(TREE % "a", b"1")
        with self.proxy.raw() as (s, replies):
            s.sendall(command("HELLO", "3") + command("SUBSCRIBE", CHANNEL % "w1_a") + command("PING"))
            wait_for("PONG", lambda: replies.readline() == b"+PONG\r\n")
            wait_for("the agent listens", lambda: self.listeners(self.w1, CHANNEL % "a") == 1)
            self.w1.client().publish(CHANNEL % "a", "x")
            push = b">3\r\n$7\r\nmessage\r\n$%d\r\n%s\r\n$1\r\nx\r\n" % (len(CHANNEL % "w1_a"),
                                                                       (CHANNEL % "w1_a").encode())
            self.assertEqual(replies.read(len(push)), push)
            s.sendall(command("GET", TREE % "w1_a") + command("GET", TREE % "w1_b") + command("UNSUBSCRIBE") +
                      command("UNSUBSCRIBE") + command("PING"))
            self.assertEqual(replies.read(10), b"$1\r\n1\r\n_\r\n")
            wait_for("PONG", lambda: replies.readline() == b"+PONG\r\n")


class Stopping(Case):
    """The front stops: whoever is owed a reply gets it, and then the end of the connection."""

    def test_a_client_has_its_replies_before_the_end(self):
        self.w1.client().set(TREE % "a", b"1")
        with self.proxy.raw() as (s, replies), self.proxy.raw() as (idle, nothing):
            idle.sendall(command("PING"))
            self.assertEqual(nothing.read(7), b"+PONG\r\n")
            self.proxy.tell("freeze w1")
            s.sendall(command("GET", TREE % "w1_a") + command("PING"))
            wait_for("it is asked", lambda: self.hub.client().info("commandstats").get("cmdstat_get"))
            self.proxy.tell("stop w1")
            self.assertEqual(nothing.read(), b"")
            with self.assertRaises(ConnectionRefusedError), self.proxy.raw():
                pass
            self.proxy.tell("thaw w1")
            self.assertEqual(replies.read(), b"$1\r\n1\r\n+PONG\r\n")

    def test_a_subscriber_and_a_client_in_a_pipeline_end_after_a_whole_reply(self):
        self.hub.client().set("big", b"v" * (1 << 20))
        with self.proxy.raw() as (s, replies), self.proxy.raw() as (listener, messages):
            listener.sendall(command("SUBSCRIBE", CHANNEL % "w1_a"))
            for _ in range(6):
                messages.readline()
            s.sendall(command("GET", "big") * 20)
            self.assertEqual(replies.readline(), b"$1048576\r\n")
            self.proxy.tell("stop w1")
            self.assertEqual(messages.read(), b"")
            self.assertEqual(replies.read(), (b"v" * (1 << 20) + b"\r\n$1048576\r\n") * 19 + b"v" * (1 << 20) + b"\r\n")


class Passwords(Case):
    hub_options = ("--requirepass", "hub-secret")

    def test_only_a_client_that_is_let_in_reads_an_agents_keys(self):
        self.w1.client().set(TREE % "a", b"1")
        admin = self.hub.client(password="hub-secret")
        admin.execute_command("ACL", "SETUSER", "half", "on", ">pw", "~mfst|*", "&other", "+@all")
        with self.proxy.raw() as (s, replies):
            s.sendall(command("GET", TREE % "w1_a") + command("SUBSCRIBE", CHANNEL % "w1_a"))
            for _ in range(2):
                self.assertEqual(replies.readline(), b"-NOAUTH Authentication required.\r\n")
            s.sendall(command("AUTH", "wrong") + command("GET", TREE % "w1_a"))
            self.assertRegex(replies.readline(), b"^-WRONGPASS")
            self.assertRegex(replies.readline(), b"^-NOAUTH")
            s.sendall(command("AUTH", "hub-secret") + command("GET", TREE % "w1_a"))
            self.assertEqual(replies.read(12), b"+OK\r\n$1\r\n1\r\n")
            s.sendall(command("HELLO", "3", "AUTH", "half", "pw") + command("GET", TREE % "w1_a"))
            wait_for("refusal", lambda: replies.readline().startswith(b"-NOPERM"))
            s.sendall(command("SUBSCRIBE", CHANNEL % "w1_a"))
            self.assertRegex(replies.readline(), b"^-NOPERM")
            self.assertEqual(dict(self.w1.client().pubsub_numsub(CHANNEL % "a")), {(CHANNEL % "a").encode(): 0})
        with self.proxy.client(password="hub-secret") as c:
            self.assertEqual(c.get(TREE % "w1_a"), b"1")

    def test_replies_are_not_shifted_to_get_around_acls(self):
        self.w1.client().set(TREE % "a", b"of w1")
        admin = self.hub.client(password="hub-secret")
        admin.execute_command("ACL", "SETUSER", "half", "on", ">pw", "~mfst|*", "&other", "+@all")
        admin.rpush("mfst|l", "subscribe", "other", "1")
        tricks = {"no reply": [("REPLCONF", "ACK", "1")], "nor here": [("REPLCONF", "GETACK", "*")],
                  "a debugger": [("SCRIPT", "DEBUG", "YES"), ("EVAL", "local a = 1\nreturn a", "0")],
                  "RESP3 in secret": [("MULTI",), ("HELLO", "3"), ("EXEC",), ("SUBSCRIBE", "other"),
                                      ("LRANGE", "mfst|l", "0", "-1")]}
        for name, trick in tricks.items():
            with self.subTest(name), self.proxy.raw() as (s, replies):
                for words in [("AUTH", "half", "pw"), *trick]:
                    s.sendall(command(*words))
                    if words[0] in ("AUTH", "SCRIPT", "EVAL"):  # not in a pipeline
                        replies.readline()
                s.sendall(command("GET", TREE % "w1_a") + command("PING") + command("QUIT"))
                said = replies.read()
                self.assertNotIn(b"of w1", said)
                self.assertRegex(said, b"-NOPERM|-ERR Can't execute 'get'")

    def test_strangers_take_no_place_of_a_client_that_is_let_in(self):
        with contextlib.ExitStack() as connections:
            first, replies = connections.enter_context(self.proxy.raw())
            first.sendall(command("AUTH", "hub-secret"))
            self.assertEqual(replies.readline(), b"+OK\r\n")
            for _ in range(2000):
                stranger, words = connections.enter_context(self.proxy.raw())
                stranger.sendall(command("RESET"))
                self.assertEqual(words.readline(), b"+RESET\r\n")
            with self.proxy.client(password="hub-secret") as c:
                self.assertTrue(c.set("k", "v"))
            first.sendall(command("PING"))
            self.assertEqual(replies.readline(), b"+PONG\r\n")

    def test_confirmations_are_told_from_the_replies_behind_them(self):
        self.w1.client().set(TREE % "a", b"1")
        self.hub.client(password="hub-secret").execute_command("ACL", "SETUSER", "half", "on", ">pw", "~*", "&other*",
                                                               "+@all")
        for version in ("2", "3"):
            with self.subTest(version=version), self.proxy.raw() as (s, replies):
                s.sendall(command("HELLO", version, "AUTH", "half", "pw") + command("SUBSCRIBE", "other1", "other2") +
                          command("UNSUBSCRIBE") + command("SUBSCRIBE", CHANNEL % "w1_a") + command("GET", TREE % "w1_a"))
                wait_for("refusal", lambda: replies.readline().startswith(b"-NOPERM"))
                self.assertEqual(replies.read(7), b"$1\r\n1\r\n")

    def test_the_agents_redis_may_want_a_password_and_a_user(self):
        with tempfile.NamedTemporaryFile("w") as secret:
            w1 = Server(self, "--user", "default", "off", "--user", "reader", "on", ">pw", "~app|*", "&*", "+get",
                        "+subscribe")
            for password, expected in (("pw\n", None), ("bad", 'agent "w1": .*it refuses the password: WRONGPASS')):
                secret.seek(0)
                secret.truncate()
                secret.write(password)
                secret.flush()
                proxy = Proxy(self, self.hub, {"w1": w1}, "-p", secret.name, "-u", "reader")
                with self.subTest(password=password), proxy.client(password="hub-secret") as c:
                    if expected:
                        self.assertRaisesRegex(redis.ResponseError, expected, c.get, TREE % "w1_a")
                    else:
                        self.assertIsNone(c.get(TREE % "w1_a"))


class Tls(Case):
    tls = True
    options = ("-t", f"{CERTS / 'ca.crt'},{CERTS / 'server.crt'},{CERTS / 'server.key'}")

    def test_all_three_connections_may_be_tls(self):
        value = os.urandom(3 << 20)
        self.w1.client().set(TREE % "a", value)
        with self.proxy.client(tls=True) as c, c.pubsub() as p:
            self.assertEqual(c.get(TREE % "w1_a"), value)
            c.set("k", value)
            self.assertEqual(c.get("k"), value)
            p.subscribe(CHANNEL % "w1_a")
            wait_for("the agent listens", lambda: self.w1.client().pubsub_numsub(CHANNEL % "a")[0][1] == 1)
            self.w1.client().publish(CHANNEL % "a", "x")
            wait_for("the message", lambda: (p.get_message(timeout=0.05) or {}).get("data") == b"x")

    def test_plain_bytes_are_not_answered(self):
        with self.proxy.raw() as (s, replies):
            s.sendall(command("PING"))
            with contextlib.suppress(ConnectionResetError):
                self.assertNotIn(b"PONG", replies.read())
        self.assertTrue(self.proxy.client(tls=True).ping())


class Clusters(Case):
    options = ("-c", "gzip")

    def key(self, agent):
        return f"cluster|info|https://proxy?agentName={agent}|{VERSION}.gz"

    def info(self, agent):
        value = self.hub.client().get(self.key(agent))
        return value and json.loads(gzip.decompress(value))

    def wait_for(self, agent, what, **state):
        return wait_for(what, lambda: (found := self.info(agent)) and
                        found["connectionState"].items() >= state.items() and found)

    def test_the_state_of_an_agent_is_what_the_clusters_page_reads(self):
        self.proxy.tell("connected w1")
        found = self.wait_for("w1", "connected", status="Successful",
                              message="Agent: 'w1' is connected with principal")
        self.assertRegex(found["connectionState"]["attemptedAt"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertTrue(500 < self.hub.client().ttl(self.key("w1")) <= 600)
        self.proxy.tell("count w1")
        counted = wait_for("counts", lambda: (i := self.info("w1"))["applicationsCount"] == 3 and i)
        self.assertEqual((counted["cacheInfo"]["resourcesCount"], counted["cacheInfo"]["apisCount"]), (20, 7))
        self.proxy.tell("disconnected w1")
        found = self.wait_for("w1", "disconnected", status="Failed",
                              message="Agent: 'w1' is disconnected with principal")
        self.assertEqual(found["applicationsCount"], 3)
        self.assertIsNone(self.info("w2"))

    def test_it_is_written_again_before_it_expires(self):
        self.proxy.tell("connected w1")
        self.wait_for("w1", "connected", status="Successful")
        self.hub.client().delete(self.key("w1"))
        self.wait_for("w1", "written again", status="Successful")

    def test_a_redis_that_comes_back_empty_gets_it_again(self):
        self.proxy.tell("disconnected w1")
        self.wait_for("w1", "disconnected", status="Failed")
        self.hub.stop()
        self.hub.start()
        self.wait_for("w1", "written again", status="Failed")

    def test_an_agent_that_is_removed_leaves_nothing(self):
        for agent in ("w1", "w2"):
            self.proxy.tell(f"connected {agent}")
            self.wait_for(agent, "connected", status="Successful")
        self.proxy.tell("removed w1")
        wait_for("nothing is left", lambda: self.info("w1") is None)
        self.wait_for("w2", "connected", status="Successful")

    def test_many_agents_are_all_written(self):
        names = [f"a{n}" for n in range(300)]
        for name in names:
            self.proxy.tell(f"connected {name}")
        wait_for("all are written", lambda: len(self.hub.client().keys("cluster|info|*")) == len(names))


class PlainClusters(Case):
    options = ("-c", "none")

    def test_values_are_not_compressed_when_argo_cd_does_not(self):
        self.proxy.tell("connected w1")
        value = wait_for("connected", lambda: self.hub.client().get(f"cluster|info|https://proxy?agentName=w1|{VERSION}"))
        self.assertEqual(json.loads(value)["connectionState"]["status"], "Successful")


class Counts(Case):
    """What the application-controller of a cluster keeps of it in its redis, as the agent there reads it."""

    def read(self, value):
        self.w1.client().set(f"cluster|info|https://kubernetes.default.svc|{VERSION}.gz", value)
        return Proxy(self, self.hub, {}, "-r", str(self.w1.port)).process.stdout

    def test_they_are_read(self):
        info = {"connectionState": {"status": "Successful"}, "applicationsCount": 3,
                "cacheInfo": {"resourcesCount": 412, "apisCount": 61},
                "apiVersions": [os.urandom(8).hex() for _ in range(20000)]}
        value = gzip.compress(json.dumps(info).encode())
        self.assertGreater(len(value), 1 << 16)  # it comes in pieces
        self.assertEqual(self.read(value).readline(), "counts 3 412 61\n")

    def test_a_value_that_cannot_be_read_is_passed_over(self):
        said, w1 = self.read(b"not compressed"), self.w1.client()
        wait_for("it was read", lambda: "cmdstat_get" in w1.info("commandstats"))
        w1.set(f"cluster|info|https://kubernetes.default.svc|{VERSION}.gz", gzip.compress(b'{"applicationsCount":1}'))
        self.assertEqual(said.readline(), "counts 1 0 0\n")


class Destinations(Case):
    options = ("-m",)

    def test_the_name_is_kept_when_destinations_decide(self):
        self.w1.client().set(TREE % "team_a", b"1")
        with self.proxy.client() as c:
            self.assertEqual(c.get(TREE % "team_a"), b"1")
            self.assertIsNone(c.get(TREE % "w1_a"))


if __name__ == "__main__":
    unittest.main()
