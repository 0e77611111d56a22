# SPDX-License-Identifier: Apache-2.0
"""An agent whose principal restarts comes back at once, however often; one whose login fails, or whose streams end at once,
backs off; and what /healthz says meanwhile."""
import os
import pathlib
import subprocess
import time
import unittest
import urllib.error
import urllib.request

from daemons import Fleet, wait_for

RESTARTS = 6
WITHIN_S = 3
UP = r'argobus_peer_up\{agent="w1"\}'


class Restarts(Fleet):
    transport = "grpc"

    def is_up(self):
        return self.principal.metric(UP) == 1

    def restart(self):
        self.principal.stop()
        self.principal.start()
        began = time.monotonic()
        wait_for("the agent is back", self.is_up, WITHIN_S)
        return time.monotonic() - began

    def test_the_agent_is_back_at_once_after_every_restart_in_order(self):
        self.start()
        wait_for("the agent is there", self.is_up)
        print("back after, s:", *(f"{self.restart():.2f}" for _ in range(RESTARTS)))

    def test_the_agent_is_back_at_once_after_the_principal_was_killed(self):
        self.start()
        for _ in range(RESTARTS // 2):
            wait_for("the agent is there", self.is_up)
            self.principal.kill()
            self.principal.start()
            wait_for("the agent is back", self.is_up, WITHIN_S)


class Refused(Fleet):
    """An agent that the principal does not let in."""
    transport = "grpc"

    def agent_config(self):
        config = super().agent_config()
        config["grpc"]["auth"] = {"method": "header"}
        return config

    def test_an_agent_whose_login_is_refused_asks_ever_more_slowly(self):
        self.principal.start()
        self.agent.start(ready=False)
        asked = self.agent.log.read_text
        wait_for("it has asked some times", lambda: asked().count("Authenticate: UNAUTHENTICATED") >= 4)
        began = time.monotonic()
        wait_for("it asks again", lambda: asked().count("Authenticate: UNAUTHENTICATED") >= 5)
        self.assertGreater(time.monotonic() - began, 1)


class Played(Fleet):
    """A principal that does one thing to whoever calls."""
    transport = "grpc"

    def play_principal(self, what):
        here = pathlib.Path(__file__).parent
        version = subprocess.run([self.agent.program, "--version"], check=True, capture_output=True, text=True).stdout
        played = subprocess.Popen(
            [here.parent.parent / "support/grpc/python", here / "argobus_principal.py", os.environ["AB_GRPC_CERTS"],
             str(self.grpc_port), version.split()[-1], what], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.addCleanup(played.wait, 120)
        self.addCleanup(played.stdin.close)

    def ended(self):
        return self.agent.log.read_text().count("the stream has ended: UNAVAILABLE: no upstream")

    def test_an_agent_whose_streams_end_at_once_asks_ever_more_slowly(self):
        self.play_principal("away")
        self.agent.start(ready=False)
        wait_for("it has asked some times", lambda: self.ended() >= 14)
        began, before = time.monotonic(), self.ended()
        wait_for("it asks again", lambda: self.ended() > before)
        self.assertGreater(time.monotonic() - began, 1)

    def test_an_agent_says_that_it_is_allowed_no_call(self):
        self.play_principal("full")
        self.agent.start(ready=False)
        why = "allows no more calls on the connection (MAX_CONCURRENT_STREAMS)"
        wait_for("it says so", lambda: why in self.agent.log.read_text())


class Health(Fleet):
    transport = "grpc"
    option = True

    def agent_config(self):
        return dict(super().agent_config(), health={"disconnected-is-unhealthy": self.option})

    def healthz(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.agent.port}/healthz", timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def test_healthz_says_when_the_agent_is_disconnected(self):
        self.agent.start(ready=False)
        code, why = self.healthz()
        self.assertEqual(code, 503)
        self.assertIn("no stream to the principal", why)
        self.principal.start()
        wait_for("it is connected", lambda: self.healthz()[0] == 200)
        self.principal.stop()
        wait_for("it is disconnected", lambda: self.healthz()[0] == 503)


class HealthByDefault(Health):
    option = False

    def test_healthz_says_when_the_agent_is_disconnected(self):
        self.agent.start(ready=False)
        self.assertEqual(self.healthz(), (200, "ok\n"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
