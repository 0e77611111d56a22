# SPDX-License-Identifier: Apache-2.0
"""WebSockets whose every byte is made by hand, for tests whose peers break the rules."""
import base64
import hashlib
import socket
import struct

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
HEADERS = {
    "Host": "x",
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Protocol": "grpc-ws",
    "Sec-WebSocket-Key": KEY,
    "Content-Type": "application/grpc",
}


def request(path="/test.Echo/Echo", line=None, **changes):
    """An upgrade; `changes`: other values of headers, - as _, None: leave it out."""
    headers = {**HEADERS, **{k.replace("_", "-"): v for k, v in changes.items()}}
    lines = [line or f"GET {path} HTTP/1.1", *[f"{k}: {v}" for k, v in headers.items() if v is not None]]
    return "\r\n".join([*lines, "", ""]).encode()


def answer(key, line="HTTP/1.1 101 Switching Protocols", **changes):
    """What a server says to a client's `key`."""
    digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Protocol": "grpc-ws",
               "Sec-WebSocket-Accept": base64.b64encode(digest).decode(),
               **{k.replace("_", "-"): v for k, v in changes.items()}}
    return "\r\n".join([line, *[f"{k}: {v}" for k, v in headers.items() if v is not None], "", ""]).encode()


def frame(opcode, payload=b"", fin=True, masked=True, first=0, length=None):
    """`first`: more bits of the first byte; `length`: the bytes that say it, where they say something else."""
    size = len(payload)
    if length is None:
        length = bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size) if size < 65536 \
            else b"\x7f" + struct.pack(">Q", size)
    head = bytes([0x80 * fin | first | opcode, length[0] | 0x80 * masked]) + length[1:]
    key = b"\x01\x02\x03\x04" if masked else b""
    if masked:
        payload = bytes(b ^ key[i % 4] for i, b in enumerate(payload))
    return head + key + payload


def long(size):
    """A length in eight bytes."""
    return b"\x7f" + struct.pack(">Q", size)


def message(body, flag=0, length=None):
    return struct.pack(">BI", flag, len(body) if length is None else length) + body


class Reader:
    """What the other side says."""

    def __init__(self, sock):
        self.sock = sock
        self.rest = b""

    def fill(self, enough):
        """@return False: the connection has ended before."""
        while not enough(self.rest):
            try:
                got = self.sock.recv(65536)
            except ConnectionResetError:
                got = b""
            if not got:
                return False
            self.rest += got
        return True

    def head(self):
        """Of HTTP/1.1, with its empty line; b"" at the end."""
        if not self.fill(lambda rest: b"\r\n\r\n" in rest):
            return b""
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        return head + b"\r\n\r\n"

    def frame(self):
        """(opcode, payload) of what a server sends; None at the end."""
        if not self.fill(lambda rest: len(rest) >= 2):
            return None
        more = {126: 2, 127: 8}.get(self.rest[1] & 0x7f, 0)
        if not self.fill(lambda rest: len(rest) >= 2 + more):
            return None
        size = int.from_bytes(self.rest[2:2 + more], "big") if more else self.rest[1] & 0x7f
        if not self.fill(lambda rest: len(rest) >= 2 + more + size):
            return None
        opcode, payload = self.rest[0] & 15, self.rest[2 + more:2 + more + size]
        self.rest = self.rest[2 + more + size:]
        return opcode, payload

    def until(self, opcode):
        """The payload of the next frame of this kind; None when the connection ends first."""
        while (f := self.frame()) is not None:
            if f[0] == opcode:
                return f[1]
        return None

    def closed(self):
        """The code of the frame that closes, and then the end of the connection."""
        payload = self.until(CLOSE)
        self.to_end()
        return None if payload is None else int.from_bytes(payload[:2], "big")

    def to_end(self):
        while self.fill(lambda _: False):
            pass


class Client(Reader):
    def __init__(self, port, wait_s, wrap=None):
        sock = socket.create_connection(("127.0.0.1", port), timeout=wait_s)
        super().__init__(wrap(sock) if wrap else sock)

    def send(self, data):
        self.sock.sendall(data)

    def flood(self, data, times):
        """As often as the other side takes it."""
        try:
            for _ in range(times):
                self.sock.sendall(data)
        except OSError:
            pass

    def upgraded(self, path="/test.Echo/Echo"):
        self.send(request(path))
        head = self.head()
        assert head.startswith(b"HTTP/1.1 101 "), head
        return self

    def close(self):
        self.sock.close()

    def vanish(self):
        """Without a word: its end is a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()
