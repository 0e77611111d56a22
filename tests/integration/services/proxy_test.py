#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A proxy that speaks only HTTP/1.1, nginx, between an agent and its principal: docs/operate/grpc.md says how both are
set up for it."""
import subprocess
import time
import unittest

from daemons import Fleet, application, wait_for
from nginx import Nginx
from ports import free_port

ENDED = "the stream has ended"
HEALTHY = {"health": {"status": "Healthy"}}

SERVER = """
        listen 127.0.0.1:{port} ssl;
        ssl_protocols TLSv1.3;
        ssl_certificate {tls[cert]};
        ssl_certificate_key {tls[key]};
        location / {{
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection upgrade;
            proxy_read_timeout {idle_s}s;
            {location}
        }}
        {server}
"""


class Proxied(Fleet):
    transport = "grpc"
    idle_s = 600
    keepalive = "60s"

    def setUp(self):
        self.proxy_port = free_port()
        super().setUp()
        tls = super().grpc("server")["tls"]
        self.proxy = Nginx(self.folder / "nginx", SERVER.format(port=self.proxy_port, tls=tls, idle_s=self.idle_s,
                                                                **self.nginx(tls)))
        self.addCleanup(self.proxy.stop)
        self.proxy.start()

    def grpc(self, name):
        config = {**super().grpc(name), "websocket": True, "keepalive": self.keepalive}
        if name == "server":
            return {**config, **self.at_principal(config["tls"])}
        return {**config, "address": f"localhost:{self.proxy_port}", "auth": self.at_agent()}


class ByHeader(Proxied):
    """It stands beside the principal, and says in a header whose certificate it has seen."""

    def nginx(self, tls):
        return {"server": f"ssl_client_certificate {tls['ca']}; ssl_verify_client on;",
                "location": f"proxy_pass http://127.0.0.1:{self.grpc_port};"
                            "proxy_set_header X-Client-Subject $ssl_client_s_dn;"}

    def at_principal(self, _tls):
        header = {"name": "x-client-subject", "identity": "^CN=([^,]+)"}
        return {"insecure": True, "tls": {}, "auth": {"accept": ["header"], "header": header}}

    def at_agent(self):
        return {"method": "header"}


class ByPassword(Proxied):
    """It stands anywhere, and speaks TLS with the principal, too."""

    def nginx(self, tls):
        return {"server": "",
                "location": f"proxy_pass https://localhost:{self.grpc_port}; proxy_ssl_protocols TLSv1.3;"
                            f"proxy_ssl_verify on; proxy_ssl_trusted_certificate {tls['ca']};"}

    def at_principal(self, tls):
        users = self.folder / "users"
        hashed = subprocess.run(["htpasswd", "-nbBC", "4", "w1", "word"], check=True, capture_output=True, text=True)
        users.write_text(hashed.stdout)
        return {"tls": {"cert": tls["cert"], "key": tls["key"]},
                "auth": {"accept": ["userpass"], "userpass": {"file": str(users)}}}

    def at_agent(self):
        login = self.folder / "login"
        login.write_text("w1:word\n")
        login.chmod(0o600)
        return {"method": "userpass", "userpass": {"file": str(login)}}


class Scenario:
    """What goes on between a principal and its agent."""

    def reports(self, status):
        self.spoke.set_status("argocd", "guestbook", status)
        wait_for("its status is at the principal", lambda: self.hub.status("w1", "guestbook") == status)

    def change(self, value):
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision=value))

    def test_events_go_both_ways_and_what_is_asked_for_is_done_once(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        self.reports(HEALTHY)
        self.change("2")
        self.arrives("guestbook", "2")
        self.hub.edit("w1", "guestbook", lambda a: a.update(operation={"sync": {"revision": "abc"}}))
        wait_for("the operation arrives", lambda: self.spoke.read("argocd", "guestbook").get("operation"))
        running = {"operationState": {"phase": "Running", "startedAt": "2026-01-02T03:04:05Z"}}
        self.spoke.edit("argocd", "guestbook", lambda a: (a.pop("operation"), a.update(status=running)))
        wait_for("it is taken off the hub", lambda: "operation" not in self.hub.read("w1", "guestbook"))
        self.change("3")
        self.arrives("guestbook", "3")
        self.assertNotIn("operation", self.spoke.read("argocd", "guestbook"))
        self.hub.remove("w1", "guestbook")
        wait_for("it is deleted", lambda: self.spoke.read("argocd", "guestbook") is None)
        self.assertNotIn(ENDED, self.agent.log.read_text())

    def test_a_proxy_that_restarts_loses_nothing(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        self.proxy.stop()
        wait_for("the agent knows", lambda: not self.agent.is_ready())
        self.change("2")
        self.spoke.set_status("argocd", "guestbook", HEALTHY)
        self.proxy.start()
        self.arrives("guestbook", "2")
        wait_for("its status is at the principal", lambda: self.hub.status("w1", "guestbook") == HEALTHY)
        wait_for("the agent is back", self.agent.is_ready)


class WithHeader(Scenario, ByHeader):
    pass


class WithPassword(Scenario, ByPassword):
    pass


class Idle(ByHeader):
    """Pinged more often than the proxy lets a connection idle: it stays."""

    idle_s = 10
    keepalive = "1s"

    def test_an_idle_agent_stays_connected(self):
        self.start()
        end = time.monotonic() + self.idle_s + 3
        wait_for("it has idled for longer", lambda: time.monotonic() > end)
        self.assertNotIn(ENDED, self.agent.log.read_text())
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.arrives("guestbook", "1")
        self.assertNotIn(ENDED, self.agent.log.read_text())


class CutOff(ByHeader):
    """Pinged too seldom: cut off again and again, and back each time."""

    idle_s = 1

    def test_an_agent_that_is_cut_off_comes_back_and_loses_nothing(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        for n in (1, 2):
            wait_for("it is cut off", lambda times=n: self.agent.log.read_text().count(ENDED) >= times)
            self.hub.edit("w1", "guestbook", lambda a, v=f"after {n}": a["spec"]["source"].update(targetRevision=v))
            self.arrives("guestbook", f"after {n}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
