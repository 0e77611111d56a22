# SPDX-License-Identifier: Apache-2.0
"""Real redis-servers, and clients of them that are not ours, for which tests/support/redis/python has the package.
AB_GRPC_CERTS is the folder of certificates."""
import os
import pathlib
import socket
import subprocess
import tempfile

from ports import free_port
from waiting import wait_for

CERTS = pathlib.Path(os.environ["AB_GRPC_CERTS"])


class Server:
    """A redis-server on a port of its own."""

    def __init__(self, case, *options, tls=False):
        self.port, self.tls, self.options = free_port(), tls, options
        self.folder = tempfile.mkdtemp()
        case.addCleanup(subprocess.run, ["rm", "-rf", self.folder], check=True)
        self.start()
        case.addCleanup(self.stop)

    def start(self):
        where = ["--port", str(self.port)] if not self.tls else [
            "--port", "0", "--tls-port", str(self.port), "--tls-auth-clients", "no", "--tls-ca-cert-file",
            CERTS / "ca.crt", "--tls-cert-file", CERTS / "server.crt", "--tls-key-file", CERTS / "server.key"]
        self.process = subprocess.Popen(
            ["redis-server", *where, "--bind", "127.0.0.1", "--save", "", "--dir", self.folder, *self.options],
            stdout=subprocess.DEVNULL)
        wait_for("redis-server listens", self.listens)

    def listens(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()

    def client(self, **options):
        return client_of(self.port, tls=self.tls, **options)


def client_of(port, tls=False, protocol=3, **options):
    import redis

    if tls:
        options |= {"ssl": True, "ssl_ca_certs": str(CERTS / "ca.crt")}
    options = {"socket_timeout": 30, **options}
    return redis.Redis(host="127.0.0.1", port=port, protocol=protocol, retry=None, maint_notifications_config=None,
                       **options)
