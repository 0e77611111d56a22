# SPDX-License-Identifier: Apache-2.0
"""An Application that is deployed at w1 by the Argo CD there, and looked at through that of the hub, which reaches w1 and its
redis only through the principal."""
import base64
import contextlib
import json
import os
import pathlib
import secrets
import subprocess
import threading

import yaml
from argocd import PASSWORD, Server, argocd_dev, port
from cluster import ARGOCD
from daemons import wait_for
from fleet import certificate
from objects import project
from ports import free_port

NAME, NAMESPACE = "guestbook", "default"
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"colour": "blue"}}
SPARE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "spare"}, "data": {}}
WEB = {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"},
                         "annotations": {"kubelet-dev/run": "while sleep 0.2; do echo line $((++i)); done"}},
            "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "main", "image": "any"}]},
        },
    },
}


@contextlib.contextmanager
def output_of(process):
    """What it writes, to be read as it comes. It is killed in the end; earlier, if nothing comes for too long."""
    limit = threading.Timer(120, process.kill)
    limit.start()
    with process:
        yield process.stdout
        limit.cancel()
        process.kill()


class Remote:
    """`kubeconfig` leads to what the hub takes for w1."""

    def __init__(self, fleet, app, kubeconfig):
        self.fleet, self.app, self.kubeconfig = fleet, app, kubeconfig
        self.spoke, self.server = fleet.spokes["w1"], Server("hub")

    def where(self, kind, name, version="v1", group=""):
        """A resource, as the API wants to have it named."""
        return {"appNamespace": self.app.namespace, "namespace": NAMESPACE, "resourceName": name, "version": version,
                "kind": kind, "group": group}

    def ask(self, method, path, body=None, **query):
        return self.server.ask(method, f"applications/{NAME}/{path}", body,
                               **{"appNamespace": self.app.namespace, **query})

    def nodes(self):
        return self.ask("GET", "resource-tree").get("nodes", [])

    def pods(self):
        """Their names, of those in the tree that run."""
        return [node["name"] for node in self.nodes()
                if node["kind"] == "Pod" and node.get("health", {}).get("status") == "Healthy"]

    def pod(self):
        return wait_for("one pod runs", lambda: len(self.pods()) == 1 and self.pods())[0]

    def live(self, kind, name, **more):
        """The object as it is at w1 now."""
        return json.loads(self.ask("GET", "resource", **self.where(kind, name, **more))["manifest"])

    def start_kubectl(self, *args, **options):
        programs = subprocess.run([os.environ["KUBE_DEV"], "programs"], check=True, stdout=subprocess.PIPE, text=True)
        return subprocess.Popen([pathlib.Path(programs.stdout.strip(), "kubectl"), "--kubeconfig", self.kubeconfig, *args],
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)

    def kubectl(self, *args, text=None):
        """Its exit code and what it says."""
        with self.start_kubectl(*args, stdin=subprocess.PIPE) as process:
            said, _ = process.communicate(text, timeout=120)
        return process.returncode, said

    def restore(self):
        """What was deleted is there again."""
        self.app.edit({"operation": {"sync": {}}})
        wait_for("it is there again", lambda: self.spoke.get("ConfigMap", NAMESPACE, "spare"))

    def start_cli(self, command, *args):
        """The command line, with this Application."""
        return self.server.cli("app", *command.split(), f"{self.app.namespace}/{NAME}", *args)

    def cli(self, *args):
        """Its exit code and what it says."""
        with self.start_cli(*args) as process:
            said, _ = process.communicate(timeout=120)
        return process.returncode, said


def sealed_by(name):
    """What live access over Kafka is sealed with."""
    own = certificate(name)
    return {"certificate": own["cert"], "key": own["key"], "ca": own["ca"]}


def live_of_the_principal(folder, resource, redis):
    token = secrets.token_hex(16)
    tokens = folder / "tokens"
    tokens.write_text(f"{token} w1\n")
    return token, {"live": {
        **sealed_by("server"),
        "resource": {"listen": f"127.0.0.1:{resource}", "tokens": str(tokens), "tls": certificate("server")},
        "redis": {"listen": f"127.0.0.1:{redis}", "address": f"127.0.0.1:{port('hub', 'redis')}"},
    }}


def live_of_the_agent():
    return {"live": {
        "enabled": True,
        **sealed_by("w1"),
        "principal": "localhost",
        "kubernetes": {"policy": "all"},
        "exec": True,
        "redis": {"address": f"127.0.0.1:{port('w1', 'redis')}"},
    }}


def encoded(path):
    return base64.b64encode(pathlib.Path(path).read_bytes()).decode()


def write_kubeconfig(path, server, authority, **user):
    path.write_text(yaml.safe_dump({
        "apiVersion": "v1", "kind": "Config", "current-context": "w1",
        "clusters": [{"name": "w1", "cluster": {"server": server, "certificate-authority-data": authority}}],
        "users": [{"name": "w1", "user": user}],
        "contexts": [{"name": "w1", "context": {"cluster": "w1", "user": "w1"}}],
    }))
    return path


def cluster_secret(server, **config):
    return {"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "cluster-w1", "namespace": ARGOCD,
                         "labels": {"argocd.argoproj.io/secret-type": "cluster",
                                    "argocd-agent.argoproj-labs.io/agent-name": "w1"}},
            "stringData": {"name": "w1", "server": server, "config": json.dumps(config)}}


@contextlib.contextmanager
def argocd(redis):
    """At w1 the part that deploys, at the hub the part that shows, which asks `redis`, a port."""
    argocd_dev("start", "w1", "controller", "repo")
    try:
        argocd_dev("start", "hub", "repo", "server", ARGOCD_APPLICATION_NAMESPACES="w1", ARGOCD_DEV_PASSWORD=PASSWORD,
                   ARGOCD_DEV_SERVER_FLAGS=f"--redis 127.0.0.1:{redis}")
        yield
    finally:
        argocd_dev("stop", "hub")
        argocd_dev("stop", "w1")


def repository(folder):
    (folder / "app").mkdir(parents=True)
    (folder / "app/all.yaml").write_text(yaml.safe_dump_all([SETTINGS, SPARE, WEB]))
    return argocd_dev("repo", str(folder)).strip()


def deploy(fleet, folder):
    """The Application, once all of it runs."""
    fleet.hub.delete("AppProject", ARGOCD, "default")
    fleet.hub.create(project("default", "w1", clusterResourceWhitelist=[{"group": "*", "kind": "*"}]))
    fleet.spoke_has("AppProject", "default", lambda p: p["spec"].get("description") == "first")
    app = fleet.application(NAME, source={"repoURL": repository(folder / "repository"), "path": "app",
                                          "targetRevision": "main"})
    app.edit({"spec": {"syncPolicy": {"automated": {}}}})
    app.reports(lambda s: s.get("sync", {}).get("status") == "Synced" and
                s.get("health", {}).get("status") == "Healthy", "it is deployed")
    return app


@contextlib.contextmanager
def deployed(fleet, make=deploy, principal=None, agent=None):
    """It is there, and so is live access to it; `fleet` does not run yet. `principal` and `agent` are further options of
    theirs, `make` is as deploy."""
    resource, redis, spoke = free_port(), free_port(), fleet.spokes["w1"]
    with spoke.pods_run(), spoke.granted("agent-live"), argocd(redis):
        token, options = live_of_the_principal(fleet.principal.folder, resource, redis)
        fleet.configure_principal(**options, **(principal or {}))
        fleet.configure_agent("w1", **live_of_the_agent(), **(agent or {}))
        fleet.start("principal", "w1")
        url, authority = f"https://127.0.0.1:{resource}/agents/w1", encoded(certificate("server")["ca"])
        fleet.hub.create(cluster_secret(url, bearerToken=token, tlsClientConfig={"caData": authority}))
        kubeconfig = write_kubeconfig(fleet.folder / "kubeconfig", url, authority, token=token)
        yield Remote(fleet, make(fleet, fleet.folder), kubeconfig)
        for kind, name in (("Deployment", "web"), ("ConfigMap", "settings"), ("ConfigMap", "spare")):
            spoke.delete(kind, NAMESPACE, name)
        wait_for("no pod runs", lambda: not spoke.list("Pod", NAMESPACE))
