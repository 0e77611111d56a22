# SPDX-License-Identifier: Apache-2.0
"""What the tests of hostile peers beside healthy agents share: frames made by hand, and how long a change takes."""
import contextlib
import multiprocessing
import os
import pathlib
import socket
import ssl
import statistics
import struct
import threading
import time
import zlib

from daemons import Fleet, Tree, application, revision, wait_for

CERTS = pathlib.Path(os.environ["AB_GRPC_CERTS"])
AUTHENTICATE = "/authapi.Authentication/Authenticate"
SUBSCRIBE = "/eventstreamapi.EventStream/Subscribe"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, ACK, END_HEADERS = 1, 1, 4
WAIT_S = 60
MIB = 1 << 20


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n % 128 + 128])
        n //= 128
    return out + bytes([n])


def literal(name, value):
    def text(t):
        t = t.encode()
        return (bytes([len(t)]) if len(t) < 127 else b"\x7f" + varint(len(t) - 127)) + t
    return b"\x00" + text(name) + text(value)


def request(path, *more):
    fields = [(":method", "POST"), (":scheme", "https"), (":path", path), (":authority", "localhost"),
              ("te", "trailers"), ("content-type", "application/grpc"), *more]
    return b"".join(literal(*f) for f in fields)


def field(number, content):
    """Of a message of protobuf."""
    content = content.encode() if isinstance(content, str) else content
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def message(body, flag=0, length=None):
    return struct.pack(">BI", flag, len(body) if length is None else length) + body


def unfinished_gzip(size):
    """Zeros, as many as a reader would keep while it waits for the end."""
    z = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(z.compress(bytes(MIB)) for _ in range(size // MIB)) + z.flush(zlib.Z_SYNC_FLUSH)


def login(method, user=None, password=None, mode="managed"):
    credentials = {} if user is None else {"clientid": user, "clientsecret": password}
    return field(1, method) + b"".join(field(2, field(1, k) + field(2, v)) for k, v in credentials.items()) + \
        field(3, mode)


class Stranger:
    """A connection whose frames are made by hand."""

    def __init__(self, port, certificate=None, source="127.0.0.1"):
        context = ssl.create_default_context(cafile=CERTS / "ca.crt")
        context.set_alpn_protocols(["h2"])
        if certificate:
            context.load_cert_chain(CERTS / f"{certificate}.crt", CERTS / f"{certificate}.key")
        plain = socket.create_connection(("127.0.0.1", port), WAIT_S, (source, 0))
        self.sock = context.wrap_socket(plain, server_hostname="localhost")
        self.sock.sendall(PREFACE + frame(SETTINGS))

    def send(self, data):
        self.sock.sendall(data)

    def begin(self, stream, path, *more):
        self.send(frame(HEADERS, END_HEADERS, stream, request(path, *more)))

    def say(self, stream, data, flags=0):
        for at in range(0, len(data), 16384):
            self.send(frame(DATA, flags if at + 16384 >= len(data) else 0, stream, data[at:at + 16384]))

    def exactly(self, size):
        got = b""
        while len(got) < size:
            part = self.sock.recv(size - len(got))
            assert part, "the connection has ended"
            got += part
        return got

    def next_frame(self, stream, kind, flags=0):
        """The payload of the next frame of this kind on this stream, with these flags."""
        while True:
            head = self.exactly(9)
            payload = self.exactly(int.from_bytes(head[:3], "big"))
            if head[3] == SETTINGS and head[4] != ACK:  # before that its windows are small
                self.send(frame(SETTINGS, ACK))
            if head[3] == kind and head[4] & flags == flags and int.from_bytes(head[5:9], "big") == stream:
                return payload

    def data(self, stream):
        """The payload of the first DATA frame of this stream."""
        return self.next_frame(stream, DATA)

    def wait_for_end(self, stream):
        """The other side has answered it with a status."""
        self.next_frame(stream, HEADERS, END_STREAM)

    def close(self):
        self.sock.close()


class Beside(Fleet):
    """A healthy agent whose changes are timed, while others attack the principal.

    What is compared is what the principal does to its healthy agents, so each has a machine of its own, as far as one
    machine can be three: the principal one processor, in which its own threads compete; the agent and this test another,
    of which attackers get only what these leave. With and without are measured in turns, since a machine that others
    use too changes while we look.
    """
    transport = "grpc"
    turns, changes = 3, 150

    def setUp(self):
        self.cpus = sorted(os.sched_getaffinity(0))
        self.addCleanup(os.sched_setaffinity, 0, self.cpus)
        super().setUp()

    def principal_config(self):
        return dict(super().principal_config(), agents=[{"name": "w1", "mode": "managed"},
                                                        {"name": "w2", "mode": "managed"}])

    def rss_mib(self):
        status = pathlib.Path(f"/proc/{self.principal.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024

    def cpu_s(self):
        """Processor time that the principal has used."""
        fields = pathlib.Path(f"/proc/{self.principal.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def change(self, value):
        """Seconds from a change at the hub to its effect at the agent."""
        tick = threading.Event()
        began = time.monotonic()
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision=value))
        while revision(self.spoke.read("argocd", "guestbook")) != value:
            self.assertLess(time.monotonic() - began, WAIT_S, "the change does not arrive")
            tick.wait(0.001)
        return time.monotonic() - began

    def some_changes(self):
        self.turn = getattr(self, "turn", 0) + 1
        return [self.change(f"{self.turn}.{n}") for n in range(self.changes)]

    def begin_healthy(self):
        self.principal.start()
        if len(self.cpus) > 1:
            for thread in pathlib.Path(f"/proc/{self.principal.process.pid}/task").iterdir():
                os.sched_setaffinity(int(thread.name), self.cpus[:1])
            os.sched_setaffinity(0, self.cpus[1:])
        self.agent.start()
        self.hub.write("w1", "guestbook", application("guestbook", "0"))
        self.arrives("guestbook", "0")
        self.some_changes()
        self.idle_mib = self.rss_mib()

    def compare(self, begin, look):
        """`begin` starts the attack and returns what ends it, `look` is called while it goes on."""
        without, during, worst_mib = [], [], 0
        for _ in range(self.turns):
            without += self.some_changes()
            end = begin()
            during += self.some_changes()
            worst_mib = max(worst_mib, self.rss_mib())
            look()
            end()
        ratio = p99(during) / p99(without)
        print(f"{self._testMethodName}: p99 without {p99(without) * 1000:.1f} ms, with {p99(during) * 1000:.1f} ms, "
              f"ratio {ratio:.2f}; RSS idle {self.idle_mib:.0f} MiB, with {worst_mib:.0f} MiB", flush=True)
        # These figures are for people. What is asserted must hold on a busy machine, whose own pauses are in the p99.
        self.assertLess(statistics.median(during) / statistics.median(without), 5)
        self.assertLess(p99(during), 1)
        self.assertLess(worst_mib - self.idle_mib, 128)
        self.assertNotIn("the stream has ended", self.agent.log.read_text())

    def comes_again(self):
        """An agent that comes while they are at it is let in."""
        self.assertNotIn("the stream has ended", self.agent.log.read_text())
        began = time.monotonic()
        self.agent.stop()
        self.agent.start()
        print(f"logged in again within {time.monotonic() - began:.2f} s", flush=True)

    def goes_back(self):
        bound = self.idle_mib * 1.2
        wait_for(f"RSS is back below {bound:.0f} MiB", lambda: self.rss_mib() <= bound, 60)
        print(f"afterwards: RSS {self.rss_mib():.0f} MiB", flush=True)


def p99(took):
    return sorted(took)[len(took) * 99 // 100]


class Attack:
    """A process whose threads do `step` over and over, until the test ends it: of the lowest priority, since attackers
    have machines of their own."""

    def __init__(self, test, threads, step, pause_s=0.05):
        fork = multiprocessing.get_context("fork")
        self.count = fork.Value("q", 0)
        self.process = fork.Process(target=self._run, args=(threads, step, pause_s))
        test.addCleanup(self.end)
        self.process.start()

    @property
    def done(self):
        return self.count.value

    def _run(self, threads, step, pause_s):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        for _ in range(threads):
            threading.Thread(target=self._repeat, args=(step, pause_s)).start()

    def _repeat(self, step, pause_s):
        pause = threading.Event()
        while not pause.wait(pause_s):
            # It may be refused while it still speaks.
            with contextlib.suppress(OSError):
                step()
            with self.count.get_lock():
                self.count.value += 1

    def end(self):
        self.process.kill()
        self.process.join()


__all__ = ["Attack", "Beside", "Stranger", "Tree", "wait_for"]
