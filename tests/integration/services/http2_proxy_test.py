#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A proxy that terminates TLS and speaks HTTP/2, nginx, between an agent and its principal: docs/operate/grpc.md says how
it is set up. It answers the pings of both, so only what is said on the stream shows that the other one is there."""
import time
import unittest

from cable import Cable
from daemons import Fleet, application, wait_for
from nginx import Nginx
from ports import free_port

ENDED = ("the stream has ended", "stream cut")
IDLE_S = 4
MIB = 1 << 20

SERVER = """
        listen 127.0.0.1:{port} ssl http2;
        ssl_protocols TLSv1.3;
        ssl_certificate {tls[cert]};
        ssl_certificate_key {tls[key]};
        ssl_client_certificate {tls[ca]};
        ssl_verify_client on;
        location / {{
            grpc_pass grpc://127.0.0.1:{principal};
            grpc_set_header X-Client-Subject $ssl_client_s_dn;
            client_max_body_size 0;
            client_body_timeout {idle_s}s;
            grpc_read_timeout {idle_s}s;
            grpc_send_timeout {idle_s}s;
        }}
"""


class Proxied(Fleet):
    transport = "grpc"
    keepalive = {"keepalive": "2s", "keepalive-timeout": "2s"}
    idle_s = IDLE_S

    def setUp(self):
        self.proxy_port = free_port()
        super().setUp()
        self.cable = Cable(self.grpc_port)
        self.addCleanup(self.cable.close)
        proxy = Nginx(self.folder / "nginx", SERVER.format(port=self.proxy_port, principal=self.cable.port,
                                                           idle_s=self.idle_s, tls=super().grpc("server")["tls"]))
        self.addCleanup(proxy.stop)
        proxy.start()
        self.begin()

    def begin(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")

    def grpc(self, name):
        config = {**super().grpc(name), **self.keepalive}
        if name == "server":
            header = {"name": "x-client-subject", "identity": "^CN=([^,]+)"}
            return {**config, "insecure": True, "tls": {}, "auth": {"accept": ["header"], "header": header}}
        return {**config, "address": f"localhost:{self.proxy_port}", "auth": {"method": "header"}}

    def has_ended(self):
        return any(line in self.agent.log.read_text() for line in ENDED)


class Idle(Proxied):
    def test_an_idle_agent_stays_connected(self):
        end = time.monotonic() + 2 * IDLE_S
        wait_for("it has idled for longer than the proxy bears", lambda: self.has_ended() or time.monotonic() > end)
        self.assertFalse(self.has_ended())

    def test_an_agent_may_say_more_than_a_proxy_takes_of_a_request_by_default(self):
        status = {"summary": {"images": ["x" * 100000] * 5}}
        for n in range(2 * MIB // 500000):
            self.spoke.set_status("argocd", "guestbook", {**status, "sync": {"revision": str(n)}})
            wait_for("its status is at the principal", lambda v=str(n): (
                self.hub.status("w1", "guestbook") or {}).get("sync") == {"revision": v})
        self.assertFalse(self.has_ended())


class Lost(Proxied):
    """The proxy waits for hours."""
    idle_s = 3600

    def test_a_proxy_that_has_lost_the_principal_is_left(self):
        self.cable.mute()
        wait_for("the agent knows", lambda: not self.agent.is_ready())
        wait_for("it says why", lambda: "a proxy has lost its connection" in self.agent.log.read_text())
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="2"))
        self.cable.cut()
        self.cable.mend()
        self.arrives("guestbook", "2")
        wait_for("the agent is back", self.agent.is_ready)


class Down(Proxied):
    def begin(self):
        self.agent.start(ready=False)

    def test_an_agent_says_what_the_proxy_answers(self):
        told = "Authenticate: UNAVAILABLE: the response is not gRPC: HTTP 502"
        wait_for("it says so", lambda: told in self.agent.why_unready())


if __name__ == "__main__":
    unittest.main(verbosity=2)
