# SPDX-License-Identifier: Apache-2.0
"""Our server and our client with those of grpc-go and grpcio, in plaintext and by TLS: the same calls in each of the
four directions; and by WebSockets with grpc-go behind Go's."""
import os
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import unittest

import peers

HERE = os.path.dirname(os.path.abspath(__file__))
SUPPORT = os.path.join(HERE, "..", "..", "support", "grpc")
GO = [os.path.join(SUPPORT, "grpc-go")]
PYTHON = [os.path.join(SUPPORT, "python"), os.path.join(HERE, "foreign.py")]


class Interop(unittest.TestCase):
    def serve_foreign(self, foreign, secure, *websocket):
        """A client's server has it all: client_test.c says what is tried."""
        certs = peers.CERTS if secure else "-"
        server = peers.Server(*foreign, "serve", certs, *websocket)
        env = dict(os.environ, AB_GRPC_PORT=str(server.port))
        if not secure:
            env["AB_GRPC_PLAIN"] = "1"
        if websocket:
            env["AB_GRPC_WEBSOCKET"] = "1"
        client = subprocess.Popen([os.path.join(peers.BIN, "grpc_client_test")], env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        said = []
        for line in client.stdout:
            said.append(line)
            if line == "open\n":
                server.stop()
        client.stdout.close()
        code = client.wait(peers.WAIT_S)
        if server.process.poll() is None:
            server.stop()
        self.assertEqual(code, 0, "".join(said + server.seen))

    def call_from_foreign(self, foreign, secure, *websocket, served=False):
        server = peers.ours(secure, bool(websocket) or served)
        certs = peers.CERTS if secure else "-"
        run = subprocess.run([*foreign, "check", certs, str(server.port), *websocket], capture_output=True, text=True,
                             timeout=600)
        code = server.stop()
        self.assertEqual((run.returncode, code), (0, 0), run.stdout + run.stderr + "".join(server.seen))
        self.assertNotIn("argobus_grpc_refused_total", "".join(server.seen))

    def test_grpc_go_calls(self):
        self.call_from_foreign(GO, False)
        self.call_from_foreign(GO, True)

    def test_grpc_go_calls_by_websockets(self):
        self.call_from_foreign(GO, False, "websocket")
        self.call_from_foreign(GO, True, "websocket")

    def test_where_websockets_are_served_http2_is_too(self):
        self.call_from_foreign(GO, False, served=True)
        self.call_from_foreign(GO, True, served=True)

    def test_grpc_go_serves_by_websockets(self):
        self.serve_foreign(GO, False, "websocket")
        self.serve_foreign(GO, True, "websocket")

    def test_grpcio_calls(self):
        self.call_from_foreign(PYTHON, False)
        self.call_from_foreign(PYTHON, True)

    def test_grpc_go_serves(self):
        self.serve_foreign(GO, False)
        self.serve_foreign(GO, True)

    def test_grpcio_serves(self):
        self.serve_foreign(PYTHON, False)
        self.serve_foreign(PYTHON, True)

    def strays(self, foreign, how, status, reason, **limits):
        server = peers.ours(**limits)
        run = subprocess.run([*foreign, "stray", peers.CERTS, str(server.port), how], capture_output=True, text=True,
                             timeout=600)
        code = server.stop()
        self.assertEqual((run.returncode, code), (0, 0), run.stdout + run.stderr + "".join(server.seen))
        self.assertEqual(run.stdout, status + "\n")
        self.assertIn(f'argobus_grpc_refused_total{{reason="{reason}"}}', "".join(server.seen))

    def test_grpcio_with_a_foreign_certificate_is_refused(self):
        self.strays(PYTHON, "certificate", "UNAVAILABLE", "tls")

    def test_grpcio_with_too_large_a_message_is_told(self):
        self.strays(PYTHON, "message", "RESOURCE_EXHAUSTED", "message", message_bytes=1000)

    def test_grpcio_that_pings_too_often_is_told_to_go(self):
        self.strays(PYTHON, "pings", "UNAVAILABLE", "pings", pings=5)

    def test_grpc_go_with_a_foreign_certificate_is_refused(self):
        self.strays(GO, "certificate", "Unavailable", "tls")

    def test_grpc_go_with_too_large_a_message_is_told(self):
        self.strays(GO, "message", "ResourceExhausted", "message", message_bytes=1000)

    def test_grpc_go_goes_when_told(self):
        server = peers.ours()
        client = subprocess.Popen([*GO, "drain", peers.CERTS, str(server.port)], stdout=subprocess.PIPE, text=True)
        self.assertEqual(client.stdout.readline(), "open\n")
        code = server.stop()
        self.assertEqual(client.stdout.readline(), "ended\n")
        client.stdout.close()
        self.assertEqual((client.wait(peers.WAIT_S), code), (0, 0))

    def stays(self, foreign):
        """The server's certificate changes: what runs goes on, and who comes then is shown the new one."""
        with tempfile.TemporaryDirectory() as folder:
            certs = pathlib.Path(shutil.copytree(peers.CERTS, folder, dirs_exist_ok=True))
            server = peers.Server(os.path.join(peers.BIN, "grpc_echo_server"), str(certs))
            client = subprocess.Popen([*foreign, "stay", str(certs), str(server.port)], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
            self.assertEqual(client.stdout.readline(), "open\n")
            for end in ("key", "crt"):
                (certs / f"renewed.{end}").replace(certs / f"server.{end}")
            server.wait("certificates reloaded")
            shown = ssl.get_server_certificate(("localhost", server.port), timeout=peers.WAIT_S)
            self.assertEqual(shown.strip(), (certs / "server.crt").read_text().strip())
            said, _ = client.communicate("\n", timeout=peers.WAIT_S)
            code = server.stop()
        self.assertEqual((said, client.returncode, code), ("goes on\nanother\n", 0, 0), "".join(server.seen))

    def test_grpc_go_stays_while_certificates_change(self):
        self.stays(GO)

    def test_grpcio_stays_while_certificates_change(self):
        self.stays(PYTHON)


if __name__ == "__main__":
    unittest.main()
