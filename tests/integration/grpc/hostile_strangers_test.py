# SPDX-License-Identifier: Apache-2.0
"""Peers that have not logged in, beside an agent that has: they get neither its memory nor its time."""
import pathlib
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
        without = self.begin_healthy()
        attack = self.attack(say)
        wait_for("they are at it", lambda: attack.done >= 100)
        during = self.p99("with strangers")
        self.assertGreater(self.principal.metric(REFUSED % reason), 0)
        self.assertLess(self.rss_mib() - self.idle_mib, 128)
        self.assertLess(self.principal.metric("argobus_grpc_buffered_bytes"), 32 * MIB)
        self.restarts_meanwhile()
        attack.end()
        self.compare(without, during)
        self.goes_back()

    def restarts_meanwhile(self):
        """An agent that comes while they are at it is let in."""
        log = self.agent.log.read_text()
        self.assertNotIn("the stream has ended", log)
        began = time.monotonic()
        self.agent.stop()
        self.agent.start()
        print(f"logged in again within {time.monotonic() - began:.2f} s", flush=True)

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
        self.assertLessEqual(self.most, 200)

    def restarts_meanwhile(self):
        super().restarts_meanwhile()
        self.most = self.principal.metric("argobus_grpc_connections")

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
    """Passwords without end, from one address."""

    def principal_config(self):
        users = self.folder / "users"
        made = subprocess.run(["htpasswd", "-niBC", "10", "w2"], input="secret", capture_output=True, text=True, check=True)
        users.write_text(made.stdout)
        config = super().principal_config()
        config["grpc"]["auth"] = {"accept": ["mtls", "userpass"], "userpass": {"file": str(users)}}
        return config

    def guess(self):
        stranger = Stranger(self.grpc_port)
        try:
            for n in range(20):
                stranger.begin(2 * n + 1, AUTHENTICATE)
                stranger.say(2 * n + 1, message(login("userpass", f"u{id(stranger) % 9999}-{n}", "x")), END_STREAM)
            stranger.sock.recv(65536)
        finally:
            stranger.close()

    def test_they_delay_neither_changes_nor_a_login_by_certificate(self):
        without = self.begin_healthy()
        self.guesses = Attack(self, 4, self.guess)
        wait_for("they are throttled", lambda: self.principal.metric(
            r'argobus_auth_failures_total\{reason="throttled"\}') > 600)
        during = self.p99("with guesses")
        began = time.monotonic()
        self.agent.stop()
        self.agent.start()
        print(f"logged in by certificate within {time.monotonic() - began:.2f} s", flush=True)
        self.guesses.end()
        self.assertLess(during, max(5 * without, 5))
        hashed = self.principal.metric(r'argobus_auth_failures_total\{reason="user"\}')
        print(f"hashed: {hashed:.0f}", flush=True)
        self.assertLess(hashed, 60 + 120)  # 60 at once, and one a second


if __name__ == "__main__":
    assert pathlib.Path(CERTS).is_dir()
    unittest.main(verbosity=2)
