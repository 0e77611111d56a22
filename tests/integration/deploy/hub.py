# SPDX-License-Identifier: Apache-2.0
"""A principal and its agent w1 on directory stores, as the sample configurations set them up."""
import os
import shutil
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request

import broker
from wait import until

BIN = os.environ["PROGRAMS"]
# A variable ARGOBUS_... that is no option is an error of the programs.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("ARGOBUS_")}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return response.status == 200
    except (urllib.error.URLError, OSError):
        return False


class Hub:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="argobus-hub-")
        self.programs = []
        for place in ("hub/w1/Application", "w1/argocd/Application", "data"):
            os.makedirs(os.path.join(self.folder, place))

    def start(self):
        """Both are ready when this returns."""
        self.run("principal", "kafka.topics=create", "kafka.replication-factor=1", "kafka.min-insync-replicas=1",
                 f"store.directory.path={self.folder}/hub")
        self.run("agent", f"store.directory.path={self.folder}/w1", f"agent.data={self.folder}/data")

    def config(self, name):
        """The sample configuration without its certificates, which the plaintext listener does not want."""
        with open(os.path.join(broker.ROOT, f"examples/{name}.yaml"), encoding="utf-8") as f:
            kept = [line for line in f if not line.startswith("  tls:")]
        path = os.path.join(self.folder, f"{name}.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(kept)
        return path

    def run(self, name, *settings):
        http = f"127.0.0.1:{free_port()}"
        options = [part for s in (*settings, f"http.address={http}", f"kafka.brokers=127.0.0.1:{broker.port('plain')}")
                   for part in ("--set", s)]
        with open(os.path.join(self.folder, f"{name}.log"), "wb") as log:
            self.programs.append(subprocess.Popen([os.path.join(BIN, f"argobus-{name}"), "-c", self.config(name),
                                                   *options], stderr=log, env=ENVIRONMENT))
        until(lambda: answers(f"http://{http}/readyz") or self.programs[-1].poll() is not None, f"{name} is ready")
        assert self.programs[-1].poll() is None, f"argobus-{name} ended: {self.log(name)}"

    def log(self, name):
        with open(os.path.join(self.folder, f"{name}.log"), encoding="utf-8") as f:
            return f.read()

    def propagate(self, application):
        """Put a sample Application at the hub; returns when it is in effect at w1."""
        shutil.copy(os.path.join(broker.ROOT, f"examples/applications/{application}.yaml"),
                    os.path.join(self.folder, "hub/w1/Application"))
        arrived = os.path.join(self.folder, f"w1/argocd/Application/{application}.yaml")
        until(lambda: os.path.exists(arrived), f"{application} is at w1")

    def stop(self):
        for program in reversed(self.programs):
            program.terminate()
            program.wait(30)
        shutil.rmtree(self.folder)
