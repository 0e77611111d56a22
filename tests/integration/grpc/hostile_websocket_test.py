# SPDX-License-Identifier: Apache-2.0
"""A server of ours among WebSockets that do not keep to the rules: each is told why where it can be, ended and counted,
costs a bounded amount of memory, and whoever calls besides is served."""
import contextlib
import gzip
import os
import ssl
import unittest

import peers
from websocket_peer import (BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, Client, frame, long, message, request)

PROTOCOL, KIND, POLICY, TOO_BIG = 1002, 1003, 1008, 1009
PING_PAYLOAD = b"12345678"
END = message(b"", flag=0x80)


class Hostile(unittest.TestCase):
    def setUp(self):
        self.clients = []
        self.expected = []
        self.logged = []

    def tearDown(self):
        for client in self.clients:
            client.close()
        code = self.server.stop()
        seen = "".join(self.server.seen)
        self.assertEqual(code, 0, seen)
        for reason, times in self.expected:
            self.assertRegex(seen, f'argobus_grpc_refused_total{{reason="{reason}"}} {times}\n')
        for text in self.logged:
            self.assertIn(text, seen)

    def serve(self, secure=False, **limits):
        self.server = peers.ours(secure, True, **limits)

    def client(self, wrap=None):
        self.clients.append(Client(self.server.port, peers.WAIT_S, wrap))
        return self.clients[-1]

    def call(self, method="Echo"):
        return self.client().upgraded("/test.Echo/" + method)

    def refused(self, reason, times=1, why=None):
        """The server will have counted it when it ends. And have logged why: of the first, as others follow too soon."""
        self.expected.append((reason, times))
        if why:
            self.logged.append(f'gRPC peer refused reason={reason} why="{why}" peer=127.0.0.1 ')

    def still_serves(self):
        client = self.call()
        client.send(frame(BINARY, message(b"hello")) + frame(BINARY, END))
        client.until(BINARY)  # headers
        self.assertEqual(client.until(BINARY), message(b"hello"))

    def peak_mib(self):
        with open(f"/proc/{self.server.process.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024


class Upgrade(Hostile):
    """Before the first frame."""

    def turned_away(self, status, said):
        client = self.client()
        client.send(said)
        head = client.head()
        self.assertTrue(head.startswith(b"HTTP/1.1 %d " % status), (said, head))
        client.to_end()

    def test_headers_that_are_wrong_or_missing(self):
        self.serve()
        cases = [
            (426, request(Upgrade=None)),
            (426, request(Upgrade="h2c")),
            (426, request(Connection=None)),
            (426, request(Connection="close")),
            (426, request(Sec_WebSocket_Version=None)),
            (426, request(Sec_WebSocket_Version="8")),
            (400, request(Sec_WebSocket_Protocol=None)),
            (400, request(Sec_WebSocket_Protocol="chat")),
            (400, request(Sec_WebSocket_Key=None)),
            (400, request(Sec_WebSocket_Key="c2hvcnQ=")),
            (400, request(Sec_WebSocket_Key="!" * 24)),
            (415, request(Content_Type=None)),
            (415, request(Content_Type="application/json")),
            (405, request(line="BREW /test.Echo/Echo HTTP/1.1")),
            (400, request(line="GET /test.Echo/Echo HTTP/1.0")),
            (400, request(line="GET test.Echo/Echo HTTP/1.1")),
            (400, request(line="GET /a b HTTP/1.1")),
            (400, request(line="nonsense")),
            (400, request(X="\x00")),
            (400, request(X="\udcff".encode("utf-8", "surrogateescape").decode("latin-1"))
             .replace("ÿ".encode(), b"\xff")),
            (400, request().replace(b"Host: x", b"Host x")),
            (400, request().replace(b"Host: x", b": x")),
            (400, request().replace(b"Host: x", b"Ho st: x")),
        ]
        for status, said in cases:
            with self.subTest(said=said):
                self.turned_away(status, said)
        self.refused("upgrade", len(cases), "cannot open the WebSocket: only gRPC over WebSockets is supported")
        self.still_serves()

    def test_endless_headers(self):
        self.serve(header_bytes=4096)
        endless = self.client()
        endless.flood(request()[:-2] + b"X: y\r\n" * 10000, 1)
        self.assertTrue(endless.head().startswith(b"HTTP/1.1 431 "))
        endless_line = self.client()
        endless_line.flood(request()[:-2] + b"x" * 65536, 10)
        self.assertTrue(endless_line.head().startswith(b"HTTP/1.1 431 "))
        self.refused("upgrade", 2)
        self.assertLess(self.peak_mib(), 100)
        self.still_serves()

    def test_headers_that_are_more_than_may_be(self):
        self.serve(header_bytes=4096)
        self.turned_away(431, request(**{f"X{i}": "y" * 100 for i in range(40)}))
        self.refused("upgrade")
        self.still_serves()

    def test_silence_half_way(self):
        self.serve(handshake_ms=2000)
        silent = [self.client() for _ in range(4)]
        for client, said in zip(silent, (b"", b"G", request()[:30], request()[:-1])):
            client.send(said)
        for client in silent:
            client.to_end()
        self.refused("handshake", 4)
        self.still_serves()

    def test_a_handshake_that_drips_has_no_more_time(self):
        self.serve(handshake_ms=2000)
        client = self.client()
        client.sock.settimeout(0.02)
        said = iter(request()[:-1] * 1000)
        with contextlib.suppress(ConnectionError):
            while True:
                client.send(bytes([next(said)]))
                with contextlib.suppress(TimeoutError):
                    if not client.sock.recv(1):
                        break
        self.refused("handshake")
        self.still_serves()

    def test_a_stranger_holds_no_connection_for_ever(self):
        """Whose call does not tell who he is, though he answers pings."""
        self.serve(login_ms=5000, ping_ms=1000, ping_timeout_ms=600000)
        known = self.call()
        known.send(frame(BINARY, message(b"hello")))
        known.until(BINARY)  # headers
        self.assertEqual(known.until(BINARY), message(b"hello"))
        stranger = self.call("Hold")
        pings = 0
        while (f := stranger.frame()) is not None and f[0] != CLOSE:
            if f[0] == PING:
                stranger.send(frame(PONG, f[1]))
                pings += 1
                self.assertLess(pings, peers.WAIT_S, "it is still let in")
        self.assertEqual(f, (CLOSE, POLICY.to_bytes(2, "big")))
        self.assertGreater(pings, 0)
        stranger.to_end()
        self.refused("login", why="no login within 5000 ms")
        known.send(frame(BINARY, message(b"again")))
        self.assertEqual(known.until(BINARY), message(b"again"))

    def tls(self, protocols):
        context = ssl.create_default_context(cafile=os.path.join(peers.CERTS, "ca.crt"))
        context.load_cert_chain(os.path.join(peers.CERTS, "client.crt"), os.path.join(peers.CERTS, "client.key"))
        if protocols:
            context.set_alpn_protocols(protocols)
        return lambda sock: context.wrap_socket(sock, server_hostname="localhost")

    def test_by_tls(self):
        self.serve(secure=True, handshake_ms=3000)
        silent = self.client(self.tls(["http/1.1"]))
        silent.send(request()[:-1])
        silent.to_end()
        self.refused("handshake")
        broken = self.client(self.tls(None)).upgraded()
        broken.send(frame(BINARY, message(b"x"), masked=False))
        self.assertEqual(broken.closed(), PROTOCOL)
        self.refused("websocket")
        with self.assertRaises(ssl.SSLError):
            self.client(self.tls(["spdy/3"]))
        self.refused("tls")
        client = self.client(self.tls(["http/1.1"])).upgraded()
        client.send(frame(BINARY, message(b"hello")))
        client.until(BINARY)
        self.assertEqual(client.until(BINARY), message(b"hello"))


class Frames(Hostile):
    """After it."""

    def ends_with(self, code, *said, method="Echo"):
        client = self.call(method)
        client.flood(b"".join(said), 1)
        self.assertEqual(client.closed(), code, said)

    def test_frames_that_break_the_rules(self):
        self.serve()
        begun = frame(BINARY, message(b"ab", length=4), fin=False)
        cases = [
            (PROTOCOL, frame(BINARY, message(b"x"), masked=False)),
            (PROTOCOL, frame(PING, b"x", masked=False)),
            (KIND, frame(TEXT, b"hello")),
            (PROTOCOL, frame(BINARY, message(b"x"), first=0x40)),
            (PROTOCOL, frame(PING, first=0x10)),
            (PROTOCOL, frame(3, b"x")),
            (PROTOCOL, frame(7, b"x")),
            (PROTOCOL, frame(11, b"x")),
            (PROTOCOL, frame(15, b"x")),
            (PROTOCOL, frame(PING, b"x", fin=False)),
            (PROTOCOL, frame(CLOSE, b"\x03\xe8", fin=False)),
            (PROTOCOL, frame(PING, b"x" * 126)),
            (PROTOCOL, frame(PING, b"x" * 3, length=long(3))),
            (PROTOCOL, frame(CONTINUATION, message(b"x"))),
            (PROTOCOL, begun + frame(BINARY, b"cd")),
            (KIND, begun + frame(TEXT, b"x")),
            (PROTOCOL, frame(BINARY, message(b"x"), length=b"\x7e\x00\x06")),
            (PROTOCOL, frame(BINARY, message(b"x"), length=long(6))),
            (PROTOCOL, frame(BINARY, message(b"x"), length=long(1 << 63))),
            (PROTOCOL, frame(BINARY, message(b"x"), length=long((1 << 64) - 1))),
            (TOO_BIG, frame(BINARY, message(b"x"), length=long((1 << 63) - 1))),
            (TOO_BIG, frame(BINARY, message(b"x"), length=long(1 << 33))),
            (TOO_BIG, begun + frame(CONTINUATION, b"x", length=long((1 << 32) + 2))),
            (PROTOCOL, frame(BINARY, message(b"xy", length=1))),
            (PROTOCOL, frame(BINARY, message(b"x", length=2))),
            (PROTOCOL, frame(BINARY, b"\x00\x00")),
            (PROTOCOL, frame(BINARY, b"")),
            (PROTOCOL, frame(BINARY, message(b"grpc-status: 0\r\n", flag=0x80))),
            (PROTOCOL, frame(BINARY, END) + frame(BINARY, message(b"late"))),
        ]
        for code, said in cases:
            with self.subTest(said=said):
                # Hold: so that nothing else is said on it, whatever the call makes of its end.
                self.ends_with(code, said, method="Hold")
        self.refused("websocket", len(cases), "broken WebSocket: a client's frame is not masked")
        self.still_serves()

    def test_a_frame_in_single_bytes_is_one_all_the_same(self):
        self.serve()
        client = self.call()
        for byte in frame(BINARY, message(b"hel", length=5), fin=False) + frame(PING, b"?") + frame(CONTINUATION, b"lo"):
            client.send(bytes([byte]))
        client.until(BINARY)
        self.assertEqual(client.until(BINARY), message(b"hello"))

    def test_a_close_in_the_middle(self):
        """Of a message, of a frame, without a code, with half of one."""
        self.serve()
        begun = frame(BINARY, message(b"ab", length=4), fin=False)
        for said in (begun + frame(CLOSE, b"\x03\xe8"), frame(CLOSE), frame(CLOSE, b"\x03"), frame(CLOSE, b"\xff" * 125)):
            client = self.call("Hold")
            client.send(said)
            self.assertEqual(client.closed(), 1000)
            self.server.wait("^Hold CANCELLED 0 0 ")
        self.still_serves()

    def test_the_end_of_tcp_in_the_middle(self):
        self.serve()
        for said in (b"", frame(BINARY, message(b"x" * 100))[:20], frame(BINARY, message(b"ab", length=4), fin=False)):
            client = self.call("Hold")
            client.send(said)
            client.vanish()
            self.server.wait("^Hold (CANCELLED|UNAVAILABLE) 0 0 ")
        self.still_serves()

    def test_a_peer_that_vanishes_is_found_out(self):
        self.serve(ping_ms=100, ping_timeout_ms=300)
        client = self.call("Hold")
        self.assertEqual(client.until(PING), b"")  # it does not answer
        client.to_end()
        self.server.wait("^Hold UNAVAILABLE")
        self.refused("ping")

    def test_a_flood_of_pings(self):
        self.serve(pings=50)
        self.ends_with(POLICY, frame(PING, PING_PAYLOAD) * 200)
        self.refused("pings", why="connection refused: pings")
        self.still_serves()

    def test_pings_between_messages_are_no_flood(self):
        self.serve(pings=5)
        client = self.call()
        for i in range(20):
            client.send(frame(PING, PING_PAYLOAD) + frame(BINARY, message(b"x")))
            self.assertEqual(client.until(PONG), PING_PAYLOAD)
            if i == 0:
                client.until(BINARY)
            self.assertEqual(client.until(BINARY), message(b"x"))

    def test_floods_that_say_nothing_cost_no_memory(self):
        """Pongs that nobody asked for, and parts of a message without a byte."""
        self.serve()
        pongs = self.call("Hold")
        pongs.flood(frame(PONG, b"x" * 125) * 1000, 50)
        parts = self.call("Hold")
        parts.send(frame(BINARY, b"", fin=False))
        parts.flood(frame(CONTINUATION, b"", fin=False) * 10000, 50)
        self.still_serves()
        self.assertLess(self.peak_mib(), 100)

    def test_a_slow_reader(self):
        self.serve(ping_timeout_ms=500)
        client = self.call("Many")
        client.send(frame(BINARY, message(b"100000 10000")) + frame(BINARY, END))
        self.server.wait("^Many UNAVAILABLE")
        self.refused("slow", why="the peer does not answer (slow)")
        self.assertLess(self.peak_mib(), 100)
        self.still_serves()

    def test_a_peer_refused_amid_a_message_gets_nothing_more(self):
        """It had not read: what follows would be taken for the rest of that message."""
        self.serve()
        size = 4_000_000
        client = self.call("Many")
        client.send(frame(BINARY, message(f"20 {size}".encode())))
        self.assertIsNotNone(client.until(BINARY))  # headers
        self.assertTrue(client.fill(lambda rest: len(rest) > 100))
        client.send(frame(BINARY, message(b"x"), masked=False))
        self.refused("websocket")
        while (f := client.frame()) is not None:
            self.assertEqual(f, (BINARY, message(bytes(size))))
        self.assertFalse(any(client.rest[10 + 5:]), "something else within the message")
        self.assertIn(10 + 5, range(len(client.rest)), "nothing was under way")
        self.still_serves()

    def test_announced_but_never_sent(self):
        """What a prefix announces costs nothing before it comes, nor does what a frame announces."""
        self.serve()
        for _ in range(50):
            client = self.call("Hold")
            body = message(b"x" * 1000, length=200_000_000)
            client.send(frame(BINARY, body, length=long(200_000_005)))
        self.still_serves()
        self.assertLess(self.peak_mib(), 100)

    def test_a_message_past_the_limit_ends_its_call_in_order(self):
        self.serve(message_bytes=1000)
        client = self.call("Hold")
        client.send(frame(BINARY, message(b"x" * 1001)))
        trailers = client.until(BINARY)
        self.assertIn(b"Grpc-Status: 8\r\n", trailers)  # RESOURCE_EXHAUSTED
        self.server.wait("^Hold RESOURCE_EXHAUSTED 0 0")
        self.refused("message")
        self.still_serves()

    def test_a_gzip_bomb(self):
        self.serve(message_bytes=10_000_000)
        client = self.client()
        client.send(request("/test.Echo/Echo", Grpc_Encoding="gzip"))
        client.head()
        client.send(frame(BINARY, message(gzip.compress(bytes(200_000_000)), flag=1)))
        self.server.wait("^Echo RESOURCE_EXHAUSTED 0 0")
        self.refused("message")
        self.assertLess(self.peak_mib(), 100)
        self.still_serves()

    def test_parts_of_messages_are_bounded_together(self):
        self.serve(buffered_bytes=500_000)
        for _ in range(5):
            self.call("Hold").send(frame(BINARY, message(b"x" * 150_000, length=1_000_000), fin=False))
        self.server.wait("^Hold RESOURCE_EXHAUSTED 0 0")
        self.refused("memory", "[1-5]")

    def test_a_call_that_is_none(self):
        self.serve()
        client = self.call("None")
        self.assertIn(b"Grpc-Status: 12\r\n", client.until(BINARY))  # UNIMPLEMENTED
        self.assertEqual(client.closed(), 1000)
        self.still_serves()


if __name__ == "__main__":
    unittest.main()
