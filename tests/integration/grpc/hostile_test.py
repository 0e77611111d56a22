# SPDX-License-Identifier: Apache-2.0
"""A server of ours among peers that do not mean well: each costs it a bounded amount, is told why where it can be, and
counted; and whoever calls besides is served."""
import gzip
import os
import socket
import ssl
import struct
import time
import unittest

import peers

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
ENHANCE_YOUR_CALM = 11


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A header without compression."""
    def text(t):
        t = t.encode()
        return (bytes([len(t)]) if len(t) < 127 else b"\x7f" + varint(len(t) - 127)) + t
    return b"\x00" + text(name) + text(value)


def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n % 128 + 128])
        n //= 128
    return out + bytes([n])


def request(method="Echo", *more, kind="application/grpc", verb="POST"):
    fields = [(":method", verb), (":scheme", "http"), (":path", f"/test.Echo/{method}"), (":authority", "x"),
              ("te", "trailers"), ("content-type", kind), *more]
    return b"".join(literal(*f) for f in fields)


def message(body, flag=0, length=None):
    return struct.pack(">BI", flag, len(body) if length is None else length) + body


class Raw:
    """A connection whose frames are made by hand."""

    def __init__(self, port, greet=True):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=peers.WAIT_S)
        self.rest = b""
        if greet:
            self.send(PREFACE + frame(SETTINGS))

    def send(self, data):
        self.sock.sendall(data)

    def flood(self, data, times):
        """As often as the other side takes it."""
        try:
            for _ in range(times):
                self.sock.sendall(data)
        except OSError:
            pass

    def next(self):
        """(kind, flags, stream, payload), or None at the end of the connection."""
        while len(self.rest) < 9 or len(self.rest) < 9 + int.from_bytes(self.rest[:3], "big"):
            try:
                got = self.sock.recv(65536)
            except ConnectionResetError:
                got = b""
            if not got:
                return None
            self.rest += got
        size = int.from_bytes(self.rest[:3], "big")
        head, payload, self.rest = self.rest[:9], self.rest[9:9 + size], self.rest[9 + size:]
        return head[3], head[4], int.from_bytes(head[5:9], "big"), payload

    def until(self, kind, stream=None):
        """The payload of the next frame of this kind; None when the connection ends first."""
        while (f := self.next()) is not None:
            if f[0] == kind and stream in (None, f[2]):
                return f[3]
        return None

    def goaway(self):
        """The code of GOAWAY, and then the end of the connection."""
        payload = self.until(GOAWAY)
        while self.next() is not None:
            pass
        return None if payload is None else int.from_bytes(payload[4:8], "big")

    def close(self):
        self.sock.close()


class Hostile(unittest.TestCase):
    def setUp(self):
        self.raws = []
        self.expected = []

    def tearDown(self):
        for raw in self.raws:
            raw.close()
        code = self.server.stop()
        seen = "".join(self.server.seen)
        self.assertEqual(code, 0, seen)
        for reason, times in self.expected:
            self.assertRegex(seen, f'argobus_grpc_refused_total{{reason="({reason})"}} {times}')

    def serve(self, secure=False, **limits):
        self.server = peers.ours(secure, **limits)

    def raw(self, **options):
        self.raws.append(Raw(self.server.port, **options))
        return self.raws[-1]

    def refused(self, reason, times=1):
        """The server will have counted it when it ends."""
        self.expected.append((reason, times))

    def still_serves(self):
        raw = self.raw()
        raw.send(frame(HEADERS, END_HEADERS, 1, request()) + frame(DATA, END_STREAM, 1, message(b"hello")))
        self.assertEqual(raw.until(DATA, 1), message(b"hello"))

    def test_rapid_reset(self):
        self.serve(resets=50)
        raw = self.raw()
        for i in range(200):
            raw.flood(frame(HEADERS, END_HEADERS, 2 * i + 1, request()) +
                      frame(RST_STREAM, 0, 2 * i + 1, struct.pack(">I", 8)), 1)
        self.assertEqual(raw.goaway(), ENHANCE_YOUR_CALM)
        self.refused("resets")
        self.still_serves()

    def test_resets_that_are_provoked(self):
        self.serve(resets=50)
        raw = self.raw()
        for i in range(200):
            raw.flood(frame(HEADERS, END_HEADERS, 2 * i + 1, request()) +
                      frame(WINDOW_UPDATE, 0, 2 * i + 1, struct.pack(">I", 0)), 1)
        self.assertIsNotNone(raw.goaway())
        self.still_serves()

    def test_settings_flood(self):
        self.serve(settings=50)
        raw = self.raw()
        raw.flood(frame(SETTINGS), 200)
        self.assertEqual(raw.goaway(), ENHANCE_YOUR_CALM)
        self.refused("settings")

    def test_ping_flood(self):
        self.serve(pings=50)
        raw = self.raw()
        raw.flood(frame(PING, 0, 0, b"12345678"), 200)
        self.assertEqual(raw.goaway(), ENHANCE_YOUR_CALM)
        self.refused("pings")

    def lingers(self):
        """A peer that was refused, and goes on sending all the same, is not reset at once."""
        raw = self.raw()
        raw.flood(frame(PING, 0, 0, b"12345678"), 200)
        self.assertEqual(raw.goaway(), ENHANCE_YOUR_CALM)
        try:
            for _ in range(2):  # the first one brings the reset, the second one finds it
                raw.send(frame(PING, 0, 0, b"12345678"))
        except OSError:
            return None
        return raw

    def test_a_refused_connection_lingers_so_that_its_goaway_is_seen_and_then_ends(self):
        self.serve(pings=50, connections=1)
        # It lasts a second, in which a machine that is busy may not have come back here.
        raw = next((raw for raw in (self.lingers() for _ in range(5)) if raw), None)
        self.assertIsNotNone(raw)
        # Another one is taken only when this one has ended, though its peer keeps it open.
        self.still_serves()

    def test_pings_between_messages_are_no_flood(self):
        self.serve(pings=5)
        raw = self.raw()
        raw.send(frame(HEADERS, END_HEADERS, 1, request()))
        for _ in range(20):
            raw.send(frame(PING, 0, 0, b"12345678") + frame(DATA, 0, 1, message(b"x")))
            self.assertEqual(raw.until(DATA, 1), message(b"x"))

    def test_continuation_flood(self):
        self.serve()
        raw = self.raw()
        raw.send(frame(HEADERS, 0, 1, request()))
        raw.flood(frame(CONTINUATION, 0, 1, literal("x", "y")), 1000)
        self.assertIsNotNone(raw.goaway())
        self.still_serves()

    def test_huge_headers(self):
        self.serve(header_bytes=4096)
        raw = self.raw()
        raw.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, request("Echo", ("x", "y" * 8000))))
        self.assertIsNotNone(raw.until(HEADERS, 1))
        self.refused("headers")
        raw.send(frame(HEADERS, END_HEADERS, 3, request()) + frame(DATA, END_STREAM, 3, message(b"hello")))
        self.assertEqual(raw.until(DATA, 3), message(b"hello"))

    def test_header_bomb(self):
        """One large entry of the table, named over and over."""
        self.serve(header_bytes=16384)
        raw = self.raw()
        entry = b"\x40" + literal("x", "y" * 3000)[1:]
        raw.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, request() + entry + b"\xbe" * 10000))
        self.assertIsNotNone(raw.until(HEADERS, 1) or raw.goaway())
        self.refused("headers|protocol")
        self.still_serves()

    def test_half_open(self):
        self.serve(handshake_ms=200)
        for greet in (b"", PREFACE, PREFACE[:10]):
            raw = self.raw(greet=False)
            raw.send(greet)
            self.assertIsNone(raw.until(GOAWAY))
        self.refused("handshake", 3)

    def test_half_open_tls(self):
        self.serve(secure=True, handshake_ms=200)
        raw = self.raw(greet=False)
        raw.send(b"\x16\x03\x01\x02\x00\x01")
        self.assertEqual(raw.sock.recv(100), b"")
        self.refused("handshake")

    def test_a_stranger_holds_no_connection_for_ever(self):
        """With no call, or one that does not tell who he is; and though he answers pings."""
        self.serve(login_ms=5000, ping_ms=1000, ping_timeout_ms=600000)
        known = self.raw()
        known.send(frame(HEADERS, END_HEADERS, 1, request()) + frame(DATA, 0, 1, message(b"hello")))
        self.assertEqual(known.until(DATA, 1), message(b"hello"))
        for said in (b"", frame(HEADERS, END_HEADERS, 1, request("Hold"))):
            stranger = self.raw()
            stranger.send(said)
            self.assertEqual(self.pings_answered_until_goaway(stranger), 0)
        self.refused("login", 2)
        known.send(frame(DATA, 0, 1, message(b"again")))
        self.assertEqual(known.until(DATA, 1), message(b"again"))

    def pings_answered_until_goaway(self, raw):
        """@return the code of GOAWAY, behind which the connection has ended"""
        pings = 0
        while (f := raw.next()) is not None and f[0] != GOAWAY:
            if f[0] == PING and f[1] != ACK:
                raw.send(frame(PING, ACK, 0, f[3]))
                pings += 1
                self.assertLess(pings, peers.WAIT_S, "it is still let in")
        self.assertIsNotNone(f)
        self.assertGreater(pings, 0)
        while raw.next() is not None:
            pass
        return int.from_bytes(f[3][4:8], "big")

    def test_tls_garbage(self):
        self.serve(secure=True)
        for garbage in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(1000), b"\x16\x03\x01\x00\x05" + b"\xff" * 5, PREFACE):
            raw = self.raw(greet=False)
            raw.send(garbage)
            raw.sock.shutdown(socket.SHUT_WR)
            while raw.sock.recv(1000):
                pass
        self.refused("tls", 4)

    def tls(self, protocols, version=ssl.TLSVersion.TLSv1_3):
        context = ssl.create_default_context(cafile=os.path.join(peers.CERTS, "ca.crt"))
        context.load_cert_chain(os.path.join(peers.CERTS, "client.crt"), os.path.join(peers.CERTS, "client.key"))
        context.maximum_version = version
        if protocols:
            context.set_alpn_protocols(protocols)
        sock = socket.create_connection(("127.0.0.1", self.server.port), timeout=peers.WAIT_S)
        with context.wrap_socket(sock, server_hostname="localhost") as s:
            return s.recv(1000)

    def test_wrong_alpn(self):
        self.serve(secure=True)
        with self.assertRaises(ssl.SSLError):
            self.tls(["http/1.1"])
        self.assertEqual(self.tls(None), b"")
        self.refused("tls")
        self.refused("alpn")
        self.assertIn(b"\x00\x00", self.tls(["http/1.1", "h2"]))

    def test_old_tls(self):
        self.serve(secure=True)
        with self.assertRaises(ssl.SSLError):
            self.tls(["h2"], ssl.TLSVersion.TLSv1_2)
        self.refused("tls")

    def test_not_http2(self):
        self.serve()
        raw = self.raw(greet=False)
        raw.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
        self.assertEqual(raw.goaway(), 1)  # PROTOCOL_ERROR
        self.refused("preface")

    def test_frame_too_large(self):
        self.serve()
        raw = self.raw()
        raw.send(frame(HEADERS, END_HEADERS, 1, request()))
        raw.flood(struct.pack(">I", 1 << 20)[1:] + bytes([DATA, 0]) + struct.pack(">I", 1) + b"x" * 70000, 1)
        self.assertEqual(raw.goaway(), 6)  # FRAME_SIZE_ERROR
        self.refused("protocol")

    def test_window_overrun(self):
        self.serve()
        raw = self.raw()
        raw.send(frame(HEADERS, END_HEADERS, 1, request("Hold")))
        raw.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7fffffff)))
        self.assertEqual(raw.goaway(), 3)  # FLOW_CONTROL_ERROR
        self.refused("protocol")

    def test_truncated_message(self):
        self.serve()
        raw = self.raw()
        raw.send(frame(HEADERS, END_HEADERS, 1, request()) + frame(DATA, END_STREAM, 1, message(b"hell", length=5)))
        self.server.wait("^Echo INTERNAL")

    def test_bad_flag(self):
        self.serve()
        raw = self.raw()
        raw.send(frame(HEADERS, END_HEADERS, 1, request()) + frame(DATA, 0, 1, message(b"hello", flag=2)))
        self.server.wait("^Echo INTERNAL.*flag")

    def test_compressed_without_saying(self):
        self.serve()
        raw = self.raw()
        raw.send(frame(HEADERS, END_HEADERS, 1, request()) +
                 frame(DATA, 0, 1, message(gzip.compress(b"hello"), flag=1)))
        self.server.wait("^Echo INTERNAL.*compressed")

    def test_gzip_is_for_those_who_say_that_they_take_it(self):
        self.serve()
        body = b"hello" * 1000
        for takes, flag in (("identity,gzip", 1), ("identity", 0)):
            raw = self.raw()
            raw.send(frame(HEADERS, END_HEADERS, 1, request("Echo", ("grpc-accept-encoding", takes))) +
                     frame(DATA, 0, 1, message(body)))
            answer = raw.until(DATA, 1)
            self.assertEqual(answer[0], flag)
            self.assertEqual(struct.unpack(">I", answer[1:5])[0], len(answer) - 5)
            self.assertEqual(gzip.decompress(answer[5:]) if flag else answer[5:], body)

    def test_broken_gzip(self):
        self.serve()
        for i, body in enumerate((b"hello", gzip.compress(b"hello")[:-1], gzip.compress(b"hello") + b"x", b"")):
            raw = self.raw()
            raw.send(frame(HEADERS, END_HEADERS, 1, request("Echo", ("grpc-encoding", "gzip"))) +
                     frame(DATA, 0, 1, message(body, flag=1)))
            self.server.wait("^Echo INTERNAL 0 0.*gzip")

    def compressed(self, stream, zipped):
        body = message(zipped, flag=1)
        return frame(HEADERS, END_HEADERS, stream, request("Echo", ("grpc-encoding", "gzip"))) + b"".join(
            frame(DATA, 0, stream, body[at:at + 16384]) for at in range(0, len(body), 16384))

    def wide(self):
        """A connection whose streams have the window that the server offers."""
        raw = self.raw()
        raw.until(SETTINGS)
        raw.send(frame(SETTINGS, ACK))
        return raw

    def test_gzip_bomb(self):
        self.serve(message_bytes=10_000_000)
        self.wide().flood(self.compressed(1, gzip.compress(bytes(200_000_000))), 1)
        self.server.wait("^Echo RESOURCE_EXHAUSTED 0 0")
        self.assertLess(self.peak_mib(), 100)
        self.still_serves()

    def test_gzip_bombs_hold_up_nobody(self):
        """They are inflated piece by piece: who comes after them is served before the last has burst."""
        self.serve(message_bytes=10_000_000)
        bomb, count = gzip.compress(bytes(64 << 20)), 100
        bombs = [self.compressed(2 * i + 1, bomb) for i in range(count - 1)]
        last = 2 * count - 1
        self.wide().send(b"".join(bombs) + frame(HEADERS, END_HEADERS, last, request()) +
                         frame(DATA, END_STREAM, last, message(b"hello")))
        self.server.wait("^Echo OK 1 5")
        burst = sum("RESOURCE_EXHAUSTED" in line for line in self.server.seen)
        self.assertLess(burst, count // 2)
        self.still_serves()
        for _ in range(burst, count - 1):
            self.server.wait("^Echo RESOURCE_EXHAUSTED 0 0")
        self.refused("message", count - 1)
        self.assertLess(self.peak_mib(), 600)  # a sanitizer keeps what was freed

    def peak_mib(self):
        with open(f"/proc/{self.server.process.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024

    def test_announced_but_never_sent(self):
        """What a prefix announces costs nothing before it comes."""
        self.serve()
        raw = self.raw()
        for i in range(50):
            raw.send(frame(HEADERS, END_HEADERS, 2 * i + 1, request("Hold")) +
                     frame(DATA, 0, 2 * i + 1, message(b"x" * 1000, length=200_000_000)))
        raw.send(frame(PING, 0, 0, b"12345678"))
        raw.until(PING)
        self.assertLess(self.peak_mib(), 100)

    def test_parts_of_messages_are_bounded_together(self):
        self.serve(buffered_bytes=500_000)
        raw = self.wide()
        for i in range(5):
            raw.send(frame(HEADERS, END_HEADERS, 2 * i + 1, request("Hold")))
            part = message(b"x" * 150_000, length=1_000_000)
            for at in range(0, len(part), 16384):
                raw.send(frame(DATA, 0, 2 * i + 1, part[at:at + 16384]))
        self.server.wait("^Hold RESOURCE_EXHAUSTED 0 0")
        self.refused("memory", "[1-5]")

    def test_slow_reader(self):
        self.serve(ping_timeout_ms=500)
        raw = self.raw()
        raw.send(frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0x7fffffff)) +
                 frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7fff0000 - 65535)) +
                 frame(HEADERS, END_HEADERS, 1, request("Many")) +
                 frame(DATA, END_STREAM, 1, message(b"100000 10000")))
        self.refused("slow")
        self.server.wait("^Many UNAVAILABLE")
        self.assertLess(self.peak_mib(), 100)
        self.still_serves()

    def test_dead_peer(self):
        self.serve(ping_ms=100, ping_timeout_ms=300)
        raw = self.raw()
        begun = time.monotonic()
        self.assertIsNotNone(raw.until(PING))
        self.assertIsNone(raw.until(GOAWAY))
        self.assertLess(time.monotonic() - begun, 60)
        self.refused("ping")

    def test_more_connections_than_allowed(self):
        self.serve(connections=2)
        first, second, third = self.raw(), self.raw(), self.raw()
        self.assertIsNotNone(first.until(SETTINGS))
        self.assertIsNotNone(second.until(SETTINGS))
        third.sock.settimeout(0.3)
        with self.assertRaises(TimeoutError):
            third.next()
        third.sock.settimeout(peers.WAIT_S)
        first.close()
        self.assertIsNotNone(third.until(SETTINGS))

    def test_more_calls_than_allowed(self):
        self.serve(streams=10)
        raw = self.raw()
        for i in range(20):
            raw.flood(frame(HEADERS, END_HEADERS, 2 * i + 1, request("Hold")), 1)
        self.assertEqual(raw.until(RST_STREAM, 21), struct.pack(">I", 7))  # REFUSED_STREAM

    def test_no_call_at_all(self):
        self.serve()
        raw = self.raw()
        raw.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, request(kind="text/html")))
        self.assertIn(b"415", raw.until(HEADERS, 1))
        raw.send(frame(HEADERS, END_HEADERS | END_STREAM, 3, request(verb="GET")))
        self.assertIn(b"405", raw.until(HEADERS, 3))

    def test_unknown_encoding(self):
        self.serve()
        raw = self.raw()
        raw.send(frame(HEADERS, END_HEADERS, 1, request("Echo", ("grpc-encoding", "snappy"))))
        raw.send(frame(DATA, END_STREAM, 1, message(b"hello", flag=1)))
        self.assertIsNotNone(raw.until(HEADERS, 1))  # the tests with grpc-go see its status

    def test_bad_timeout(self):
        self.serve()
        raw = self.raw()
        raw.send(frame(HEADERS, END_HEADERS, 1, request("Hold", ("grpc-timeout", "-1S"))))
        self.assertIsNotNone(raw.until(HEADERS, 1))
        raw.send(frame(HEADERS, END_HEADERS, 3, request("Hold", ("grpc-timeout", "50m"))))
        self.server.wait("^Hold DEADLINE_EXCEEDED")


if __name__ == "__main__":
    unittest.main()
