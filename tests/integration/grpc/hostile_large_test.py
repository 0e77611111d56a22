# SPDX-License-Identifier: Apache-2.0
"""An agent that sends very much, little of which is dealt with, beside one that means well."""
import json
import unittest
import zlib

from daemons import Objects
from hostile import AUTHENTICATE, END_STREAM, MIB, SUBSCRIBE, Beside, Stranger, field, login, message, wait_for

STRING, URI = 3, 5
EVENTS = 500  # some 1.5 KB each when compressed: all of them within the window of a stream
SIZE = MIB


def gzip(data):
    z = zlib.compressobj(9, zlib.DEFLATED, 31)
    return z.compress(data) + z.flush()


def attribute(name, kind, text):
    return field(5, field(1, name) + field(2, field(kind, text)))


def event(number, size=SIZE):
    """As an argocd-agent that is autonomous sends it: an Application of its own."""
    name = f"large-{number}"
    app = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
           "metadata": {"name": name, "namespace": "argocd", "uid": name, "annotations": {"large": "x" * size}},
           "spec": {"project": "default", "source": {"repoURL": "https://git.example.com/a.git", "path": "a"},
                    "destination": {"name": "in-cluster", "namespace": "default"}}}
    body = field(3, "1.0") + field(4, "io.argoproj.argocd-agent.event.create")
    body += attribute("dataschema", URI, "application") + attribute("subject", STRING, f"argocd/{name}") + attribute("eventid", STRING, name)
    body += attribute("resourceid", STRING, name) + attribute("datacontenttype", STRING, "application/json")
    return field(1, body + field(6, json.dumps(app)))


class Large(Beside):
    """It is autonomous, which the principal cannot serve without a folder: nothing of it is dealt with."""

    def setUp(self):
        super().setUp()
        labels = {"argocd.argoproj.io/secret-type": "cluster", "argocd-agent.argoproj-labs.io/agent-name": "w2"}
        Objects(self.hub).write({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {
            "name": "cluster-w2", "namespace": "argocd", "labels": labels,
            "annotations": {"argobus.io/mode": "autonomous"}}})

    def principal_config(self):
        return dict(super().principal_config(), agents=[{"name": "w1", "mode": "managed"}])

    def log_in(self):
        agent = Stranger(self.grpc_port, "w2")
        self.addCleanup(agent.close)
        agent.begin(1, AUTHENTICATE)
        agent.say(1, message(login("mtls", mode="autonomous")), END_STREAM)
        answer = agent.data(1)[5:]
        length = answer[1] & 127 | answer[2] << 7
        return agent, answer[3:3 + length].decode()

    def ended(self):
        return self.principal.log.read_text().count("stream ended agent=w2")

    def begin(self):
        agent, token = self.log_in()
        self.ended_before = self.ended()
        agent.begin(3, SUBSCRIBE, ("grpc-encoding", "gzip"), ("authorization", token))
        for number in range(EVENTS):
            agent.say(3, message(gzip(event(number)), flag=1))
        wait_for("what is taken of it is there",
                 lambda: self.principal.metric(r'argobus_unacknowledged\{agent="w2"\}') >= 5)
        return lambda: self.end(agent)

    def end(self, agent):
        agent.close()
        wait_for("its stream has ended", lambda: self.ended() > self.ended_before)

    def still_there(self):
        self.assertEqual(self.ended(), self.ended_before)

    def test_its_memory_is_bounded_and_nobody_waits_for_it(self):
        self.begin_healthy()
        self.compare(self.begin, self.still_there)
        self.goes_back()


if __name__ == "__main__":
    unittest.main(verbosity=2)
