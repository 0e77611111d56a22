# SPDX-License-Identifier: Apache-2.0
"""A principal that serves its fleet page, over gRPC, and clients of that page."""
import contextlib
import http.client
import json
import pathlib
import queue
import re
import socket
import ssl
import threading

from daemons import Fleet
from waiting import wait_for

TOKEN = "a-token-for-the-page-0123456789"


class Stream:
    """Reads the events of the page; `agents` is what they say, by name. A thread of its own reads."""

    def __init__(self, connection, headers=None):
        connection.request("GET", "/api/stream", headers=headers or {})
        self.connection, self.answer = connection, connection.getresponse()
        self.agents, self.principal, self.events = {}, None, queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        rest = b""
        with contextlib.suppress(OSError, ValueError, AttributeError, http.client.HTTPException):
            while piece := self.answer.read1(65536):
                *events, rest = (rest + piece).split(b"\n\n")
                for event in events:
                    lines = dict(line.split(b": ", 1) for line in event.split(b"\n") if b": " in line)
                    if b"data" in lines:
                        self.take(lines[b"event"].decode(), json.loads(lines[b"data"]))

    def take(self, name, data):
        if name == "principal":
            self.principal = data
        elif name == "begin":
            self.agents = {}
        elif name == "agents":
            self.agents = {**self.agents, **{agent["name"]: agent for agent in data}}
        elif name == "gone":
            self.agents = {key: agent for key, agent in self.agents.items() if key not in data}
        self.events.put((name, data))

    def close(self):
        with contextlib.suppress(AttributeError, OSError):
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.connection.close()


class PageFleet(Fleet):
    def principal_config(self):
        return dict(super().principal_config(), fleet={"listen": "127.0.0.1:0"})

    def page_port(self):
        """Of the page, as the log of the last start tells."""
        said = wait_for("the page is served", lambda: re.findall(r"serving the fleet page.* port=(\d+)",
                                                                 self.principal.log.read_text()))
        return int(said[-1])

    def connect(self, tls=None):
        if tls is None:
            return http.client.HTTPConnection("127.0.0.1", self.page_port(), timeout=60)
        return http.client.HTTPSConnection("localhost", self.page_port(), context=tls, timeout=60)

    def ask(self, path, method="GET", headers=None, tls=None):
        """(status, fields, body)"""
        connection = self.connect(tls)
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, answer.headers, body

    def stream(self, headers=None, tls=None):
        stream = Stream(self.connect(tls), headers)
        self.addCleanup(stream.close)
        return stream

    def serve_tls(self, control=None, **more):
        """With the certificate of the server, and tokens or a CA."""
        certs = self.grpc("server")["tls"]
        fleet = {"listen": "127.0.0.1:0", "tls": {"cert": certs["cert"], "key": certs["key"]}, **more}
        if "ca" in more:
            fleet["tls"]["ca"] = fleet.pop("ca")
        self.principal.configure(dict(self.principal_config(), fleet=fleet, **({"control": control} if control else {})))

    def tokens(self):
        path = pathlib.Path(self.folder, "tokens")
        path.write_text(f"{TOKEN} *\na-token-for-one-agent-0123 w1\n")
        path.chmod(0o600)
        return str(path)

    def trust(self, name=None):
        """A context that trusts the test's CA, with the certificate of `name`."""
        tls = self.grpc(name or "w1")["tls"]
        context = ssl.create_default_context(cafile=tls["ca"])
        if name:
            context.load_cert_chain(tls["cert"], tls["key"])
        return context
