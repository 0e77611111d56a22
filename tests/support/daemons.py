# SPDX-License-Identifier: Apache-2.0
"""The daemons as a user runs them: real processes on directory stores and a real broker.

The environment says where things are: AB_BIN (folder of the programs), KAFKA_DEV and KAFKA_DEV_HOME (the broker); and
which transport to use: AB_TRANSPORT, kafka (the default) or grpc, which takes its certificates from AB_GRPC_CERTS.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.request
import uuid

import yaml

from ports import free_port
from waiting import wait_for


def broker_ports():
    lines = pathlib.Path(os.environ["KAFKA_DEV_HOME"], "ports").read_text().split()
    return dict(line.split("=") for line in lines)


def broker_holds(*forms):
    """Does any file of the broker have any of these bytes? Those of topics that are deleted go meanwhile."""
    looked_at = 0
    for folder, _, names in os.walk(pathlib.Path(os.environ["KAFKA_DEV_HOME"], "data")):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                content = pathlib.Path(folder, name).read_bytes()
                looked_at += 1
                if any(form in content for form in forms):
                    return True
    assert looked_at > 0
    return False


def read_yaml(path):
    """What a file says, None when it is not there or not whole: others write and delete it."""
    with contextlib.suppress(FileNotFoundError, yaml.YAMLError):
        return yaml.safe_load(path.read_text())
    return None


def kcat(*args, **options):
    """kcat on the broker, with the patience that a busy one needs."""
    return subprocess.run(["kcat", "-m", "60", "-b", f"127.0.0.1:{broker_ports()['plain']}", *args], check=True,
                          text=True, timeout=120, **options)


def kafka_dev(*args):
    subprocess.run([os.environ["KAFKA_DEV"], *args], check=True, stdout=subprocess.DEVNULL)


TRANSPORT = os.environ.get("AB_TRANSPORT", "kafka")


def only_kafka(why):
    """Marks a scenario that is about what other transports do not have."""
    return unittest.skipUnless(TRANSPORT == "kafka", why)


class Daemon:
    """One argobus-principal or argobus-agent."""

    made = []  # by the test that runs

    def __init__(self, program, folder, config, address=None):
        Daemon.made.append(self)
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.program = pathlib.Path(os.environ["AB_BIN"], program)
        self.config = self.folder / "config.yaml"
        self.log = self.folder / "log"
        self.env = {}  # beside that of the test
        self.process = None
        self.port = None
        self.configure(config, address)

    def configure(self, config, address=None):
        """It is read at the next start."""
        config = dict(config, http={"address": address or "127.0.0.1:0"})
        self.config.write_text(yaml.safe_dump(config))

    def start(self, *args, ready=True):
        log = open(self.log, "ab")
        begin = log.tell()
        self.process = subprocess.Popen([self.program, "-c", self.config, *args], stdin=subprocess.DEVNULL,
                                        stdout=log, stderr=log,
                                        env=dict(os.environ, **self.env))
        log.close()
        self.port = wait_for(f"{self.program.name} serves HTTP", lambda: self._port(begin))
        if ready:
            wait_for(f"{self.program.name} is ready", lambda: self.is_ready() or self._has_ended())
        return self

    def _has_ended(self):
        """By itself: whoever waits for it need not wait on."""
        assert self.process.poll() is None, f"{self.program.name} ended with {self.process.returncode}"
        return False

    def _port(self, begin):
        said = self.log.read_bytes()[begin:]
        assert self.process.poll() is None, f"ended at start: {said.decode(errors='replace')}"
        match = re.search(rb"serving health and metrics.* port=(\d+)", said)
        return match and int(match.group(1))

    def get(self, path):
        """None when it does not answer, or not with 200."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
                return answer.read().decode()
        return None

    def is_ready(self):
        return self.get("/readyz") is not None

    def why_unready(self):
        """The line of /readyz, "" when it is ready or does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=30):
                return ""
        except urllib.error.HTTPError as answer:
            return answer.read().decode()
        except (OSError, http.client.HTTPException):
            return ""

    def metric(self, name):
        """Sum over the series of a family, 0 when there is none."""
        text = wait_for("/metrics answers", lambda: self.get("/metrics"))
        found = re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.M)
        return sum(float(value) for value in found)

    def series(self, name):
        """The series of a family that has labels: their values, by the text of the labels."""
        text = wait_for("/metrics answers", lambda: self.get("/metrics"))
        return {labels: float(value) for labels, value in re.findall(rf"^{name}{{(.*)}} (\S+)$", text, re.M)}

    def stop(self):
        """In order; the exit code must be 0."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(120)
        self.process = None
        assert code == 0, f"{self.program.name} ended with {code}"

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def tail(self):
        """What it has logged last, no more than a report can bear."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-60:])[-8000:]


class Tree:
    """A directory store as a person sees it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, namespace, name):
        return self.folder / namespace / "Application" / f"{name}.yaml"

    def write(self, namespace, name, application):
        path = self.path(namespace, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{name}.{uuid.uuid4().hex}.tmp")
        new.write_text(yaml.safe_dump(application))
        new.rename(path)

    def read(self, namespace, name):
        """The manifest, None when there is none that can be read."""
        return read_yaml(self.path(namespace, name))

    def edit(self, namespace, name, change):
        application = self.read(namespace, name)
        change(application)
        self.write(namespace, name, application)

    def remove(self, namespace, name):
        self.path(namespace, name).unlink()

    def sidecar(self, namespace, name):
        path = self.folder / namespace / "Application" / ".argobus" / f"{name}.json"
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            return json.loads(path.read_text())
        return {}

    def status(self, namespace, name):
        return self.sidecar(namespace, name).get("status")

    def set_status(self, namespace, name, status):
        """What Argo CD's controller would do."""
        self.edit(namespace, name, lambda a: a.update(status=status))

    def names(self, namespace):
        folder = self.folder / namespace / "Application"
        return {p.stem for p in folder.glob("*.yaml")} if folder.is_dir() else set()


class Objects:
    """Objects of other kinds than Application in a directory store."""

    def __init__(self, tree):
        self.folder = tree.folder / "argocd"

    def path(self, kind, name):
        return self.folder / kind / f"{name}.yaml"

    def write(self, document):
        path = self.path(document["kind"], document["metadata"]["name"])
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{uuid.uuid4().hex}.tmp")
        new.write_text(yaml.safe_dump(document))
        new.rename(path)

    def read(self, kind, name):
        return read_yaml(self.path(kind, name))

    def remove(self, kind, name):
        self.path(kind, name).unlink()


class Load(threading.Thread):
    """Repeats `step` until told to stop; what went wrong in it is raised by `finish`."""

    def __init__(self, step):
        super().__init__(daemon=True)
        self.step, self.over, self.error = step, threading.Event(), None
        self.start()

    def run(self):
        while not self.over.wait(0.01):
            try:
                self.step()
            except Exception as error:  # noqa: BLE001 - handed over to the test
                self.error = error
                return

    def finish(self):
        self.over.set()
        self.join()
        if self.error:
            raise self.error


def application(name, value="1", namespace="w1", **metadata):
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {
            "project": "default",
            "source": {"repoURL": "https://git.example.com/apps.git", "path": name, "targetRevision": value},
            "destination": {"name": "w1", "namespace": "default"},
        },
    }


def revision(app):
    return app and app["spec"]["source"]["targetRevision"]


class Fleet(unittest.TestCase):
    """A principal and agent w1, each in a folder, on the shared broker under a prefix of their own, or over gRPC."""

    transport = TRANSPORT

    def run(self, result=None):
        """Whoever fails says what its daemons have logged last."""
        self.tails = {}
        failed = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > failed:
            for log, tail in self.tails.items():
                print(f"\n--- the end of {log}, in {self.id()}:\n{tail}", file=sys.stderr)
        return result

    def setUp(self):
        Daemon.made.clear()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="argobus-test-"))
        self.addCleanup(self.clean_up)
        self.prefix = f"t{uuid.uuid4().hex[:10]}"
        self.grpc_port = free_port()
        self.hub, self.spoke = Tree(self.folder / "hub"), Tree(self.folder / "w1")
        self.principal = Daemon("argobus-principal", self.folder / "principal", self.principal_config())
        (self.folder / "agent" / "data").mkdir(parents=True)
        self.agent = Daemon("argobus-agent", self.folder / "agent", self.agent_config())

    def kafka(self, **more):
        return {"brokers": [f"127.0.0.1:{broker_ports()['plain']}"], "insecure": True, "prefix": self.prefix, **more}

    def grpc(self, name):
        certs = pathlib.Path(os.environ["AB_GRPC_CERTS"])
        tls = {"ca": certs / "ca.crt", "cert": certs / f"{name}.crt", "key": certs / f"{name}.key"}
        return {"listen": f"127.0.0.1:{self.grpc_port}", "address": f"localhost:{self.grpc_port}",
                "tls": {key: str(path) for key, path in tls.items()}}

    def carried(self, name, **kafka):
        """The part of the configuration that says how events travel; `name`: whose certificate."""
        if self.transport == "grpc":
            return {"transport": "grpc", "grpc": self.grpc(name)}
        return {"transport": "kafka", "kafka": self.kafka(**kafka)}

    def principal_config(self):
        return {
            "agents": [{"name": "w1", "mode": "managed"}],
            "store": {"kind": "directory", "namespace": "argocd", "directory": {"path": str(self.hub.folder)}},
            **self.carried("server", **{"topics": "create", "replication-factor": 1, "min-insync-replicas": 1}),
        }

    def agent_config(self):
        return {
            "agent": {"name": "w1", "mode": "managed", "data": str(self.folder / "agent" / "data")},
            "store": {"kind": "directory", "namespace": "argocd", "directory": {"path": str(self.folder / "w1")}},
            **self.carried("w1"),
        }

    def start(self):
        self.principal.start()
        self.agent.start()

    def start_agent_alone(self):
        """While no principal is there. With Kafka the agent is ready all the same."""
        self.agent.start(ready=self.transport == "kafka")

    def ctl(self, *args):
        """argobusctl, of a principal whose control.socket is ctl.sock in the folder."""
        command = [pathlib.Path(os.environ["AB_BIN"], "argobusctl"), "--socket", self.folder / "ctl.sock", *args]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    def topic(self, way):
        """What goes `down` to the agent, or `up` from it; with Kafka."""
        return f"{self.prefix}.{way}.w1.state"

    def log_of(self, topic):
        """(key, value) of each record about an object, in order; None: a tombstone."""
        done = kcat("-C", "-e", "-q", "-J", "-t", topic, capture_output=True)
        records = [json.loads(line) for line in done.stdout.splitlines()]
        return [(r["key"], r["payload"]) for r in records if not r["key"].startswith("ctl/")]

    def clean_up(self):
        """AB_KEEP=1 keeps the folders and logs."""
        died = {d.program.name: d.process.returncode for d in (self.agent, self.principal)
                if d.process and d.process.poll() is not None}
        for daemon in (self.agent, self.principal):
            daemon.kill()
        self.tails = {str(daemon.log.relative_to(self.folder)): daemon.tail() for daemon in Daemon.made}
        if "AB_KEEP" not in os.environ:
            shutil.rmtree(self.folder, ignore_errors=True)
        assert not died, f"ended by itself: {died}"

    def arrives(self, name, value):
        wait_for(f"{name} is {value} at the agent", lambda: revision(self.spoke.read("argocd", name)) == value)
