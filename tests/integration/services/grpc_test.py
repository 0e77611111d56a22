#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What only gRPC has: logins that end while a stream is open, and two agents of one name."""
import pathlib
import socket
import ssl
import subprocess
import unittest

from daemons import Daemon, Fleet, Tree, application, wait_for

UP = r'argobus_peer_up\{agent="w1"\}'


def openssl(*args):
    return subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True, text=True).stdout


def replace(path, text):
    """At once, as a mounted Secret changes."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


class Revoked(Fleet):
    second_mode = "managed"

    def principal_config(self):
        self.list = self.folder / "revoked"
        self.list.write_text("# none\n")
        config = super().principal_config()
        config["grpc"]["auth"] = {"revoked": str(self.list)}
        data = self.folder / "principal" / "data"
        data.mkdir(parents=True, exist_ok=True)
        return dict(config, agents=[{"name": "w1"}, {"name": "w2", "mode": self.second_mode}],
                    principal={"data": str(data)})

    def revoke(self, *names):
        """Only the certificates of these agents are on the list."""
        certificates = [self.grpc(name)["tls"]["cert"] for name in names]
        prints = [openssl("x509", "-in", cert, "-noout", "-fingerprint", "-sha256") for cert in certificates]
        replace(self.list, "# none\n" + "".join(prints))

    def revoked_logins(self):
        return self.principal.metric(r'argobus_auth_failures_total\{reason="revoked"\}')

    def second_agent(self):
        config = {**self.agent_config(), **self.carried("w2")}
        folder = self.folder / "agent2"
        (folder / "data").mkdir(parents=True)
        config["agent"] = {"name": "w2", "mode": self.second_mode, "data": str(folder / "data")}
        self.second_spoke = Tree(self.folder / "w2")
        config["store"]["directory"]["path"] = str(self.second_spoke.folder)
        second = Daemon("argobus-agent", folder, config)
        self.addCleanup(second.kill)
        return second.start()

    def test_an_entry_added_to_the_list_disconnects_its_agent_and_nobody_else(self):
        self.start()
        second = self.second_agent()
        self.revoke("w1")
        wait_for("its stream is ended", lambda: "the stream has ended: UNAUTHENTICATED" in self.agent.log.read_text())
        wait_for("the principal knows", lambda: self.principal.metric(UP) == 0)
        wait_for("it is not let in again", lambda: self.revoked_logins() > 0)
        wait_for("it knows", lambda: not self.agent.is_ready())
        self.assertNotIn("the stream has ended", second.log.read_text())
        self.revoke()
        wait_for("it is back", self.agent.is_ready)

    def test_a_revoked_agent_stays_out_when_the_principal_restarts(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        self.revoke("w1")
        wait_for("the principal knows", lambda: self.principal.metric(UP) == 0)
        self.principal.stop()
        self.hub.write("w1", "guestbook", application("guestbook", "2"))
        self.principal.start()
        wait_for("it is refused again", lambda: self.revoked_logins() > 0)
        self.assertFalse(self.agent.is_ready())
        self.assertEqual(self.spoke.read("argocd", "guestbook")["spec"]["source"]["targetRevision"], "1")
        self.revoke()
        self.arrives("guestbook", "2")


class RevokedAutonomous(Revoked):
    """The same beside an autonomous agent, whose own certificate is revoked here."""

    second_mode = "autonomous"

    def mirror(self, name):
        return self.hub.read("w2", name)

    def test_a_revoked_autonomous_agent_publishes_nothing_until_it_is_let_in_again(self):
        self.start()
        second = self.second_agent()
        self.second_spoke.write("argocd", "first", application("first", namespace="argocd"))
        wait_for("it is mirrored", lambda: self.mirror("first"))
        self.revoke("w2")
        wait_for("it is not let in again", lambda: self.revoked_logins() > 0)
        self.second_spoke.write("argocd", "second", application("second", namespace="argocd"))
        self.second_spoke.remove("argocd", "first")
        refused = self.revoked_logins()
        wait_for("it is refused once more", lambda: self.revoked_logins() > refused)
        self.assertFalse(second.is_ready())
        self.assertIsNone(self.mirror("second"))
        self.assertIsNotNone(self.mirror("first"))
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.arrives("guestbook", "1")
        self.revoke()
        wait_for("what was made meanwhile is mirrored", lambda: self.mirror("second"))
        wait_for("what was deleted meanwhile is gone", lambda: self.mirror("first") is None)


class Websockets(Fleet):
    """An agent by WebSockets beside one by HTTP/2, at one port."""

    def grpc(self, name):
        return dict(super().grpc(name), websocket=name != "w2")

    def principal_config(self):
        return dict(super().principal_config(), agents=[{"name": "w1"}, {"name": "w2"}])

    def test_events_go_both_ways_and_connections_come_back(self):
        self.start()
        folder = self.folder / "agent2"
        (folder / "data").mkdir(parents=True)
        config = {**self.agent_config(), **self.carried("w2")}
        config["agent"] = {**config["agent"], "name": "w2", "data": str(folder / "data")}
        config["store"]["directory"]["path"] = str(Tree(self.folder / "w2").folder)
        second = Daemon("argobus-agent", folder, config)
        self.addCleanup(second.kill)
        second.start()
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.arrives("guestbook", "1")
        self.spoke.set_status("argocd", "guestbook", {"health": {"status": "Healthy"}})
        wait_for("its status is at the principal",
                 lambda: (self.hub.status("w1", "guestbook") or {}).get("health") == {"status": "Healthy"})
        self.principal.stop()
        wait_for("the agent knows", lambda: not self.agent.is_ready())
        self.hub.write("w1", "guestbook", application("guestbook", "2"))
        self.principal.start()
        self.arrives("guestbook", "2")
        wait_for("both are back", lambda: self.agent.is_ready() and second.is_ready())
        second.stop()
        self.agent.stop()

    def test_an_agent_alone_is_told_what_is_missing(self):
        self.principal.configure(dict(self.principal_config(), **{"grpc": super().grpc("server")}))
        self.principal.start()
        self.agent.start(ready=False)
        wait_for("it says why", lambda: "no application protocol" in self.agent.log.read_text())
        self.assertFalse(self.agent.is_ready())


class OneName(Fleet):
    def test_of_two_agents_of_one_name_the_newer_counts_and_the_older_is_told(self):
        self.start()
        folder = self.folder / "rival"
        (folder / "data").mkdir(parents=True)
        config = self.agent_config()
        config["agent"]["data"] = str(folder / "data")
        config["store"]["directory"]["path"] = str(Tree(self.folder / "rival-store").folder)
        rival = Daemon("argobus-agent", folder, config)
        self.addCleanup(rival.kill)
        rival.start(ready=False)
        told = "the stream has ended: ABORTED: the agent connected again, or another one with its name did"
        wait_for("the older is told", lambda: told in self.agent.log.read_text())
        wait_for("it is counted", lambda: self.principal.metric("argobus_grpc_streams_cut_total") >= 1)
        wait_for("the principal says so", lambda: "or another one with its name did" in
                 self.principal.log.read_text())
        wait_for("it comes back, and is the newer one", lambda: told in rival.log.read_text())
        rival.stop()
        wait_for("it is alone again", self.agent.is_ready)
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.arrives("guestbook", "1")


class NameOfAnother(Fleet):
    def agent_config(self):
        config = super().agent_config()
        config["agent"]["name"] = "w2"
        return config

    def test_an_agent_with_the_certificate_of_another_one_is_told(self):
        self.principal.start()
        self.agent.start(ready=False)
        told = "the login is that of agent w1, and the process calls itself /agent/w2: correct agent.name"
        wait_for("the agent is told", lambda: told in self.agent.why_unready())
        wait_for("the principal says so", lambda: told in self.principal.log.read_text())


class TokenKey(Fleet):
    def make_key(self):
        replace(self.key, openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"))

    def principal_config(self):
        self.key = self.folder / "tokens.key"
        self.make_key()
        config = super().principal_config()
        config["grpc"]["auth"] = {"token": {"key": str(self.key)}}
        return config

    def read_again(self):
        return self.principal.log.read_text().count("token key reloaded")

    def test_another_key_counts_at_once_and_ends_no_stream(self):
        self.start()
        self.make_key()
        wait_for("it is read", lambda: self.read_again() >= 1)
        replace(self.key, "no key\n")
        wait_for("what is none is left", lambda: "cannot load the new token key; still using the previous one" in self.principal.log.read_text())
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.arrives("guestbook", "1")
        self.assertNotIn("the stream has ended", self.agent.log.read_text())
        self.agent.stop()
        self.agent.start()
        self.hub.write("w1", "second", application("second"))
        self.arrives("second", "1")


class Strength(Fleet):
    """What version of TLS and what ciphers a principal agrees to."""

    def serve(self, **tls):
        config = self.principal_config()
        config["grpc"]["tls"].update(tls)
        self.principal.configure(config)
        self.principal.start()

    def agreed(self, version, ciphers="ALL"):
        """The cipher and the version; None when the principal does not agree."""
        tls = self.grpc("w1")["tls"]
        client = ssl.create_default_context(cafile=tls["ca"])
        client.load_cert_chain(tls["cert"], tls["key"])
        client.minimum_version = client.maximum_version = version
        client.set_ciphers(ciphers)
        client.set_alpn_protocols(["h2"])
        with socket.create_connection(("127.0.0.1", self.grpc_port), 120) as plain:
            try:
                with client.wrap_socket(plain, server_hostname="localhost") as connection:
                    return connection.cipher()[0], connection.version()
            except OSError:
                return None

    def test_only_1_3_unless_1_2_is_asked_for(self):
        self.serve()
        self.assertEqual(self.agreed(ssl.TLSVersion.TLSv1_3)[1], "TLSv1.3")
        self.assertIsNone(self.agreed(ssl.TLSVersion.TLSv1_2))

    def test_a_cipher_of_1_3(self):
        self.serve(ciphers="TLS_AES_128_GCM_SHA256")
        self.assertEqual(self.agreed(ssl.TLSVersion.TLSv1_3), ("TLS_AES_128_GCM_SHA256", "TLSv1.3"))

    def test_a_cipher_of_1_2(self):
        good, other = "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"
        self.serve(ciphers=good, **{"min-version": "1.2"})
        self.assertEqual(self.agreed(ssl.TLSVersion.TLSv1_2), (good, "TLSv1.2"))
        self.assertIsNone(self.agreed(ssl.TLSVersion.TLSv1_2, other))
        self.assertEqual(self.agreed(ssl.TLSVersion.TLSv1_3)[1], "TLSv1.3")


class CheckConfig(Fleet):
    """Files of grpc.auth and grpc.tls that are no good are named before anything runs."""

    def refused(self, daemon, config, *words):
        daemon.configure(config)
        done = subprocess.run([daemon.program, "-c", daemon.config, "--check-config"], capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, 2, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def principal_with(self, **auth):
        config = self.principal_config()
        config["grpc"]["auth"] = auth
        return config

    def file(self, text):
        path = self.folder / "file"
        path.write_text(text)
        return str(path)

    def test_what_is_good_is_good(self):
        for daemon in (self.principal, self.agent):
            subprocess.run([daemon.program, "-c", daemon.config, "--check-config"], check=True)

    def test_no_tls_must_be_asked_for_by_name(self):
        config = self.principal_config()
        del config["grpc"]["tls"]
        self.refused(self.principal, config, "grpc.tls.cert", "grpc.tls.key", "grpc.insecure: true")

    def test_ciphers(self):
        for ciphers, word in (("TLS_NONE", "no cipher match"), ("ECDHE-ECDSA-AES256-GCM-SHA384", "begin with TLS_")):
            config = self.principal_config()
            config["grpc"]["tls"]["ciphers"] = ciphers
            self.refused(self.principal, config, ciphers, word)

    def test_a_list_of_revoked_certificates(self):
        self.refused(self.principal, self.principal_with(revoked=self.file("# good\nAB:CD\n")),
                     "grpc.auth.revoked", "file", "line 2", "64 hex digits")

    def test_a_key_of_tokens(self):
        self.refused(self.principal, self.principal_with(token={"key": self.file("none")}), "grpc.auth.token.key",
                     "file", "not a PEM private key")

    def test_users(self):
        self.refused(self.principal, self.principal_with(accept=["userpass"], userpass={"file": self.file("w1:word\n")}),
                     "grpc.auth.userpass.file", "file", "line 1")

    def test_an_expression(self):
        self.refused(self.principal, self.principal_with(mtls={"identity": "subject:CN=(["}), "grpc.auth.mtls.identity")

    def test_a_login(self):
        config = self.agent_config()
        config["grpc"]["auth"] = {"method": "userpass", "userpass": {"file": self.file("")}}
        self.refused(self.agent, config, "grpc.auth.userpass.file", "file")

    def test_a_certificate(self):
        config = self.agent_config()
        config["grpc"]["tls"]["cert"] = self.file("none")
        self.refused(self.agent, config, "certificate", "file")

    def test_a_key_of_another_certificate(self):
        config = self.agent_config()
        config["grpc"]["tls"]["key"] = self.grpc("w2")["tls"]["key"]
        self.refused(self.agent, config, "w2.key does not belong to the certificate in ", "w1.crt",
                     "renew the certificate (again, if a renewal was killed)")


class RefusedByTls(Fleet):
    """Both logs lead whoever looks to the certificate that is wrong."""

    def has_logged(self, daemon, text):
        wait_for(text, lambda: text in daemon.log.read_text())

    def test_an_agent_whose_certificate_has_expired(self):
        certs, folder = pathlib.Path(self.grpc("w1")["tls"]["ca"]).parent, self.folder / "agent"
        openssl("req", "-new", "-key", certs / "w1.key", "-subj", "/O=edge/CN=w1", "-out", folder / "old.csr")
        openssl("x509", "-req", "-in", folder / "old.csr", "-CA", certs / "ca.crt", "-CAkey", certs / "ca.key",
                "-set_serial", "7", "-days", "-1", "-out", folder / "old.crt")
        config = self.agent_config()
        config["grpc"]["tls"]["cert"] = str(folder / "old.crt")
        self.agent.configure(config)
        self.principal.start()
        self.agent.start(ready=False)
        self.has_logged(self.principal, "the certificate of CN=w1,O=edge is refused: certificate has expired")
        self.has_logged(self.agent, "the other side refuses our certificate: sslv3 alert certificate expired")

    def test_a_principal_of_another_authority(self):
        config = self.agent_config()
        config["grpc"]["tls"]["ca"] = str(pathlib.Path(config["grpc"]["tls"]["ca"]).with_name("foreign.crt"))
        self.agent.configure(config)
        self.principal.start()
        self.agent.start(ready=False)
        self.has_logged(self.agent, "the certificate of CN=")
        self.has_logged(self.agent, "is refused: unable to get local issuer certificate")
        self.has_logged(self.principal, "the other side refuses our certificate: tlsv1 alert unknown ca")


if __name__ == "__main__":
    unittest.main(verbosity=2)
