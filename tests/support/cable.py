# SPDX-License-Identifier: Apache-2.0
"""A TCP connection that a test can cut, or leave open and silent, while both ends live; or a slow one."""
import contextlib
import socket
import threading
import time

from ports import free_port


class Cable:
    """Listens on `port` and carries each connection to `target`, a port of this machine. `rate`: bytes a second at most,
    each way of a connection."""

    def __init__(self, target, rate=None):
        self.target, self.port, self.rate = target, free_port(), rate
        self.flows, self.ended = threading.Event(), threading.Event()
        self.flows.set()
        self.lock, self.plugged, self.sockets = threading.Lock(), True, []
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        """Every connection ends without a word of goodbye, and no other is made."""
        with self.lock:
            self.plugged, sockets, self.sockets = False, self.sockets, []
        for end in sockets:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def mute(self):
        """Connections stay open, and nothing gets through any more."""
        self.flows.clear()

    def mend(self):
        self.flows.set()
        with self.lock:
            self.plugged = True

    def close(self):
        self.ended.set()
        self.flows.set()
        self.listener.close()
        self.cut()

    def _accept(self):
        while not self.ended.is_set():
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            self._connect(near)

    def _connect(self, near):
        with self.lock, contextlib.suppress(OSError):
            if self.plugged:
                far = socket.create_connection(("127.0.0.1", self.target), 10)
                far.settimeout(None)
                self.sockets += [near, far]
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=ends, daemon=True).start()
                return
        near.close()

    def _carry(self, source, sink):
        free = 0  # when the line is
        with contextlib.suppress(OSError):
            while data := source.recv(4096 if self.rate else 65536):
                if self.rate:
                    free = max(free, time.monotonic() - 0.1) + len(data) / self.rate
                    time.sleep(max(0, free - time.monotonic()))
                self.flows.wait()
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
