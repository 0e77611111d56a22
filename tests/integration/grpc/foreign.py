# SPDX-License-Identifier: Apache-2.0
"""foreign.py serve CERTS|-, check CERTS|- PORT: what tests/support/grpc/go/main.go is for grpc-go, for grpcio. And
foreign.py stray CERTS PORT certificate|message|pings: what is too much, and the status by which it ends."""
import os
import queue
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc

LARGE = 64 << 20
DENIED = "ne: prosím, 100% nein"
OPTIONS = [("grpc.max_receive_message_length", 200 << 20), ("grpc.max_send_message_length", 200 << 20)]


def read(certs, name):
    with open(os.path.join(certs, name), "rb") as f:
        return f.read()


# ---- server ----

def subject(context):
    name = context.auth_context().get("x509_common_name")
    return "/CN=" + name[0].decode() if name else ""


def many(requests, _context):
    count, size = (int(n) for n in next(requests).split())
    for _ in range(count):
        yield bytes(size)


def count(requests, _context):
    sizes = [len(r) for r in requests]
    yield b"%d %d" % (len(sizes), sum(sizes))


def hold(_requests, context):
    ended = threading.Event()
    context.add_callback(ended.set)
    ended.wait()
    yield from ()


def meta(_requests, context):
    given = [m for m in context.invocation_metadata() if m.key.startswith("x-echo")]
    context.send_initial_metadata([*given, ("x-subject", subject(context))])
    yield b"meta"


def deny(_requests, context):
    context.abort(grpc.StatusCode.PERMISSION_DENIED, DENIED)
    yield b""


def echo(requests, _context):
    yield from requests


def unary(requests, _context):
    yield next(requests)


def serve(certs):
    methods = {"Echo": echo, "Unary": unary, "Many": many, "Count": count, "Hold": hold, "Meta": meta, "Deny": deny}
    handlers = {name: grpc.stream_stream_rpc_method_handler(f) for name, f in methods.items()}
    server = grpc.server(ThreadPoolExecutor(20), options=OPTIONS, compression=grpc.Compression.Gzip)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Echo", handlers),))
    if certs == "-":
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials(
            [(read(certs, "server.key"), read(certs, "server.crt"))], read(certs, "ca.crt"), True))
    server.start()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    print("port", port, flush=True)
    stop.wait()
    server.stop(1).wait()


# ---- client ----

def fill(size):
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def code_of(call):
    try:
        call()
    except grpc.RpcError as e:
        return e.code(), e.details()
    return grpc.StatusCode.OK, ""


class Checks:
    def __init__(self, channel, secure):
        self.channel = channel
        self.secure = secure

    def unary(self, method):
        return self.channel.unary_unary("/test.Echo/" + method)

    def same(self, size, **options):
        assert self.unary("Unary")(fill(size), **options) == fill(size)

    def try_unary(self):
        self.same(5000)
        self.same(0)
        self.same(5000, compression=grpc.Compression.Gzip)

    def try_large(self):
        self.same(LARGE)
        self.same(LARGE, compression=grpc.Compression.Gzip)

    def try_echo(self):
        sizes = [i * 37 for i in range(500)]
        for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
            stream = self.channel.stream_stream("/test.Echo/Echo")(iter(map(fill, sizes)), compression=compression)
            assert [len(m) for m in stream] == sizes

    def try_many(self):
        assert sum(map(len, self.channel.unary_stream("/test.Echo/Many")(b"2000 5000"))) == 2000 * 5000

    def try_count(self):
        assert self.channel.stream_unary("/test.Echo/Count")(iter([fill(3000)] * 1000)) == b"1000 3000000"

    def try_deny(self):
        assert code_of(lambda: self.unary("Deny")(b"")) == (grpc.StatusCode.PERMISSION_DENIED, DENIED)

    def try_unknown(self):
        assert code_of(lambda: self.unary("None")(b""))[0] == grpc.StatusCode.UNIMPLEMENTED

    def try_deadline(self):
        assert code_of(lambda: self.unary("Hold")(b"", timeout=0.1))[0] == grpc.StatusCode.DEADLINE_EXCEEDED

    def try_cancel(self):
        call = self.unary("Hold").future(b"")
        threading.Timer(0.1, call.cancel).start()
        assert call.code() == grpc.StatusCode.CANCELLED

    def try_meta(self):
        given = [("x-echo", "a b"), ("x-echo-bin", b"\xff\x00z")]
        _, call = self.unary("Meta").with_call(b"", metadata=given)
        got = {m.key: m.value for m in call.initial_metadata()}
        assert got["x-echo"] == "a b" and got["x-echo-bin"] == b"\xff\x00z", got
        assert got["x-subject"] == ("/CN=w1" if self.secure else ""), got


def dial(certs, port, name="client", more=()):
    return grpc.secure_channel("localhost:" + port, grpc.ssl_channel_credentials(
        read(certs, "ca.crt"), read(certs, name + ".key"), read(certs, name + ".crt")), [*OPTIONS, *more])


def stray(certs, port, how):
    channel = dial(certs, port, "foreign" if how == "certificate" else "client", [
        ("grpc.keepalive_time_ms", 50), ("grpc.http2.max_pings_without_data", 0)] if how == "pings" else [])
    method = "Hold" if how == "pings" else "Unary"
    print(code_of(lambda: channel.unary_unary("/test.Echo/" + method)(bytes(3000)))[0].name)


def stay(certs, port):
    say = queue.SimpleQueue()
    heard = dial(certs, port).stream_stream("/test.Echo/Echo")(iter(say.get, None))
    say.put(b"first")
    assert next(heard) == b"first"
    print("open", flush=True)
    sys.stdin.readline()
    say.put(b"second")
    assert next(heard) == b"second"
    print("goes on", flush=True)
    another = dial(certs, port, more=[("grpc.use_local_subchannel_pool", 1)])
    assert another.unary_unary("/test.Echo/Unary")(b"third") == b"third"
    print("another", flush=True)
    say.put(None)
    assert list(heard) == []


def check(certs, port):
    channel = dial(certs, port) if certs != "-" else grpc.insecure_channel("localhost:" + port, OPTIONS)
    checks = Checks(channel, certs != "-")
    failed = False
    for name in dir(checks):
        if not name.startswith("try_"):
            continue
        try:
            getattr(checks, name)()
            print("ok", name)
        except Exception as e:  # pylint: disable=broad-except
            failed = True
            print("FAIL", name, repr(e))
    sys.exit(failed)


if __name__ == "__main__":
    {"serve": serve, "check": check, "stray": stray, "stay": stay}[sys.argv[1]](*sys.argv[2:])
