# SPDX-License-Identifier: Apache-2.0
"""argobus_principal.py CERTS PORT VERSION [away|full]: a principal of argobus as far as the wire goes, told what to send by lines
of JSON on its standard input (see go_peer.Peer.obey); an event that it is told has an id besides. It prints what comes.
With `away` it ends each stream after its hello, as a proxy does that loses the principal; with `full` it takes no call."""
import json
import os
import sys
import threading
import uuid

import grpc

import go_peer

ARGOBUS = [("argobus-version", "0")]
HELLO = {"mode": "", "version": "0", "instance": str(uuid.uuid4()), "epoch": 1, "seen": 0, "time_ms": 0,
         "inflight": 1024, "message_max": 1 << 20, "backlog": 0, "fresh": False, "leaving": False}


def encode(event):
    """With the id that argocd-agent leaves out."""
    [(_, body)] = go_peer.fields(go_peer.encode(event))
    return go_peer.field(1, go_peer.field(1, event["id"]) + body)


class Principal(go_peer.Principal):
    def send(self, event):
        self.out.put(encode(dict(event, source="/principal")))

    def heard(self, message):
        event = go_peer.decode(message)
        go_peer.tell(event=event)
        if event["target"] != "heartbeat" and "acknowledges" not in event["ext"]:
            extensions = {name: text for name, text in event["ext"].items() if event["kinds"][name] == go_peer.STRING}
            self.send({"id": event["id"], "type": "processed", "target": "eventProcessed",
                       "ext": dict(extensions, acknowledges=event["id"])})

    def authenticate(self, request, context):
        context.send_initial_metadata(ARGOBUS)
        return super().authenticate(request, context)

    def subscribe(self, requests, context):
        context.send_initial_metadata(ARGOBUS)
        sending = self.sending()
        out = self.out
        context.add_callback(lambda: out.put(None))
        self.send({"id": "hello", "type": "ping", "target": "heartbeat", "ext": {"partitionkey": "ctl/hello"},
                   "data": json.dumps(HELLO)})
        threading.Thread(target=self.read, args=(requests, out), daemon=True).start()
        go_peer.tell(subscribed=True)
        if "away" in sys.argv:
            yield next(sending)
            context.abort(grpc.StatusCode.UNAVAILABLE, "no upstream")
        yield from sending


if __name__ == "__main__":
    if "full" in sys.argv:
        go_peer.OPTIONS.append(("grpc.max_concurrent_streams", 0))
    Principal(sys.argv[1], sys.argv[2], version=sys.argv[3]).obey()
    os._exit(0)
