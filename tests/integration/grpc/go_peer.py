# SPDX-License-Identifier: Apache-2.0
"""An argocd-agent as far as the wire goes: go_peer.py agent|principal CERTS PORT SETTINGS, by grpcio.

It encodes events exactly as argocd-agent does, prints everything that comes as lines of JSON, and is told what to do by
lines of JSON on its standard input (see Peer.obey). It acknowledges what comes as argocd-agent does, unless told not to.
"""
import base64
import itertools
import json
import os
import queue
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc

PREFIX = "io.argoproj.argocd-agent.event."
OPTIONS = [("grpc.max_receive_message_length", 200 << 20), ("grpc.max_send_message_length", 200 << 20)]
STRING, URI, TIMESTAMP = 3, 5, 7  # cases of an attribute's value


# ---- protobuf ----

def varint(n):
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def field(number, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def fields(data):
    """(number, content) of each field of a message; numbers of wire type 0 are int."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
        else:
            assert tag & 7 == 2, f"wire type {tag & 7}"
            size = number()
            yield tag >> 3, data[at:at + size]
            at += size


def texts(data):
    return {number: content.decode() for number, content in fields(data)}


# ---- events ----

def attribute(name, kind, text):
    return field(5, field(1, name) + field(2, field(kind, text)))


def encode(event):
    """Of {type, target, subject?, data?, ext: {name: text}, schema?: how dataschema is encoded, text?: data as text}."""
    kind = event["type"] if event["type"] in ("GET", "POST", "PATCH", "DELETE") else PREFIX + event["type"]
    out = field(2, event["source"]) if event.get("source") else b""
    out += field(3, "1.0") + field(4, kind)
    out += attribute("dataschema", event.get("schema", URI), event["target"])
    if event.get("subject"):
        out += attribute("subject", STRING, event["subject"])
    for name, text in event.get("ext", {}).items():
        out += attribute(name, STRING, text)
    if event.get("data") is not None:
        out += attribute("datacontenttype", STRING, "application/json")
        out += field(7 if event.get("text") else 6, event["data"])
    return field(1, out)


def decode(message):
    [(one, body)] = list(fields(message))
    assert one == 1
    event = {"ext": {}, "kinds": {}, "id": "", "source": "", "data": None}
    for number, content in fields(body):
        if number == 5:
            entry = dict(fields(content))
            [(kind, value)] = list(fields(entry[2]))
            name = entry[1].decode()
            event["kinds"][name] = kind
            if kind == TIMESTAMP:  # a message
                value = value.hex()
            event["ext"][name] = value.decode() if isinstance(value, bytes) else value
        else:
            name = {1: "id", 2: "source", 3: "specversion", 4: "type", 6: "data", 7: "text"}[number]
            event[name] = content.decode()
    event["type"] = event["type"].removeprefix(PREFIX)
    event["target"] = event["ext"].pop("dataschema", None)
    for name in ("subject", "datacontenttype"):
        event[name] = event["ext"].pop(name, None)
    return event


# ---- side calls ----

SIDES = {  # by kind: path of the call, and its messages' fields by number
    "logs": ("/principal.apis.logstreamapi.LogStreamService/StreamLogs", ["uuid", "data", "eof", "error"]),
    "terminal": ("/terminalstreamapi.TerminalStreamService/StreamTerminal",
                 ["uuid", "data", "stream", "resize", "rows", "cols", "eof", "error"]),
}


def encode_side(kind, message):
    out = b""
    for number, name in enumerate(SIDES[kind][1], 1):
        content = message.get(name)
        if isinstance(content, (bool, int)):
            out += varint(number << 3) + varint(int(content))
        elif content:
            out += field(number, content.encode("latin-1"))
    return out


def decode_side(kind, message):
    names = SIDES[kind][1]
    return {names[number - 1]: content.decode("latin-1") if isinstance(content, bytes) else content
            for number, content in fields(message)}


class Side:
    """One side call. Messages are dicts of texts (bytes as latin-1), numbers and booleans."""

    def __init__(self, kind, name):
        self.kind, self.name, self.call, self.taken = kind, name, None, 0
        self.out = queue.Queue()

    def sending(self):
        """gRPC takes the next message when the peer's window has room for it."""
        for message in iter(self.out.get, None):
            self.taken += 1
            yield message

    def say(self, messages):
        for message in messages:
            self.out.put(encode_side(self.kind, message))

    def flood(self, uuid, count, size):
        for n in range(count):
            line = f"2026-01-02T03:04:05.{n:09d}Z line {n} "
            self.out.put(encode_side(self.kind, {"uuid": uuid, "data": line.ljust(size - 1, "x") + "\n"}))

    def read(self, messages, held=None):
        try:
            for message in messages:
                if self.name is None:
                    self.name = decode_side(self.kind, message)["uuid"]
                tell(side={"name": self.name, "kind": self.kind, "message": decode_side(self.kind, message)})
                if held is not None:
                    held.wait()
            tell(side={"name": self.name, "ended": "OK"})
        except Exception as e:  # pylint: disable=broad-except
            tell(side={"name": self.name, "ended": e.code().name if isinstance(e, grpc.Call) else "broken"})


TELLING = threading.Lock()


def tell(**line):
    with TELLING:
        print(json.dumps(line), flush=True)


class Peer:
    """One stream at a time, whoever opened it."""

    def __init__(self, source):
        self.source = source
        self.acks = True
        self.out = queue.Queue()
        self.sides = {}
        self.reads = threading.Event()  # the principal's side calls
        self.reads.set()

    def send(self, event):
        self.out.put(encode(dict(event, source=self.source)))

    def heard(self, message):
        event = decode(message)
        # Before it is told of: an order given because of it must not overtake its acknowledgement.
        if self.acks and event["target"] not in ("eventProcessed", "heartbeat"):
            self.send({"type": "processed", "target": "eventProcessed", "ext": event["ext"]})
        tell(event=event)

    def sending(self):
        """What is put there, until None is: of the stream that is open."""
        self.out = queue.Queue()
        return iter(self.out.get, None)

    def obey(self):
        for line in sys.stdin:
            order = json.loads(line)
            if "event" in order:
                self.send(order["event"])
            if "acks" in order:
                self.acks = order["acks"]
            if "push" in order:
                self.push(order["push"])
            if "encode" in order:
                self.encode(order["encode"])
            if "ask" in order:
                self.ask(**order["ask"])
            self.obey_of_sides(order)
            if order.get("end"):
                self.end_stream()
            if order.get("open"):
                self.open_stream()


    def obey_of_sides(self, order):
        if "side" in order:
            self.open_side(**order["side"])
        if "say" in order:
            self.sides[order["say"]["name"]].say(order["say"]["messages"])
        if "flood" in order:
            self.sides[order["flood"].pop("name")].flood(**order["flood"])
        if "taken" in order:
            tell(taken=self.sides[order["taken"]].taken)
        if "close" in order:
            self.sides[order["close"]].out.put(None)
        if "drop" in order:
            self.sides[order["drop"]].call.cancel()
        if "reads" in order:
            (self.reads.set if order["reads"] else self.reads.clear)()


# ---- agent ----

def unary(channel, path, request, **more):
    return channel.unary_unary(path)(request, timeout=120, **more)


class Agent(Peer):
    def __init__(self, certs, port, name="w1", mode="managed", version="v0", namespace="argocd", bridge=None):
        """`bridge`: a port where it is to call in plaintext instead; that has its certificate."""
        super().__init__("agent://agent-managed")
        parts = [open(os.path.join(certs, n), "rb").read() for n in ("ca.crt", f"{name}.key", f"{name}.crt")]
        self.channel = grpc.insecure_channel(f"localhost:{bridge}", OPTIONS) if bridge else grpc.secure_channel(
            f"localhost:{port}", grpc.ssl_channel_credentials(*parts), OPTIONS)
        self.request = field(1, "mtls") + field(3, mode) + field(4, version) + field(5, namespace)
        self.call = None
        self.token = self.refresh_token = ""
        self.open_stream()

    def open_stream(self):
        answer = texts(unary(self.channel, "/authapi.Authentication/Authenticate", self.request))
        version = texts(unary(self.channel, "/versionapi.Version/Version", b""))
        self.token, self.refresh_token = answer[1], answer[2]
        self.call = self.channel.stream_stream("/eventstreamapi.EventStream/Subscribe")(
            self.sending(), metadata=[("authorization", self.token)])
        tell(login={"version": answer.get(3, ""), "namespace": answer.get(4, ""), "server": version.get(1, "")})
        threading.Thread(target=self.read, args=(self.call,), daemon=True).start()

    def read(self, call):
        try:
            for message in call:
                self.heard(message)
            tell(ended="OK")
        except grpc.RpcError as e:
            tell(ended=e.code().name, why=e.details())

    def end_stream(self):
        self.out.put(None)
        self.call.cancel()

    def ask(self, what, token):
        """Ping or RefreshToken; `token`: access, refresh or any text. The access token that comes is used from then on."""
        token = {"access": self.token, "refresh": self.refresh_token}.get(token, token)
        try:
            if what == "Ping":
                answer = unary(self.channel, "/eventstreamapi.EventStream/Ping", b"", metadata=[("authorization", token)])
            else:
                answer = unary(self.channel, "/authapi.Authentication/RefreshToken", field(1, token))
                self.token = texts(answer)[1]
            tell(asked=sorted(texts(answer)))
        except grpc.RpcError as e:
            tell(asked=e.code().name)

    def push(self, events):
        """What argocd-agent has, and never calls."""
        try:
            answer = self.channel.stream_unary("/eventstreamapi.EventStream/Push")(
                iter([encode(dict(e, source=self.source)) for e in events]), timeout=20,
                metadata=[("authorization", self.token)])
            tell(pushed=dict(fields(answer)))
        except grpc.RpcError as e:
            tell(refused=e.code().name, why=e.details())

    def open_side(self, kind, name, messages, token=None):
        """As argocd-agent does when it was asked for a log or a terminal."""
        side = self.sides[name] = Side(kind, name)
        side.say(messages)
        side.call = self.channel.stream_stream(SIDES[kind][0])(
            side.sending(), metadata=[("authorization", self.token if token is None else token)])
        threading.Thread(target=side.read, args=(side.call,), daemon=True).start()

    def encode(self, events):
        """For another client to push."""
        tell(encoded=[base64.b64encode(encode(e)).decode() for e in events], token=self.token)


# ---- principal ----

def token():
    """Parsable, as an agent wants it: it looks at when it ends."""
    parts = [{"alg": "RS512", "typ": "JWT"}, {"iss": "argocd-agent-server", "exp": 1 << 33}]
    return ".".join([base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts] + ["x"])


class Principal(Peer):
    """`age_ms`: of a connection, after which it takes no further call."""

    def __init__(self, certs, port, version="v0", namespace="argocd", age_ms=2**31 - 1):
        super().__init__("")
        self.version = version
        self.namespace = namespace
        self.ended = threading.Event()
        pool = ThreadPoolExecutor(20)
        # A call's window does not grow with the speed of the network: what is not read waits at the sender.
        self.server = grpc.server(pool, options=[*OPTIONS, ("grpc.http2.bdp_probe", 0),
                                                 ("grpc.max_connection_age_ms", age_ms)])
        handlers = {
            "authapi.Authentication": {"Authenticate": self.authenticate},
            "versionapi.Version": {"Version": lambda _r, _c: field(1, "argocd-agent-" + self.version)},
        }
        for service, methods in handlers.items():
            self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {
                name: grpc.unary_unary_rpc_method_handler(f) for name, f in methods.items()}),))
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("eventstreamapi.EventStream", {
            "Subscribe": grpc.stream_stream_rpc_method_handler(self.subscribe)}),))
        for kind, (path, _) in SIDES.items():
            service, method = path[1:].split("/")
            handler = grpc.stream_stream_rpc_method_handler(lambda requests, context, k=kind: self.side(k, requests, context))
            self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
        key, cert, ca = [open(os.path.join(certs, n), "rb").read() for n in ("server.key", "server.crt", "ca.crt")]
        self.server.add_secure_port(f"127.0.0.1:{port}", grpc.ssl_server_credentials([(key, cert)], ca, True))
        self.server.start()
        tell(listening=True)

    def authenticate(self, request, context):
        said = {number: content.decode() for number, content in fields(request) if number != 2}
        tell(login={"method": said.get(1), "mode": said.get(3), "version": said.get(4), "namespace": said.get(5)})
        if said.get(4) != self.version:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "version mismatch")
        return field(1, token()) + field(2, token()) + field(3, self.version) + field(4, self.namespace)

    def subscribe(self, requests, context):
        metadata = dict(context.invocation_metadata())
        assert metadata["authorization"] == token()
        sending = self.sending()
        out = self.out
        context.add_callback(lambda: out.put(None))
        tell(subscribed=True)  # before what it is then sent: who waits for this drops the lines before it
        threading.Thread(target=self.read, args=(requests, out), daemon=True).start()
        yield from sending

    def read(self, requests, out):
        try:
            for message in requests:
                self.heard(message)
            tell(ended="OK")
        except Exception:  # pylint: disable=broad-except
            tell(ended="broken")
        out.put(None)

    def side(self, kind, requests, context):
        """Its name is the request's; of a log one message answers, after the last."""
        assert dict(context.invocation_metadata())["authorization"] == token()
        side = Side(kind, None)
        first = next(requests)
        side.name = decode_side(kind, first)["uuid"]
        side.call = context
        self.sides[side.name] = side
        context.add_callback(lambda: side.out.put(None))

        def read():
            side.read(itertools.chain([first], requests), self.reads)
            side.out.put(field(1, side.name) + varint(2 << 3) + varint(200) if kind == "logs" else None)
            side.out.put(None)
        threading.Thread(target=read, daemon=True).start()
        yield from side.sending()

    def end_stream(self):
        self.out.put(None)


if __name__ == "__main__":
    made = {"agent": Agent, "principal": Principal}[sys.argv[1]](sys.argv[2], sys.argv[3], **json.loads(sys.argv[4]))
    made.obey()
    os._exit(0)
