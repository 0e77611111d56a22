# SPDX-License-Identifier: Apache-2.0
"""The real Argo CD beside the clusters."""
import json
import os
import pathlib
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import websocket

PASSWORD = "a password"  # of the user admin, where there is a login


def argocd_dev(*args, **variables):
    return subprocess.run([os.environ["ARGOCD_DEV"], *args], check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, **variables}).stdout


def port(cluster, part):
    """Where the "redis", "repo" or "server" on that cluster listens."""
    ports = pathlib.Path(os.environ["ARGOCD_DEV_HOME"], "run", cluster, "ports").read_text()
    return dict(word.split("=") for word in ports.split())[part]


def call(cluster, method, path, body=None):
    """Ask the API for Applications of the argocd-server on that cluster."""
    request = urllib.request.Request(f"http://127.0.0.1:{port(cluster, 'server')}/api/v1/applications{path}",
                                     method=method, data=json.dumps(body).encode() if body else None,
                                     headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


class Server:
    """The argocd-server on a cluster, asked as its admin."""

    def __init__(self, cluster):
        self.address, self.token = f"127.0.0.1:{port(cluster, 'server')}", None
        self.token = self.ask("POST", "session", {"username": "admin", "password": PASSWORD})["token"]

    def open(self, method, path, body=None, **query):
        """The answer, to be read as it comes; the caller closes it."""
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        request = urllib.request.Request(url, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json",
                                                  **({"Authorization": f"Bearer {self.token}"} if self.token else {})})
        return urllib.request.urlopen(request, timeout=120)

    def ask(self, method, path, body=None, **query):
        with self.open(method, path, body, **query) as answer:
            return json.load(answer)

    def refusal(self, method, path, **query):
        """The status and the message of a refusal, None when there is none."""
        try:
            self.ask(method, path, **query)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)["message"]
        return None

    def terminal(self, **query):
        return websocket.create_connection(f"ws://{self.address}/terminal?{urllib.parse.urlencode(query)}", timeout=120,
                                           cookie=f"argocd.token={self.token}")

    def cli(self, *args, **options):
        """The command line of Argo CD."""
        command = [argocd_dev("program").strip(), "--server", self.address, "--plaintext", "--auth-token",
                   self.token, *args]
        return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env={**os.environ, "ARGOCD_BINARY_NAME": "argocd"}, **options)
