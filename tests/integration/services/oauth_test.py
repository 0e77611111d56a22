#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Principal and agent log in to the broker by bearer tokens, of an authorization server or of a file."""
import os
import pathlib
import unittest

from authority import Authority, encoded, token
from daemons import Fleet, application, broker_ports, wait_for

CLIENT, SECRET = "admin", "s3cr:t/ä"


class Oauth(Fleet):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.folder, {CLIENT: SECRET})
        self.addCleanup(lambda: self.authority.close())
        self.secret = self.folder / "secret"
        self.secret.write_text(SECRET + "\n")
        self.log_in({"endpoint": self.authority.endpoint, "client-id": CLIENT, "client-secret-file": str(self.secret),
                     "ca": str(self.authority.ca), "scope": "kafka write"})
        self.hub.write("w1", "guestbook", application("guestbook"))

    def log_in(self, oauth):
        kafka = {"brokers": [f"127.0.0.1:{broker_ports()['sasl']}"], "prefix": self.prefix,
                 "tls": {"ca": str(pathlib.Path(os.environ["KAFKA_DEV_HOME"], "tls/ca.crt"))},
                 "sasl": {"mechanism": "OAUTHBEARER", "oauth": oauth}}
        makes = {"topics": "create", "replication-factor": 1, "min-insync-replicas": 1}
        # Secrets are not what this is about, and need certificates.
        for daemon, config, more in ((self.principal, self.principal_config(), makes), (self.agent, self.agent_config(), {})):
            daemon.configure({**config, "kafka": {**kafka, **more}})

    def says_nothing_secret(self):
        for daemon in (self.principal, self.agent):
            log = daemon.log.read_text()
            self.assertNotIn("s3cr", log)
            self.assertNotIn(encoded({"alg": "none"}), log)

    def test_tokens_are_fetched_and_fetched_again_before_they_end(self):
        self.start()
        self.arrives("guestbook", "1")
        self.assertEqual(self.authority.asked[0], {"grant_type": ["client_credentials"], "scope": ["kafka write"]})
        first = self.authority.given
        wait_for("each has a second one", lambda: self.authority.given >= 2 * first)
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="2"))
        self.arrives("guestbook", "2")
        self.says_nothing_secret()

    def test_a_wrong_secret_is_named_and_a_right_one_is_read_without_a_restart(self):
        self.secret.write_text("wrong")
        self.principal.start(ready=False)
        self.agent.start(ready=False)
        for daemon in (self.principal, self.agent):
            wait_for("it is told", lambda daemon=daemon: "invalid_client: no such client or secret" in daemon.log.read_text())
            self.assertIn(self.authority.endpoint, daemon.log.read_text())
            self.assertFalse(daemon.is_ready())
        self.secret.write_text(SECRET)
        self.arrives("guestbook", "1")
        self.says_nothing_secret()

    def test_a_token_may_stand_in_a_file(self):
        file = self.folder / "token"
        file.write_text(token(3600, CLIENT) + "\n")
        self.log_in({"token-file": str(file)})
        self.start()
        self.arrives("guestbook", "1")
        self.assertEqual(self.authority.given, 0)
        self.says_nothing_secret()


if __name__ == "__main__":
    unittest.main()
