# SPDX-License-Identifier: Apache-2.0
"""Those who look into an agent's cluster for longer: at a log, and at a terminal."""
import base64
import contextlib
import http.client
import json
import os
import re
import struct
import threading

from access import TOKEN_W1

COUNTING = "while sleep 0.02; do echo line $((++i)); done"  # what a pod whose log is looked at runs
LINE = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\S+ line (\d+)\n")
V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
STDIN, STDOUT, STDERR, STATUS, RESIZE = range(5)


class WebSocket:
    """A client of RFC 6455 that reads one frame at a time."""

    def __init__(self, connection, path, *protocols, token=TOKEN_W1):
        connection.connect()
        self.socket = connection.sock
        self.file = self.socket.makefile("rb")
        fields = {"Host": "localhost", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                  "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
                  "Sec-WebSocket-Protocol": ", ".join(protocols), "Authorization": f"Bearer {token}"}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.socket.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
        self.code = int(self.file.readline().split()[1])
        self.fields = {}
        for line in iter(lambda: self.file.readline().decode().strip(), ""):
            name, value = line.split(": ", 1)
            self.fields[name.lower()] = value

    def body(self):
        length = self.fields.get("content-length") or int(self.file.readline(), 16)
        return json.loads(self.file.read(int(length)))

    def send(self, payload, opcode=2):
        mask = os.urandom(4)
        length = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + struct.pack(">H", len(payload))
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.socket.sendall(bytes([0x80 | opcode]) + length + mask + masked)

    def say(self, channel, payload):
        self.send(bytes([channel]) + payload)

    def receive(self):
        """A data message, or None at the end: `close_code` is known then."""
        whole = b""
        while True:
            first, second = self.file.read(2)
            length = second & 0x7f
            if length == 126:
                length = struct.unpack(">H", self.file.read(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", self.file.read(8))[0]
            payload = self.file.read(length)
            if first & 0x0f == 8:
                self.close_code = struct.unpack(">H", payload[:2])[0]
                return None
            if first & 0x0f in (9, 10):
                continue
            whole += payload
            if first & 0x80:
                return whole

    def until(self, channel, text):
        """What came on a channel, until it has this."""
        seen = b""
        while text not in seen:
            message = self.receive()
            assert message is not None, f"ended before {text}: {seen}"
            if message[0] == channel:
                seen += message[1:]
        return seen

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.close()
            self.file.close()


class LogViewer(threading.Thread):
    """Reads a log until it ends, or until it is told to stop."""

    def __init__(self, answer):
        super().__init__(daemon=True)
        self.answer, self.lines = answer, []
        self.start()

    def run(self):
        with contextlib.suppress(http.client.HTTPException, OSError):  # the principal ends with the test
            for line in self.answer:
                self.lines.append(line)

    def numbers(self):
        return [int(LINE.fullmatch(line).group(1)) for line in list(self.lines)]
