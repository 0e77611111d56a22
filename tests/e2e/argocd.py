# SPDX-License-Identifier: Apache-2.0
"""The real Argo CD beside the clusters."""
import json
import os
import pathlib
import subprocess
import urllib.request

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
