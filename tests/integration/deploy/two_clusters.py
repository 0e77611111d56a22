# SPDX-License-Identifier: Apache-2.0
"""Pages that install the chart in two clusters, run: their commands in order, against two API servers and the broker. There is no
container runtime, so the test does what Kubernetes' controllers and kubelets do for the two pods: it lays out the volumes of each
StatefulSet, runs the container's program with the rights of the pod's service account, and reports when it is ready.

The environment is as tests/support/kube/kube.cmake and kafka.cmake set it, with HELM_DEV and AB_BIN.
"""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

import broker
import yaml
from chart import NAMESPACE, ROOT
from daemons import Daemon, wait_for

WORKLOADS = {"hub": "argobus-principal", "edge": "argobus-agent"}


class Cluster:
    """As its administrator sees it. "test" of all tests is the hub; the other one is started by the test."""

    def __init__(self, name):
        self.name = name
        self.folder = pathlib.Path(os.environ["KUBE_DEV_HOME"], "clusters", name)

    def kube_dev(self, command, *args, check=True):
        done = subprocess.run([os.environ["KUBE_DEV"], command, self.name, *args], text=True, capture_output=True,
                              env={**os.environ, "KUBE_DEV_CONTROLLERS": "serviceaccount-controller"})
        assert not check or done.returncode == 0, f"{command} {args}\n{done.stderr}"
        return done.stdout

    def kubectl(self, *args, check=True):
        return self.kube_dev("kubectl", "-n", NAMESPACE, *args, check=check)

    def get(self, kind, name):
        return json.loads(self.kubectl("get", kind, name, "--ignore-not-found", "-o", "json") or "null")

    def kubeconfig(self, path, token=None):
        own = yaml.safe_load((self.folder / "kubeconfig").read_text())
        if token:
            own["users"] = [{"name": "admin", "user": {"token": token}}]
        path.write_text(yaml.safe_dump(own))
        return path


class Pod:
    """The pod of a StatefulSet, as a process."""

    def __init__(self, cluster, name, folder):
        self.cluster, self.folder = cluster, folder
        self.set = wait_for(f"{name} is installed", lambda: cluster.get("statefulset", name), 600)
        spec = self.set["spec"]["template"]["spec"]
        self.volumes = {v["name"]: v for v in spec["volumes"]}
        self.container = spec["containers"][0]
        token = cluster.kubectl("create", "token", spec["serviceAccountName"], "--duration", "1h").strip()
        folder.mkdir()
        kubeconfig = cluster.kubeconfig(folder / "kubeconfig", token)
        for mount in self.container["volumeMounts"]:
            self.lay_out(mount)
        flag, path = self.container["args"]
        assert flag == "-c"
        mounted = "|".join(re.escape(mount["mountPath"]) for mount in self.container["volumeMounts"])
        text = re.sub(rf"(?<= )(?:{mounted})(?=/)", lambda found: str(self.inside(found[0])), self.inside(path).read_text())
        config = yaml.safe_load(text)
        config["log"]["format"] = "text"  # as Daemon reads it
        self.daemon = Daemon(self.container["command"][0], folder / "run", config)
        self.daemon.env["KUBECONFIG"] = str(kubeconfig)

    def inside(self, path):
        return self.folder / "root" / path.lstrip("/")

    def lay_out(self, mount):
        folder = self.inside(mount["mountPath"])
        folder.mkdir(parents=True)
        volume = self.volumes.get(mount["name"], {})  # a claim has none
        if "configMap" in volume:
            for key, text in self.cluster.get("configmap", volume["configMap"]["name"])["data"].items():
                (folder / key).write_text(text)
        secrets = [source["secret"] for source in volume.get("projected", {}).get("sources", [])]
        if "secret" in volume:
            secrets.append({**volume["secret"], "name": volume["secret"]["secretName"]})
        for secret in secrets:
            data = self.secret(secret["name"])
            for item in secret["items"]:
                (folder / item["path"]).write_bytes(base64.b64decode(data[item["key"]]))

    def secret(self, name):
        """A kubelet waits until there is one."""
        return wait_for(f"Secret {name} is there", lambda: self.cluster.get("secret", name), 600)["data"]

    def run(self):
        self.daemon.start()
        status = {"observedGeneration": self.set["metadata"]["generation"], "replicas": 1, "readyReplicas": 1,
                  "currentReplicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "currentRevision": "1",
                  "updateRevision": "1"}
        self.cluster.kubectl("patch", "statefulset", self.set["metadata"]["name"], "--subresource=status", "--type=merge",
                             "-p", json.dumps({"status": status}))


class TwoClusters(unittest.TestCase):
    """`edge` is the name of the workload cluster and of its agent."""
    edge = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="argobus-helm-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.hub, self.spoke = Cluster("test"), Cluster(self.edge)
        self.spoke.kube_dev("fresh")
        self.addCleanup(self.spoke.kube_dev, "kill")
        self.addCleanup(self.clean_hub)
        self.pods = []
        self.pod_env = {}
        self.addCleanup(lambda: [pod.daemon.kill() for pod in self.pods])
        self.lay_out()

    def clean_hub(self):
        subprocess.run([os.environ["HELM_DEV"], "--kube-context", "hub", "-n", NAMESPACE, "uninstall", "argobus"], env=self.env,
                       check=False, capture_output=True)
        self.hub.kube_dev("kubectl", "delete", "namespace", self.edge, "--ignore-not-found", check=False)

    def lay_out(self):
        """Where an operator of the page is."""
        for name in ("deploy", "examples"):
            (self.folder / name).symlink_to(ROOT / name)
        merged = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []}
        for name, cluster in (("hub", self.hub), (self.edge, self.spoke)):
            own = yaml.safe_load((cluster.folder / "kubeconfig").read_text())
            merged["clusters"].append({"name": name, "cluster": own["clusters"][0]["cluster"]})
            merged["users"].append({"name": name, "user": own["users"][0]["user"]})
            merged["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
        (self.folder / "config").write_text(yaml.safe_dump(merged))
        tools = subprocess.run([os.environ["KUBE_DEV"], "programs"], check=True, capture_output=True, text=True).stdout.strip()
        (self.folder / "bin").mkdir()
        (self.folder / "bin/helm").symlink_to(os.environ["HELM_DEV"])
        env = broker.environment(KUBECONFIG=str(self.folder / "config"))
        self.env = {**env, "PATH": f"{self.folder / 'bin'}:{os.environ['AB_BIN']}:{tools}:{env['PATH']}"}

    def begin(self, watch=None):
        """Runs both pods as soon as they are installed; `watch` does what else happens there meanwhile."""
        self.others = [threading.Thread(target=each, daemon=True) for each in (self.kubelets, watch) if each]
        for thread in self.others:
            thread.start()

    def kubelets(self):
        for cluster, name in ((self.hub, WORKLOADS["hub"]), (self.spoke, WORKLOADS["edge"])):
            pod = Pod(cluster, name, self.folder / name)
            pod.daemon.env.update(self.pod_env)
            self.pods.append(pod)
            pod.run()

    def run_block(self, block):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], env=self.env, cwd=self.folder, text=True, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        logs = "".join(pod.daemon.tail() for pod in self.pods if pod.daemon.log.exists())
        self.assertEqual(done.returncode, 0, f"{block.text}\n{done.stdout}\n{logs}")
        shown = self.as_the_page_has_it(done.stdout)
        self.assertEqual([line for line in block.output.splitlines() if line not in shown.splitlines()], [], shown)

    def as_the_page_has_it(self, text):
        """What commands print, with the page's addresses."""
        return text
