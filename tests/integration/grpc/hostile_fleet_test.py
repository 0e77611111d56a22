# SPDX-License-Identifier: Apache-2.0
"""The daemons among WebSockets that do not mean well: a hundred of them at the principal, beside an agent whose events
go on; and principals that lie to an agent, which says what was wrong, and is served by the next one that is honest."""
import contextlib
import itertools
import os
import pathlib
import socket
import ssl
import threading
import unittest
from collections import Counter, deque

from daemons import Fleet, application, wait_for
from websocket_peer import (BINARY, CLOSE, CONTINUATION, PING, TEXT, Client, Reader, answer, frame, long, message,
                            request)

CERTS = pathlib.Path(os.environ["AB_GRPC_CERTS"])
AUTHENTICATE = "/authapi.Authentication/Authenticate"
SUBSCRIBE = "/eventstreamapi.EventStream/Subscribe"
THREADS, OPEN_EACH, EDITS = 10, 10, 20
WAIT_S = 60


def context_of(name, server=False):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH if server else ssl.Purpose.SERVER_AUTH,
                                         cafile=CERTS / "ca.crt")
    if name:
        context.load_cert_chain(CERTS / f"{name}.crt", CERTS / f"{name}.key")
    if server:
        context.verify_mode = ssl.CERT_REQUIRED
        context.set_alpn_protocols(["http/1.1"])
    return context


class Websockets(Fleet):
    transport = "grpc"

    def grpc(self, name):
        return dict(super().grpc(name), websocket=True)


# ---- what is done to the principal; each is given the port, and gives back the connection ----

def connect(port, certificate="w2"):
    context = context_of(certificate)
    return Client(port, WAIT_S, lambda sock: context.wrap_socket(sock, server_hostname="localhost"))


def saying(*said, path=AUTHENTICATE):
    def attack(port):
        client = connect(port).upgraded(path)
        client.send(b"".join(said))
        return client
    return attack


def asking(said):
    def attack(port):
        client = connect(port)
        client.send(said)
        return client
    return attack


def silent(port):
    return Client(port, WAIT_S)


def half_tls(port):
    client = Client(port, WAIT_S)
    client.send(b"\x16\x03\x01\x02\x00\x01")
    return client


def without_certificate(port):
    client = connect(port, None)
    client.send(request())
    return client


def vanishing(port):
    client = connect(port).upgraded(AUTHENTICATE)
    client.send(frame(BINARY, message(b"x", length=9), fin=False))
    client.vanish()
    return client


ATTACKS = {
    "silence": silent,
    "half of TLS": half_tls,
    "no certificate": without_certificate,
    "silence after TLS": connect,
    "half of a request": asking(request(AUTHENTICATE)[:-2]),
    "endless headers": asking(request(AUTHENTICATE)[:-2] + b"X: y\r\n" * 10000),
    "no upgrade": asking(request(AUTHENTICATE, Upgrade=None)),
    "another sub-protocol": asking(request(AUTHENTICATE, Sec_WebSocket_Protocol="chat")),
    "no such method": saying(path="/none.None/None"),
    "a stream without a token": saying(path=SUBSCRIBE),
    "not masked": saying(frame(BINARY, message(b"x"), masked=False)),
    "text": saying(frame(TEXT, b"hello")),
    "a length with its high bit": saying(frame(BINARY, message(b"x"), length=long(1 << 62))),
    "a message that never comes": saying(frame(BINARY, message(b"x", length=199 << 20), length=long((199 << 20) + 5))),
    "no protobuf": saying(frame(BINARY, message(b"\xff" * 100))),
    "silence after the upgrade": saying(),
    "pings": saying(frame(PING, b"x" * 100) * 1000),
    "empty parts": saying(frame(BINARY, b"", fin=False) + frame(CONTINUATION, b"", fin=False) * 10000),
    "gone amid a message": vanishing,
}


class Flood:
    """A hundred connections that do such things, over and over."""

    def __init__(self, port):
        self.port = port
        self.done = Counter()
        self.ending = threading.Event()
        self.threads = [threading.Thread(target=self._attack, args=(n,)) for n in range(THREADS)]
        for thread in self.threads:
            thread.start()

    def _attack(self, first):
        attacks = itertools.islice(itertools.cycle(ATTACKS.items()), first, None)
        held = deque()
        while not self.ending.is_set():
            name, attack = next(attacks)
            # It may be refused while it still speaks.
            with contextlib.suppress(OSError, AssertionError):
                held.append(attack(self.port))
            self.done[name] += 1
            if len(held) > OPEN_EACH:
                held.popleft().close()
        for client in held:
            client.close()

    def end(self):
        self.ending.set()
        for thread in self.threads:
            thread.join()


class AtPrincipal(Websockets):
    def principal_config(self):
        return dict(super().principal_config(), agents=[{"name": "w1"}, {"name": "w2"}])

    def peak_mib(self):
        status = pathlib.Path(f"/proc/{self.principal.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024

    def test_a_hundred_that_do_not_mean_well_delay_nothing_of_an_honest_agent(self):
        self.start()
        self.hub.write("w1", "guestbook", application("guestbook", "0"))
        self.arrives("guestbook", "0")
        flood = Flood(self.grpc_port)
        self.addCleanup(flood.end)
        wait_for("all are at it", lambda: len(flood.done) == len(ATTACKS))
        for n in range(1, EDITS):
            self.hub.edit("w1", "guestbook", lambda a, v=str(n): a["spec"]["source"].update(targetRevision=v))
            self.arrives("guestbook", str(n))
            status = {"health": {"status": "Healthy"}, "summary": {"images": [str(n)]}}
            self.spoke.set_status("argocd", "guestbook", status)
            wait_for("its status is at the principal", lambda s=status: self.hub.status("w1", "guestbook") == s)
        wait_for("they have tried all of it, over and over", lambda: min(flood.done.values()) >= 3)
        self.assertTrue(self.agent.is_ready())
        flood.end()
        self.assertNotIn("the stream has ended", self.agent.log.read_text())
        for reason in ("tls", "upgrade", "websocket", "pings"):
            self.assertGreater(self.principal.metric(rf'argobus_grpc_refused_total\{{reason="{reason}"\}}'), 0, reason)
        self.assertIn('gRPC peer refused reason=', self.principal.log.read_text())
        self.assertLess(self.peak_mib(), 400)  # a sanitizer keeps what was freed
        wait_for("only the agent is connected", lambda: self.principal.metric("argobus_grpc_connections") == 1)


class Strangers(Fleet):
    """Who have a certificate, and do not log in, at a principal that serves both kinds."""
    transport = "grpc"

    def grpc(self, name):
        return dict(super().grpc(name), websocket=name != "w1" or self.by_websocket, **{"keepalive-timeout": "1s"})

    by_websocket = False

    def test_strangers_are_let_go_and_who_has_logged_in_is_not(self):
        self.start()
        strangers = [connect(self.grpc_port).upgraded(AUTHENTICATE), self.by_http2()]
        for stranger in strangers:
            self.addCleanup(stranger.close)
            stranger.to_end()
        self.assertGreaterEqual(self.principal.metric(r'argobus_grpc_refused_total\{reason="login"\}'), 2)
        self.assertIn("no login within 11000 ms", self.principal.log.read_text())
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.arrives("guestbook", "1")
        self.assertNotIn("the stream has ended", self.agent.log.read_text())

    def by_http2(self):
        context = context_of("w2")
        context.set_alpn_protocols(["h2"])
        client = Client(self.grpc_port, WAIT_S, lambda sock: context.wrap_socket(sock, server_hostname="localhost"))
        client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
        return client


class StrangersByWebsocket(Strangers):
    by_websocket = True


# ---- what is done to the agent; each is given its connection, and the key of its request ----

def head(said):
    return lambda peer, key: peer.sock.sendall(said(key) if callable(said) else said)


def upgraded(*said):
    return head(lambda key: answer(key) + b"".join(said))


def metadata(text):
    return frame(BINARY, message(text, flag=0x80), masked=False)


def plain(opcode, payload=b"", **more):
    return frame(opcode, payload, masked=False, **more)


HEADERS = metadata(b"Content-Type: application/grpc\r\n")
LIES = {
    "the server does not accept WebSockets, HTTP 404": head(b"HTTP/1.1 404 Not Found\r\n\r\n"),
    "the response is not HTTP/1.1": head(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
    "Sec-WebSocket-Accept does not match the key": head(lambda _: answer("")),
    "the response does not upgrade to a WebSocket": head(lambda key: answer(key, Upgrade=None)),
    "the sub-protocol of the response is not grpc-ws": head(lambda key: answer(key, Sec_WebSocket_Protocol="chat")),
    "the response has extensions that were not requested":
        head(lambda key: answer(key, Sec_WebSocket_Extensions="permessage-deflate")),
    "a header of the response is invalid": head(lambda key: answer(key).replace(b"Upgrade: ", b"Up grade: ", 1)),
    "the headers of the response exceed the limit": head(lambda key: answer(key)[:-2] + b"X: y\r\n" * 10000),
    "a server's frame is masked": upgraded(frame(BINARY, message(b"x"))),
    "a message is text, not binary": upgraded(plain(TEXT, b"hello")),
    "a reserved bit of a frame is set": upgraded(plain(BINARY, message(b"x"), first=0x40)),
    "a frame has an unknown opcode": upgraded(plain(11)),
    "a frame's length is wrong, or a control frame is in parts": upgraded(plain(PING, fin=False)),
    "a frame continues no message": upgraded(plain(CONTINUATION, b"x")),
    "a message is larger than the limit": upgraded(plain(BINARY, message(b"x"), length=long(1 << 62))),
    "a message is shorter than its prefix says": upgraded(HEADERS, plain(BINARY, message(b"x", length=2))),
    "a message comes before the headers": upgraded(plain(BINARY, message(b"x"))),
    "metadata exceeds the limit": upgraded(metadata(b"X: " + b"y" * 100000 + b"\r\n")),
    "a metadata line is invalid": upgraded(metadata(b"nonsense\r\n")),
    "grpc-status is missing": upgraded(HEADERS, metadata(b"X: y\r\n")),
    "UNKNOWN: grpc-status 99": upgraded(HEADERS, metadata(b"grpc-status: 99\r\n")),
    "the peer closed the WebSocket (1001)": upgraded(plain(CLOSE, b"\x03\xe9")),
    "connection refused: pings": upgraded(plain(PING, b"x") * 1000),
    "the peer does not answer (handshake)": head(b"HTTP/1.1 101 Switching"),
    "the peer does not answer (ping)": upgraded(),
}


class LyingPrincipal:
    """Does one thing to whoever calls."""

    def __init__(self, port, lie):
        self.lie = lie
        self.context = context_of("server", True)
        self.listener = socket.create_server(("127.0.0.1", port))
        self.held = []
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self):
        with contextlib.suppress(OSError):  # it is closed
            while True:
                sock, _ = self.listener.accept()
                self.held.append(sock)
                with contextlib.suppress(OSError):
                    self._answer(sock)

    def _answer(self, sock):
        sock.settimeout(WAIT_S)
        peer = Reader(self.context.wrap_socket(sock, server_side=True))
        self.held.append(peer.sock)
        said = dict(line.split(": ", 1) for line in peer.head().decode().splitlines() if ": " in line)
        if said:  # the agent has not gone
            self.lie(peer, said["Sec-WebSocket-Key"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        for sock in self.held:
            sock.close()


class AtAgent(Websockets):
    def grpc(self, name):
        return dict(super().grpc(name), **{"keepalive": "1s", "keepalive-timeout": "1s"})

    def told(self, text, lie):
        begin = self.agent.log.stat().st_size if self.agent.log.exists() else 0
        with LyingPrincipal(self.grpc_port, lie):
            self.agent.start(ready=False)
            wait_for(f"its log says: {text}", lambda: text in self.agent.log.read_text()[begin:])
            self.assertFalse(self.agent.is_ready())

    def test_an_agent_says_what_was_wrong_with_its_principal(self):
        for text, lie in LIES.items():
            with self.subTest(text):
                self.told(text, lie)
                self.agent.stop()

    def test_an_agent_that_was_lied_to_is_served_by_an_honest_principal(self):
        self.told("a server's frame is masked", LIES["a server's frame is masked"])
        self.principal.start()
        wait_for("it is served", self.agent.is_ready)
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.arrives("guestbook", "1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
