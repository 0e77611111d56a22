# SPDX-License-Identifier: Apache-2.0
"""Programs of the tests of gRPC, each with a service test.Echo (echo_server.c says what it does)."""
import os
import queue
import re
import signal
import subprocess
import threading

BIN = os.environ["AB_BIN"]
CERTS = os.environ["AB_GRPC_CERTS"]
WAIT_S = 120


class Server:
    """A server that prints "port N" first; what it prints then can be waited for."""

    def __init__(self, *command):
        self.out = queue.Queue()
        self.seen = []
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=self._read, daemon=True).start()
        self.port = int(self.wait(r"^port (\d+)").group(1))

    def _read(self):
        for line in self.process.stdout:
            self.out.put(line)
        self.out.put(None)

    def wait(self, pattern):
        """The match of the first line with `pattern`, of those not yet read."""
        while True:
            try:
                line = self.out.get(timeout=WAIT_S)
            except queue.Empty:
                line = None
            if line is None:
                raise AssertionError(f"no {pattern!r} in:\n" + "".join(self.seen))
            self.seen.append(line)
            match = re.search(pattern, line)
            if match:
                return match

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait(WAIT_S)
        while (line := self.out.get(timeout=WAIT_S)) is not None:
            self.seen.append(line)
        self.process.stdout.close()
        return code


def ours(secure=True, websocket=False, **limits):
    return Server(os.path.join(BIN, "grpc_echo_server"), CERTS if secure else "-", *["websocket"] * websocket,
                  *[f"{k}={v}" for k, v in limits.items()])
