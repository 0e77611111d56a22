#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""argobusctl connect over gRPC: the login at a real principal, each way in which it is refused, and that it takes nothing from
the agent of that name that runs."""
import json
import os
import pathlib
import socket
import subprocess
import threading
import unittest

import yaml

from daemons import Fleet, application, wait_for

CUT = "argobus_grpc_streams_cut_total"
REFUSED = r'argobus_agent_refused\{agent="w1"\}'


class Connect(Fleet):
    def principal_config(self):
        """Passwords are accepted, too; and a list of revoked certificates, without any yet."""
        hashed = subprocess.run(["htpasswd", "-nbBC", "4", "w1", "right"], check=True, capture_output=True, text=True).stdout
        (self.folder / "users").write_text(hashed.strip() + "\n")
        (self.folder / "revoked").write_text("# none\n")
        config = super().principal_config()
        config["grpc"]["auth"] = {"accept": ["mtls", "userpass"], "userpass": {"file": str(self.folder / "users")},
                                  "revoked": str(self.folder / "revoked")}
        return config

    def connect(self, grpc=None, code=0, **agent):
        """(texts, remedies) of what it finds."""
        config = self.agent_config()
        config["agent"].update(agent)
        config["grpc"].update(grpc or {})
        (self.folder / "connect.yaml").write_text(yaml.safe_dump(config))
        command = [pathlib.Path(os.environ["AB_BIN"], "argobusctl"), "connect", "agent", "-c", self.folder / "connect.yaml", "-o",
                   "json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        found = json.loads(done.stdout)
        bad = [f for f in found if f["severity"] != "ok"]
        self.assertEqual(len(bad), code, found)
        return bad[0] if bad else found[-1]["what"]

    def log(self):
        return self.principal.log.read_text()

    def test_it_logs_in_beside_the_agent_which_notices_nothing(self):
        self.start()
        for _ in range(3):
            self.assertIn("logged in as w1, mode managed; the principal is argocd-agent-", self.connect())
        refused = self.connect(code=1, mode="autonomous")
        self.assertIn("claims mode autonomous", refused["what"])
        self.assertEqual(self.principal.metric(REFUSED), 1)
        self.connect()
        self.assertFalse(self.principal.metric(REFUSED))
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.arrives("guestbook", "1")
        self.assertEqual(self.log().count("stream opened"), 1)
        self.assertNotIn("stream ended", self.log())
        self.assertFalse(self.principal.metric(CUT))
        self.assertEqual(self.principal.metric(r'argobus_peer_up\{agent="w1"\}'), 1)
        self.assertNotIn("the stream has ended", self.agent.log.read_text())

    def test_an_agent_that_is_not_served(self):
        self.principal.configure(dict(self.principal_config(), agents=[{"name": "w2"}]))
        self.principal.start()
        refused = self.connect(code=1)
        self.assertEqual(refused["what"], "login: it is accepted, but the agent is not served")
        self.assertIn("cluster Secret", refused["remedy"])

    def test_another_mode_than_the_control_planes(self):
        self.principal.start()
        refused = self.connect(code=1, mode="autonomous")
        self.assertIn("login: agent w1 claims mode autonomous, but the control plane says managed: set agent.mode", refused["what"])

    def test_a_revoked_certificate(self):
        certificate = self.grpc("w1")["tls"]["cert"]
        shown = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-fingerprint", "-sha256"], check=True,
                               capture_output=True, text=True).stdout
        config = self.principal_config()
        (self.folder / "revoked").write_text(shown)
        self.principal.configure(config)
        self.principal.start()
        refused = self.connect(code=1)
        self.assertEqual(refused["what"], "login: authentication failed")
        self.assertIn("the principal's log has the reason", refused["remedy"])
        self.assertIn("its certificate is revoked", self.log())

    def test_passwords(self):
        self.principal.start()
        login = self.folder / "login"
        grpc = {"auth": {"method": "userpass", "userpass": {"file": str(login)}}}
        login.write_text("w1:right\n")
        self.assertIn("logged in as w1", self.connect(grpc))
        login.write_text("w1:guessed\n")
        self.assertEqual(self.connect(grpc, code=1)["what"], "login: authentication failed")
        self.assertIn("wrong password", self.log())
        self.assertNotIn("guessed", self.log())

    def test_by_websockets(self):
        config = self.principal_config()
        self.principal.configure(dict(config, grpc={**config["grpc"], "websocket": True}))
        self.principal.start()
        self.assertIn("logged in as w1", self.connect({"websocket": True}))

    def test_a_peer_that_is_no_principal(self):
        with socket.create_server(("127.0.0.1", self.grpc_port)) as server:
            def close_all():
                while True:
                    try:
                        server.accept()[0].close()
                    except OSError:
                        return
            thread = threading.Thread(target=close_all)
            thread.start()
            grpc = {"insecure": True, "tls": {}}
            refused = self.connect(grpc, code=1)
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
        self.assertIn("connection: ", refused["what"])


if __name__ == "__main__":
    unittest.main()
