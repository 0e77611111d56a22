# SPDX-License-Identifier: Apache-2.0
"""The real Argo CD beside the clusters."""
import json
import os
import pathlib
import subprocess
import urllib.request


def argocd_dev(*args, **variables):
    return subprocess.run([os.environ["ARGOCD_DEV"], *args], check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, **variables}).stdout


def call(cluster, method, path, body=None):
    """Ask the API for Applications of the argocd-server on that cluster."""
    ports = pathlib.Path(os.environ["ARGOCD_DEV_HOME"], "run", cluster, "ports").read_text()
    port = dict(word.split("=") for word in ports.split())["server"]
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/v1/applications{path}", method=method,
                                     data=json.dumps(body).encode() if body else None,
                                     headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)
