# SPDX-License-Identifier: Apache-2.0
"""Peers that have not logged in, beside an agent that has: they get neither its memory nor its time."""
import pathlib
import random
import ssl
import subprocess
import threading
import time
import unittest
from collections import deque

from hostile import (AUTHENTICATE, CERTS, DATA, END_STREAM, MIB, Attack, Beside, Stranger, frame, login, message,
                     unfinished_gzip, wait_for)

REFUSED = r'argobus_grpc_refused_total\{reason="%s"\}'
OPEN_EACH = 20


class Bombs(Beside):
    """Anybody can connect, since one method needs no certificate."""

    def principal_config(self):
        users = self.folder / "users"
        users.write_text("")
        config = super().principal_config()
        config["grpc"]["auth"] = {"accept": ["mtls", "userpass"], "userpass": {"file": str(users)}}
        return config

    bomb = unfinished_gzip(40 * MIB)  # some 40 KB

    def throw(self, held, say):
        stranger = Stranger(self.grpc_port)
        held.append(stranger)
        if len(held) > OPEN_EACH:
            held.popleft().close()
        stranger.begin(1, AUTHENTICATE, ("grpc-encoding", "gzip"))
        stranger.say(1, say)

    def attack(self, say):
        held = threading.local()

        def step():
            held.open = getattr(held, "open", None) or deque()
            self.throw(held.open, say)
        return Attack(self, 4, step)

    def attacked_with(self, say, reason):
        self.begin_healthy()
        self.compare(lambda: self.begin(say), lambda: self.look(reason))
        self.goes_back()

    def begin(self, say):
        attack = self.attack(say)
        wait_for("they are at it", lambda: attack.done >= 100)
        return attack.end

    def look(self, reason):
        self.assertGreater(self.principal.metric(REFUSED % reason), 0)
        self.assertLess(self.principal.metric("argobus_grpc_buffered_bytes"), 32 * MIB)
        self.comes_again()

    def test_gzip_without_end_takes_no_memory(self):
        self.attacked_with(message(self.bomb, flag=1, length=len(self.bomb) + 1), "memory")

    def test_announced_messages_take_no_memory(self):
        self.attacked_with(message(bytes(60000), length=199 * MIB), "message")

    def test_nothing_larger_than_64_kib_is_taken(self):
        self.principal.start()
        stranger = Stranger(self.grpc_port)
        self.addCleanup(stranger.close)
        stranger.begin(1, AUTHENTICATE)
        stranger.send(frame(DATA, 0, 1, message(b"", length=64 * 1024 + 1)))
        wait_for("it is refused", lambda: self.principal.metric(REFUSED % "message") == 1)


class Crowds(Bombs):
    """More connections than may be there without a login."""

    def throw(self, held, say):
        stranger = Stranger(self.grpc_port)
        held.append(stranger)
        if len(held) > 100:
            held.popleft().close()

    def test_gzip_without_end_takes_no_memory(self):
        self.attacked_with(b"", "connections")

    def look(self, reason):
        super().look(reason)
        self.assertLessEqual(self.principal.metric("argobus_grpc_connections"), 200)

    test_announced_messages_take_no_memory = None
    test_nothing_larger_than_64_kib_is_taken = None


class OnlyCertificates(Beside):
    def test_tls_turns_away_who_has_none(self):
        self.start()
        with self.assertRaises((ssl.SSLError, ConnectionError)) as refusal:
            stranger = Stranger(self.grpc_port)
            self.addCleanup(stranger.close)
            while stranger.sock.recv(65536):  # TLS 1.3 tells it after the handshake
                pass
        self.assertIn("certificate required", str(refusal.exception).lower().replace("_", " "))
        good = Stranger(self.grpc_port, "w2")
        self.addCleanup(good.close)
        self.assertTrue(good.sock.recv(65536))


class Guesses(Beside):
    """Passwords without end, from one address: most are refused without being hashed."""
    refusal = "throttled"

    def principal_config(self):
        users = self.folder / "users"
        made = subprocess.run(["htpasswd", "-niBC", "10", "w2"], input="secret", capture_output=True, text=True, check=True)
        users.write_text(made.stdout)
        config = super().principal_config()
        config["grpc"]["auth"] = {"accept": ["mtls", "userpass"], "userpass": {"file": str(users)}}
        return config

    def source(self):
        return "127.0.0.1"

    def guess(self):
        stranger = Stranger(self.grpc_port, source=self.source())
        try:
            for n in range(20):
                stranger.begin(2 * n + 1, AUTHENTICATE)
                stranger.say(2 * n + 1, message(login("userpass", f"u{id(stranger) % 9999}-{n}", "x")), END_STREAM)
            stranger.sock.recv(65536)
        finally:
            stranger.close()

    def refused(self, reason):
        return self.principal.metric(rf'argobus_auth_failures_total\{{reason="{reason}"\}}')

    def begin(self):
        before = self.refused(self.refusal)
        attack = Attack(self, 4, self.guess)
        wait_for("they are refused", lambda: self.refused(self.refusal) > before + 600)
        return attack.end

    def test_they_delay_neither_changes_nor_a_login_by_certificate(self):
        self.begin_healthy()
        began = time.monotonic()
        self.compare(self.begin, self.comes_again)
        self.assertLess(self.refused("user"), 60 + 10 + time.monotonic() - began)  # 60 at once, and one a second


class GuessesFromEverywhere(Guesses):
    """From so many addresses that passwords are hashed all the time."""
    refusal = "busy"

    def source(self):
        return f"127.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(1, 255)}"

    def test_they_delay_neither_changes_nor_a_login_by_certificate(self):
        self.begin_healthy()
        self.compare(self.begin, self.comes_again)
        self.assertGreater(self.refused("user"), 100)


if __name__ == "__main__":
    assert pathlib.Path(CERTS).is_dir()
    unittest.main(verbosity=2)
