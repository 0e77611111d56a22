# SPDX-License-Identifier: Apache-2.0
"""An agent that has logged in and does again and again what the principal logs: its log does not grow as often as that, while
metrics count all of it."""
import hashlib
import ssl
import unittest

from daemons import Fleet, wait_for
from hostile import AUTHENTICATE, CERTS, END_STREAM, SUBSCRIBE, Stranger, login, message

PUSH = "/eventstreamapi.EventStream/Push"
TIMES = 40  # more than may be logged, however slow the machine is


class LogLines(Fleet):
    transport = "grpc"

    def setUp(self):
        super().setUp()
        self.principal.start()

    def principal_config(self):
        self.revoked = self.folder / "revoked"
        self.revoked.touch()
        config = super().principal_config()
        config["grpc"]["auth"] = {"revoked": str(self.revoked)}
        return dict(config, agents=[{"name": "w1", "mode": "managed"}, {"name": "w2", "mode": "managed"}])

    def connect(self, name="w2"):
        agent = Stranger(self.grpc_port, name)
        self.addCleanup(agent.close)
        return agent

    @staticmethod
    def log_in(agent, stream, mode="managed"):
        agent.begin(stream, AUTHENTICATE)
        agent.say(stream, message(login("mtls", mode=mode)), END_STREAM)

    def connected(self, name="w2"):
        """A connection with an access token."""
        agent = self.connect(name)
        self.log_in(agent, 1)
        answer = agent.data(1)[5:]
        length = answer[1] & 127 | answer[2] << 7
        return agent, ("authorization", answer[3:3 + length].decode())

    def is_logged_less(self, line):
        count = self.principal.log.read_text().count(line)
        self.assertGreater(count, 0)
        self.assertLess(count, TIMES)

    def test_streams_of_one_agent_that_replace_each_other(self):
        agent, token = self.connected()
        for number in range(TIMES + 1):
            agent.begin(3 + 2 * number, SUBSCRIBE, token)
        wait_for("all but the last are cut", lambda: self.principal.metric("argobus_grpc_streams_cut_total") == TIMES)
        self.is_logged_less("stream cut agent=w2")

    def test_an_agent_that_is_another_process_each_time(self):
        """An argocd-agent is taken for one after a stream of argobus."""
        agent, token = self.connected()
        for number in range(TIMES):
            agent.begin(3 + 4 * number, SUBSCRIBE, token, ("argobus-version", "0.1"))
            agent.begin(5 + 4 * number, SUBSCRIBE, token)
            wait_for("it is the other", lambda: self.principal.metric("argobus_grpc_streams_cut_total") == 2 * number + 1)
        for line in ("replaying the agent's log agent=w2", "agent connected agent=w2", "stream opened agent=w2"):
            self.is_logged_less(line)

    def test_an_agent_that_is_not_served(self):
        """It is told of once, though it asks again and again."""
        agent, token = self.connected("w10")
        for number in range(TIMES):
            agent.begin(3 + 2 * number, SUBSCRIBE, token)
        agent.wait_for_end(1 + 2 * TIMES)
        line = "an agent that has logged in is not served: neither option agents nor a cluster Secret names it agent=w10"
        self.assertEqual(self.principal.log.read_text().count(line), 1)

    def test_calls_whose_certificate_is_revoked(self):
        agent, token = self.connected()
        agent.begin(3, SUBSCRIBE, token)
        for number in range(TIMES):
            agent.begin(5 + 2 * number, PUSH, token)
        der = ssl.PEM_cert_to_DER_cert((CERTS / "w2.crt").read_text())
        self.revoked.write_text(hashlib.sha256(der).hexdigest())
        ended = "stream ended: the agent's identity is no longer valid"
        wait_for("they are ended", lambda: ended in self.principal.log.read_text())
        wait_for("the agent is not let in", lambda: self.is_refused())
        self.is_logged_less(ended)

    def is_refused(self):
        self.log_in(self.connect(), 1)
        return self.principal.metric(r'argobus_auth_failures_total\{reason="revoked"\}') > 0

    def logins(self):
        return self.principal.metric(r'argobus_auth_total\{method="mtls",result="ok"\}')

    def test_a_mode_that_the_control_plane_does_not_say(self):
        agent = self.connect()
        for number in range(TIMES):
            self.log_in(agent, 1 + 2 * number, "autonomous")
            wait_for("it was looked at", lambda: self.logins() > number)
        self.is_logged_less("agent refused: it claims another mode")


if __name__ == "__main__":
    unittest.main()
