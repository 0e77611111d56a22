#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What argobusctl pki makes, in openssl's eyes; and what it says to bad input."""
import base64
import json
import os
import re
import shutil
import subprocess
import threading
import unittest

import yaml

from ctl import BIN, Ctl


def normal(text):
    text = re.sub(r"\b[0-9A-F]{64}\b", "FINGERPRINT", text)
    text = re.sub(r"\b20\d\d-\d\d-\d\dT[0-9:]+Z", "TIME", text)
    text = re.sub(r"^(serial\s+)[0-9A-F]+$", r"\1SERIAL", text, flags=re.MULTILINE)
    return re.sub(r"^(daysLeft\s+)36[45]$", r"\1DAYS", text, flags=re.MULTILINE).splitlines()


class Pki(Ctl):
    def setUp(self):
        super().setUp()
        self.ctl("pki", "init")

    def verify(self, file, purpose, *more):
        return self.openssl("verify", "-x509_strict", "-CAfile", "ca/ca.crt", "-purpose", purpose, *more, file)

    def show(self, file):
        return self.openssl("x509", "-in", file, "-noout", "-text")

    def inspect(self, file, *more, code=0):
        done = self.run_command("argobusctl", "pki", "inspect", file, "-o", "json", *more)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def assert_pair(self, name):
        of_cert = self.openssl("x509", "-in", f"{name}.crt", "-noout", "-pubkey")
        self.assertEqual(of_cert, self.openssl("pkey", "-in", f"{name}.key", "-pubout"))

    def make_expired(self, name):
        """A certificate that signs itself, and has expired yesterday."""
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-subj", "/CN=old",
                     "-keyout", f"{name}.key", "-out", "old.csr")
        self.openssl("x509", "-req", "-in", "old.csr", "-signkey", f"{name}.key", "-days", "-1", "-out", f"{name}.crt")

    def mode(self, file):
        return (self.folder / file).stat().st_mode & 0o777

    def test_a_ca_signs_and_is_never_overwritten(self):
        text = self.show("ca/ca.crt")
        self.assertIn("CA:TRUE, pathlen:0", text)
        self.assertIn("Certificate Sign, CRL Sign", text)
        self.assertEqual((self.mode("ca"), self.mode("ca/ca.key")), (0o700, 0o600))
        before = (self.folder / "ca/ca.key").read_text()
        said = self.ctl("pki", "init", code=1)
        self.assertIn("there is a CA in ca already", said)
        self.assertIn("--ca-dir", said)
        self.assertEqual((self.folder / "ca/ca.key").read_text(), before)

    def test_a_key_that_an_interrupted_call_left_is_named_and_kept(self):
        (self.folder / "left").mkdir()
        (self.folder / "left/ca.key").write_text("a key")
        said = self.ctl("pki", "init", "--ca-dir", "left", code=1)
        self.assertIn("left/ca.key exists without left/ca.crt", said)
        self.assertIn("remove it if nothing needs it", said)
        self.assertEqual((self.folder / "left/ca.key").read_text(), "a key")
        (self.folder / "left/ca.key").unlink()
        self.ctl("pki", "init", "--ca-dir", "left")

    def test_certificates_are_revoked_and_not(self):
        self.ctl("pki", "issue", "agent", "w1")
        self.ctl("pki", "issue", "agent", "w2")
        of_w1, of_w2 = (self.inspect(f"{name}.crt")["fingerprint"] for name in ("w1", "w2"))
        self.assertEqual(self.ctl("revoke", "w1.crt"), f"revoked {of_w1} CN=w1\n")
        self.assertEqual(self.mode("revoked"), 0o644)
        (self.folder / "revoked").chmod(0o640)
        said = self.ctl("revoke", of_w1.lower(), "w2.crt")
        self.assertEqual(said, f"already revoked {of_w1}\nrevoked {of_w2} CN=w2\n")
        self.assertEqual(self.mode("revoked"), 0o640)
        listed = json.loads(self.ctl("revoked", "-o", "json"))["revoked"]
        self.assertEqual([(row["fingerprint"], row["note"][:6]) for row in listed], [(of_w1, "CN=w1,"), (of_w2, "CN=w2,")])
        self.assertEqual(self.ctl("unrevoke", "w1.crt"), f"no longer revoked {of_w1} CN=w1\n")
        before = (self.folder / "revoked").read_text()
        self.assertEqual(len(before.splitlines()), 2)
        for args, code, said in ((("unrevoke", "w2.crt", "w1.crt"), 4, f"{of_w1} is not revoked; nothing was changed"),
                                 (("revoke", "w1.crt", "w9.crt"), 1, "neither a SHA-256 fingerprint nor a certificate: w9.crt"),
                                 (("revoke",), 2, "CERT|FINGERPRINT"),
                                 (("revoked", "--file", "w1.crt"), 1, "w1.crt: line 1: expected a SHA-256 fingerprint")):
            self.assertIn(said, self.ctl(*args, code=code))
            self.assertEqual((self.folder / "revoked").read_text(), before)

    def at_the_same_time(self, *calls):
        """Each must succeed."""
        running = [subprocess.Popen([BIN / "argobusctl", *args], cwd=self.folder, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True) for args in calls]
        said = [done.communicate(timeout=60)[0] for done in running]
        self.assertEqual([done.returncode for done in running], [0] * len(calls), said)

    def test_revocations_at_the_same_time_lose_none(self):
        names = [f"{n:02X}" * 32 for n in range(24)]
        self.ctl("revoke", *names[:8])
        self.at_the_same_time(*(("revoke", name) for name in names[8:]), *(("unrevoke", name) for name in names[:8]))
        listed = json.loads(self.ctl("revoked", "-o", "json"))["revoked"]
        self.assertEqual(sorted(row["fingerprint"] for row in listed), names[8:])

    def test_a_ca_of_rsa_with_another_name(self):
        self.ctl("pki", "init", "--ca-dir", "other", "--key-type", "rsa", "--name", "edge", "--days", "7")
        text = self.show("other/ca.crt")
        self.assertIn("Public-Key: (3072 bit)", text)
        self.assertIn("Subject: CN = edge", text)
        self.assertIn(self.inspect("other/ca.crt")["daysLeft"], (6, 7))

    def test_an_agent_is_a_client_and_nothing_else(self):
        self.ctl("pki", "issue", "agent", "w1")
        self.assertIn("w1.crt: OK", self.verify("w1.crt", "sslclient"))
        done = self.run_command("openssl", "verify", "-CAfile", "ca/ca.crt", "-purpose", "sslserver", "w1.crt")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.openssl("x509", "-in", "w1.crt", "-noout", "-subject", "-nameopt", "RFC2253"),
                         "subject=CN=w1\n")
        self.assertIn("Digital Signature, Key Agreement", self.show("w1.crt"))
        self.assert_pair("w1")
        self.assertEqual((self.mode("w1.crt"), self.mode("w1.key")), (0o644, 0o600))
        self.assertIn("pki renew w1.crt", self.ctl("pki", "issue", "agent", "w1", code=1))

    def test_a_principal_has_its_names(self):
        self.ctl("pki", "issue", "principal", "--dns", "p.example.com,localhost", "--ip", "127.0.0.1,::1", "--key-type", "rsa")
        for purpose in ("sslserver", "sslclient"):
            self.verify("principal.crt", purpose)
        self.verify("principal.crt", "sslserver", "-verify_hostname", "p.example.com")
        self.verify("principal.crt", "sslserver", "-verify_ip", "::1")
        self.assertIn("Digital Signature, Key Encipherment", self.show("principal.crt"))
        self.assert_pair("principal")

    def test_a_request_gets_the_names_of_the_operator_and_keeps_what_it_is_for(self):
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384", "-noenc", "-subj", "/CN=principal",
                     "-addext", "subjectAltName=DNS:p.example.com", "-keyout", "w1.key", "-out", "w1.csr")
        key = (self.folder / "w1.key").read_text()
        self.ctl("pki", "issue", "agent", "w1", "--csr", "w1.csr")
        self.verify("w1.crt", "sslclient")
        self.assert_pair("w1")
        self.assertEqual((self.folder / "w1.key").read_text(), key)
        shown = self.inspect("w1.crt", "--ca", "ca/ca.crt")
        self.assertEqual((shown["subject"], shown["names"], shown["key"]), ("CN=w1", [], "EC P-384"))
        self.ctl("pki", "renew", "w1.crt")
        renewed = self.inspect("w1.crt", "--ca", "ca/ca.crt")
        for same in ("subject", "names", "usage", "key"):
            self.assertEqual(shown[same], renewed[same])

    def test_weak_and_broken_requests_are_refused(self):
        for algorithm, said in (("rsa:1024", "RSA 1024"), ("ec -pkeyopt ec_paramgen_curve:P-192", "EC P-192"), ("ed25519", "ED25519")):
            self.openssl("req", "-new", "-newkey", *algorithm.split(), "-noenc", "-subj", "/CN=w1", "-keyout", "x.key", "-out", "x.csr")
            self.assertIn(f"the key is {said}", self.ctl("pki", "issue", "agent", "w1", "--csr", "x.csr", code=2))
        text = (self.folder / "x.csr").read_text().splitlines()
        whole = bytearray(base64.b64decode("".join(text[1:-1])))
        whole[-1] ^= 1
        (self.folder / "x.csr").write_text("\n".join([text[0], base64.b64encode(whole).decode(), text[-1], ""]))
        self.assertIn("x.csr: not a certificate signing request", self.ctl("pki", "issue", "agent", "w1", "--csr", "x.csr", code=2))
        self.assertIn("x.key: not a certificate signing", self.ctl("pki", "issue", "agent", "w1", "--csr", "x.key", code=2))
        self.assertFalse((self.folder / "w1.crt").exists())

    def test_a_weak_key_is_not_renewed_as_weak(self):
        self.openssl("req", "-new", "-newkey", "rsa:1024", "-noenc", "-subj", "/CN=w1", "-keyout", "w1.key", "-out", "w1.csr")
        self.openssl("x509", "-req", "-in", "w1.csr", "-CA", "ca/ca.crt", "-CAkey", "ca/ca.key", "-days", "9", "-out", "w1.crt")
        before = (self.folder / "w1.crt").read_text()
        self.assertIn("the key is RSA 1024", self.ctl("pki", "renew", "w1.crt", code=2))
        self.assertEqual((self.folder / "w1.crt").read_text(), before)

    def test_names_that_are_none_are_refused(self):
        for name in ("W1", "w1.x", "-w", "a" * 64, "", "../w1"):
            self.assertIn("is not a name for an agent", self.ctl("pki", "issue", "--", "agent", name, code=2), name)
        self.assertIn("--dns", self.ctl("pki", "issue", "principal", code=2))
        self.assertIn("for the principal", self.ctl("pki", "issue", "agent", "w1", "--dns", "x", code=2))
        self.assertIn("--days", self.ctl("pki", "issue", "agent", "w1", "--days", "0", code=2))
        self.assertIn("not agent or principal", self.ctl("pki", "issue", "broker", code=2))
        self.assertIn("--key-type", self.ctl("pki", "issue", "agent", "w1", "--key-type", "dsa", code=2))

    def test_a_ca_that_is_not_one(self):
        self.assertIn("pki init --ca-dir nowhere", self.ctl("pki", "issue", "agent", "w1", "--ca-dir", "nowhere", code=1))
        self.ctl("pki", "issue", "agent", "w1")
        os.makedirs(self.folder / "agent")
        shutil.copy(self.folder / "w1.crt", self.folder / "agent/ca.crt")
        shutil.copy(self.folder / "w1.key", self.folder / "agent/ca.key")
        self.assertIn("not the certificate of a CA", self.ctl("pki", "issue", "agent", "w2", "--ca-dir", "agent", code=2))
        shutil.copy(self.folder / "ca/ca.key", self.folder / "agent/ca.key")
        self.assertIn("does not belong to", self.ctl("pki", "issue", "agent", "w2", "--ca-dir", "agent", code=2))

    def test_an_expired_ca_signs_nothing(self):
        os.makedirs(self.folder / "old")
        self.make_expired("old/ca")
        self.assertIn("has expired", self.ctl("pki", "issue", "agent", "w1", "--ca-dir", "old", code=2))

    def test_a_ca_that_ends_soon_is_told_of(self):
        said = "the certificate ends with that of the CA"
        self.ctl("pki", "init", "--ca-dir", "soon", "--days", "40")
        for days, ends_before in (("40", False), ("39", False), ("365", True)):
            done = self.run_command("argobusctl", "pki", "issue", "agent", f"w{days}", "--ca-dir", "soon", "--days", days)
            self.assertEqual((done.returncode, said in done.stderr), (0, ends_before), done.stderr)
        self.assertIn("325 days before the 365 days are over", done.stderr)
        done = self.run_command("argobusctl", "pki", "renew", "w39.crt", "--ca-dir", "soon", "--days", "100")
        self.assertEqual((done.returncode, said in done.stderr), (0, True), done.stderr)

    def test_while_two_cas_are_trusted_the_one_of_the_key_signs(self):
        self.ctl("pki", "init", "--ca-dir", "new")
        both = (self.folder / "ca/ca.crt").read_text() + (self.folder / "new/ca.crt").read_text()
        (self.folder / "new/ca.crt").write_text(both)
        secret = yaml.safe_load(self.ctl("pki", "issue", "agent", "w1", "--ca-dir", "new", "--kubernetes-secret", "client-tls"))
        self.assertEqual(base64.b64decode(secret["data"]["ca.crt"]).decode(), both)
        ca = yaml.safe_load(self.ctl("pki", "propagate", "--ca-dir", "new"))
        self.assertEqual(base64.b64decode(ca["data"]["ca.crt"]).decode(), both)

    def test_what_cannot_be_written_is_an_error(self):
        self.ctl("pki", "issue", "agent", "w1")
        for form in ("table", "json", "yaml"):
            with open("/dev/full", "w") as full:
                done = subprocess.run([BIN / "argobusctl", "pki", "inspect", "w1.crt", "-o", form], cwd=self.folder, stdout=full,
                                      stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, "cannot write" in done.stderr), (1, True), form)

    def test_a_ca_that_another_has_signed_travels_with_the_certificate(self):
        os.makedirs(self.folder / "sub")
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-subj", "/CN=sub",
                     "-keyout", "sub/tls.key", "-out", "sub.csr")
        (self.folder / "ext").write_text("basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n"
                                         "subjectKeyIdentifier=hash\n")
        # The default CA may have no CA below it.
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-subj", "/CN=root",
                     "-keyout", "root.key", "-out", "root.crt")
        self.openssl("x509", "-req", "-in", "sub.csr", "-CA", "root.crt", "-CAkey", "root.key", "-extfile", "ext",
                     "-out", "sub/tls.crt")
        self.ctl("pki", "issue", "agent", "w1", "--ca-dir", "sub")
        self.openssl("verify", "-CAfile", "root.crt", "-untrusted", "w1.crt", "w1.crt")
        self.assertEqual(self.inspect("w1.crt", "--ca", "root.crt")["chain"], "ok")

    def test_inspect_says_what_is_wrong(self):
        self.ctl("pki", "issue", "agent", "w1")
        self.ctl("pki", "issue", "agent", "w2")
        shown = self.inspect("w1.crt", "--ca", "ca/ca.crt")
        printed = self.openssl("x509", "-in", "w1.crt", "-noout", "-fingerprint", "-sha256").split("=")[1].strip()
        self.assertEqual(shown["fingerprint"], printed.replace(":", ""))
        self.assertEqual((shown["validity"], shown["keyFile"], shown["chain"]), ("ok", "ok", "ok"))
        self.assertIn(shown["daysLeft"], (364, 365))
        same = yaml.safe_load(self.ctl("pki", "inspect", "w1.crt", "--ca", "ca/ca.crt", "-o", "yaml"))
        same["daysLeft"] = shown["daysLeft"]  # one less a moment later
        self.assertEqual(same, shown)
        self.assertEqual(self.inspect("w1.crt", "--key", "w2.key", code=1)["keyFile"], "belongs to another certificate")
        self.ctl("pki", "init", "--ca-dir", "other")
        self.assertNotEqual(self.inspect("w1.crt", "--ca", "other/ca.crt", code=1)["chain"], "ok")
        self.make_expired("old")
        shown = self.inspect("old.crt", code=1)
        self.assertIn("expired", shown["validity"])
        self.assertLess(shown["daysLeft"], 0)

    def test_inspect_prints_nothing_that_is_not_printable(self):
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-utf8",
                     "-subj", "/CN=a\x1b[31mb\nc", "-addext", "subjectAltName=DNS:a\x1bb", "-keyout", "x.key", "-out", "x.crt")
        text = self.ctl("pki", "inspect", "x.crt")
        self.assertNotIn("\x1b", text)
        self.assertIn("not printable", text)

    def test_inspect_of_what_is_not_a_certificate(self):
        (self.folder / "x.crt").write_text("hello\n")
        self.assertIn("not a PEM file", self.ctl("pki", "inspect", "x.crt", code=1))
        self.assertIn("y.crt", self.ctl("pki", "inspect", "y.crt", code=1))
        self.assertIn("ca", self.ctl("pki", "inspect", "ca", code=2))

    def test_renew_keeps_the_names_and_changes_the_rest(self):
        self.ctl("pki", "issue", "principal", "hub", "--dns", "p.example.com", "--ip", "::1", "--key-type", "rsa", "--days", "30")
        (self.folder / "hub.key").chmod(0o640)
        before = self.inspect("hub.crt")
        self.ctl("pki", "renew", "hub.crt")
        after = self.inspect("hub.crt", "--ca", "ca/ca.crt")
        for same in ("subject", "issuer", "names", "usage", "key"):
            self.assertEqual(before[same], after[same])
        self.assertNotEqual(before["serial"], after["serial"])
        self.assertIn(after["daysLeft"], (29, 30))
        self.assertEqual(self.mode("hub.key"), 0o640)
        self.verify("hub.crt", "sslserver", "-verify_hostname", "p.example.com")
        self.assert_pair("hub")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["ca", "hub.crt", "hub.key"])
        self.assertIn("certificate of a CA", self.ctl("pki", "renew", "ca/ca.crt", code=2))

    def test_renewed_files_are_whole_at_any_time(self):
        """Who reads a file gets the whole old or the whole new one."""
        self.ctl("pki", "issue", "agent", "w1")
        broken, ended = [], threading.Event()

        def read():
            while not ended.is_set():
                for file, end in (("w1.crt", "-----END CERTIFICATE-----\n"), ("w1.key", "-----END PRIVATE KEY-----\n")):
                    if not (self.folder / file).read_text().endswith(end):
                        broken.append(file)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            for _ in range(20):
                self.ctl("pki", "renew", "w1.crt")
        finally:
            ended.set()
            reader.join()
        self.assertEqual(broken, [])

    def test_renewals_at_the_same_time_leave_a_pair(self):
        self.ctl("pki", "issue", "agent", "w1")
        for _ in range(5):
            self.at_the_same_time(*[("pki", "renew", "w1.crt")] * 4)
            self.assert_pair("w1")

    def test_secrets_have_the_names_of_argocd_agent(self):
        secret = yaml.safe_load(self.ctl("pki", "issue", "agent", "w1", "--kubernetes-secret", "argocd-agent-client-tls"))
        self.assertEqual((secret["kind"], secret["type"], secret["metadata"]),
                         ("Secret", "kubernetes.io/tls", {"name": "argocd-agent-client-tls", "namespace": "argocd"}))
        for name in ("tls.crt", "tls.key", "ca.crt"):
            (self.folder / name).write_bytes(base64.b64decode(secret["data"][name]))
        self.assertEqual(self.inspect("tls.crt", "--ca", "ca.crt")["keyFile"], "ok")
        self.assertFalse((self.folder / "w1.key").exists())
        ca = yaml.safe_load(self.ctl("pki", "propagate", "--namespace", "edge"))
        self.assertEqual((ca["metadata"]["name"], ca["metadata"]["namespace"], list(ca["data"])),
                         ("argocd-agent-ca", "edge", ["ca.crt"]))
        self.assertEqual(base64.b64decode(ca["data"]["ca.crt"]), (self.folder / "ca/ca.crt").read_bytes())
        ca = yaml.safe_load(self.ctl("pki", "propagate", "--configmap"))
        self.assertEqual((ca["kind"], ca["data"]["ca.crt"]), ("ConfigMap", (self.folder / "ca/ca.crt").read_text()))

    def test_a_ca_in_a_secret_can_be_used_again(self):
        secret = yaml.safe_load(self.ctl("pki", "init", "--kubernetes-secret", "argocd-agent-ca"))
        os.makedirs(self.folder / "secret")
        for name, value in secret["data"].items():
            (self.folder / "secret" / name).write_bytes(base64.b64decode(value))
        (self.folder / "secret/ca.crt").unlink()  # argocd-agent's has none
        self.ctl("pki", "issue", "agent", "w1", "--ca-dir", "secret")
        self.assertEqual(self.inspect("w1.crt", "--ca", "secret/tls.crt")["chain"], "ok")

    def test_propagate_never_gives_the_key_away(self):
        both = (self.folder / "ca/ca.crt").read_text() + (self.folder / "ca/ca.key").read_text()
        (self.folder / "ca/ca.crt").write_text(both)
        ca = yaml.safe_load(self.ctl("pki", "propagate"))
        self.assertNotIn(b"PRIVATE", base64.b64decode(ca["data"]["ca.crt"]))


class Docs(Ctl):
    def test_the_page_does_what_it_says(self):
        self.run_page("docs/operate/certificates.md", normal)


if __name__ == "__main__":
    unittest.main()
